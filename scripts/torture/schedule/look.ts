/**
 * How a file looks, and which steps others can see.
 *
 * Other calls can't go on before these, because nobody else can see them or influence them: to close a file, to look at
 * an open file (only its type and its size limit matter), to look at or open a directory of profiles or one above (it
 * stays), to ask for free space, and everything below /receipt.
 */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { execution, step } from './engine.ts'
import type { Inode } from './inode.ts'
import { LOTS, RECEIPTS } from './places.ts'

const isSeen = (path: string) =>
  !LOTS.some((lot) => `${lot}/`.startsWith(path === '/' ? path : `${path}/`)) && !path.startsWith(RECEIPTS)

/** Without dots: the disk of a schedule has no links. */
export const plain = (path: unknown) => posix.normalize(String(path))

export type Run = NonNullable<ReturnType<typeof execution>>

const VERIFIER_MS = Date.UTC(1983, 5, 1)
const SETATTR_MS = 500

/** The time of a file, as a call sees it. */
function timeOf({ world, call }: Run, inode: Inode): number {
  if (!world.kind.hasVerifiers || inode.creator === call.id) return inode.mtimeMs
  const creator = world.calls.find(({ id }) => id === inode.creator)
  const isNew = creator?.points === inode.createdAt && world.now - inode.mtimeMs < SETATTR_MS
  return isNew ? VERIFIER_MS : inode.mtimeMs
}

/** A step that belongs to a path. */
export const at = <T>(name: string, path: string, action: (run: Run) => T) =>
  step(name, path, isSeen(path), action)

/** A step with an open file. */
export function on<T>(name: string, file: number, isPoint: boolean, action: (run: Run) => T): T {
  const run = execution()
  const path = run?.call.log.length === run?.at ? (run?.world.disk.files.get(file)?.path ?? '') : undefined
  const known = run?.call.log[run.at]?.path ?? path ?? ''
  return step(name, known, isPoint && !known.startsWith(RECEIPTS), action)
}

export class Status {
  readonly size: number
  readonly mtimeMs: number
  readonly mode: number
  readonly ino: number
  readonly dev = 1
  readonly rdev = 0
  readonly nlink = 1
  readonly #isDirectory: boolean

  constructor(run: Run, inode: Inode) {
    this.size = inode.content.length
    this.mtimeMs = timeOf(run, inode)
    this.mode = inode.mode | (inode.names === undefined ? constants.S_IFREG : constants.S_IFDIR)
    this.ino = inode.id
    this.#isDirectory = inode.names !== undefined
    run.world.disk.touched.push(`<#${inode.id}`)
  }

  get mtime(): Date {
    return new Date(this.mtimeMs)
  }

  isFile = () => !this.#isDirectory
  isDirectory = () => this.#isDirectory
  isSymbolicLink = () => false
  isCharacterDevice = () => false
}
