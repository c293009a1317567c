/**
 * A file system of its own in an image file, whose power can be cut. What is written to it after the cut is lost, and
 * so is what the file system had not yet given to its disk.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pause } from '../../src/pause.ts'
import { Ledger } from './ledger.ts'
import type { Random } from './random.ts'
import type { Works } from './works.ts'

/**
 * As small as each file system allows, the words for its mkfs, and the options of mount, of which one is taken: how late
 * it writes of its own accord is part of the chance.
 */
const TRAITS = {
  ext4: { megabytes: 96, make: '-q -F', options: 'defaults commit=1 data=journal data=writeback commit=60' },
  xfs: { megabytes: 320, make: '-q -f', options: 'defaults' },
  btrfs: { megabytes: 160, make: '-q -f', options: 'defaults commit=1 flushoncommit' },
  vfat: { megabytes: 40, make: '-F 32', options: 'defaults' },
  exfat: { megabytes: 16, make: '', options: 'defaults' },
} satisfies Record<string, { megabytes: number; make: string; options: string }>

type Kind = keyof typeof TRAITS

export const KINDS = Object.keys(TRAITS) as Kind[]

/** Those that keep what was flushed also if the power fails amid a call. */
export const JOURNALED = KINDS.filter((kind) => !kind.endsWith('fat'))

const COPY_TRIES = 8
const RELEASE_TRIES = 600
const RELEASE_PAUSE_MS = 50

const mounted = new Set<string>()

export class Image {
  readonly kind: Kind
  readonly path: string
  readonly mountPoint: string
  readonly #options: string

  /** Makes one below `root`, and mounts it. */
  constructor(kind: Kind, root: string, random: Random) {
    const { megabytes, make, options } = TRAITS[kind]
    this.kind = kind
    this.path = join(root, `${kind}.img`)
    this.mountPoint = join(root, kind)
    this.#options = random.pick(options.split(' '))
    writeFileSync(this.path, '')
    truncateSync(this.path, megabytes * 2 ** 20)
    mkdirSync(this.mountPoint, { recursive: true })
    must(`mkfs.${kind}`, ...make.split(' ').filter(Boolean), this.path)
    this.mount()
  }

  get profiles(): string {
    return join(this.mountPoint, 'profiles')
  }

  /** Mounts what is there: after a cut, what the journal makes of it. */
  mount(): void {
    must('mount', '-o', `loop,${this.#options}`, '-t', this.kind, this.path, this.mountPoint)
    mounted.add(this.mountPoint)
  }

  unmount(): void {
    must('umount', this.mountPoint)
    mounted.delete(this.mountPoint)
    // Another mount namespace may hold it a little longer, and two at once would ruin the image.
    for (let tries = RELEASE_TRIES; isAttached(this.path); tries--) {
      if (tries === 0)
        throw new Error(`another mount namespace is using ${this.path}; run: unshare -m npm run torture`)
      pause(RELEASE_PAUSE_MS)
    }
  }

  /**
   * Keeps the image as it is if something is wrong.
   * @throws {Violation}
   */
  endIfBroken(when: string, ledger: Ledger): void {
    if (ledger.problems.size > 0) this.unmount()
    ledger.end(`${this.kind}, ${when}`, `${this.path}, not mounted any more`)
  }

  /** Copies what its disk has at this moment. Nobody may be writing; the kernel may, and then it is done again. */
  #snapshot(): void {
    for (let tries = COPY_TRIES; tries > 0; tries--) {
      must('cp', '--sparse=always', this.path, `${this.path}.cut`)
      if (spawnSync('cmp', ['-s', this.path, `${this.path}.cut`]).status === 0) return
    }
    throw new Error(`${this.path} keeps changing`)
  }

  /** Writes out everything that this kernel still holds back. */
  settle(): void {
    must('sync', '-f', this.mountPoint)
  }

  /**
   * Takes the disk away as it is at this moment, and mounts what it has: nothing may be at work on it.
   * @param end waits for the end of those that are stopped
   */
  async pull(end?: () => Promise<unknown>): Promise<void> {
    this.#snapshot()
    await end?.()
    this.unmount()
    renameSync(`${this.path}.cut`, this.path)
    this.mount()
  }
}

/** A disk, its directory of profiles, and what must be true of that. */
export interface Stick {
  readonly works: Works
  readonly image: Image
  readonly directory: string
  /** A directory on another disk. */
  readonly apart: string
  readonly ledger: Ledger
}

interface Images {
  readonly until: number
  /** Uses of a disk: a file system that lives through more gets slow to look at. */
  readonly most: number
  readonly kinds: readonly Kind[]
}

/**
 * Makes one disk after the other, of each kind in turn, until the time is over.
 * @param use leaves it mounted
 */
export async function overImages(
  works: Works,
  { until, most, kinds: wanted }: Images,
  use: (stick: Stick) => Promise<void>,
) {
  const kinds = works.random.shuffled(wanted.filter((kind) => whyNot(kind) === undefined))
  for (let turn = 0; performance.now() < until; turn++) {
    const image = new Image(kinds[turn % kinds.length] ?? 'ext4', works.root, works.random)
    const stick = {
      ...{ works, image, directory: image.profiles, apart: works.newPath(), ledger: new Ledger() },
    }
    for (let uses = 0; uses < most && performance.now() < until; uses++) await use(stick)
    image.unmount()
    rmSync(image.path)
  }
  return undefined
}

/** Takes note of something else that is mounted and must not stay so. */
export const noteMounted = (path: string) => void mounted.add(path)

/** Unmounts it, where it was mounted, as soon as nobody uses it any more. */
export function unmountPath(path: string): void {
  if (mounted.delete(path)) spawnSync('umount', ['-l', path])
}

/** Unmounts whatever is still mounted: for an end that nobody planned. */
export function unmountAll(): void {
  for (const path of mounted) spawnSync('umount', ['-l', path])
}

/** Why there can be no images here; undefined where there can. */
export function whyNoImages(): string | undefined {
  if (process.platform !== 'linux') return 'it runs only on Linux'
  if (process.getuid?.() !== 0) return 'mounting needs root'
  if (spawnSync('losetup', ['-f']).status !== 0) return 'there are no loop devices'
  return undefined
}

/** Why this file system can't be tried here; undefined where it can. */
function whyNot(kind: Kind): string | undefined {
  if (spawnSync(`mkfs.${kind}`, ['-V']).error !== undefined) return `there is no mkfs.${kind}`
  const isKnown = () => new RegExp(`\\s${kind}$`, 'm').test(readFileSync('/proc/filesystems', 'utf8'))
  if (!isKnown()) spawnSync('modprobe', ['-q', kind])
  return isKnown() ? undefined : 'the kernel does not support it'
}

/** The file systems that can't be tried here, each with the reason. */
export const withoutKinds = (): string[] =>
  KINDS.flatMap((kind) => whyNot(kind)?.replace(/^/, `${kind}: `) ?? [])

const isAttached = (path: string) => spawnSync('losetup', ['-j', path], { encoding: 'utf8' }).stdout !== ''

function must(program: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`)
}
