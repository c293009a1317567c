/**
 * A directory knows that it is itself: a hidden file in it says what the file system says of that same file, its inode
 * number and its time of birth. A copy of the file has others, and then the directory is a copy, too, or came back from a
 * backup. A file that is torn says nothing, and the next claim writes it. So it does if it is missing, unless a call of this
 * version has claimed a profile: each writes the file before, so somebody has copied the profiles without the hidden files.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import type { Messages } from '../words.ts'
import { exists, fileRights, isSame, rightsOf, tryToRemove } from './directory-entries.ts'
import { FAT, fileSystemOf, flushDirectorySync, flushFileSync, isTested, TESTED } from './flush/flush.ts'
import { hasProfiles, looking, namesOf, readUnused, readUsed } from './listing.ts'
import { fileName, parseName, RECORDS, USED, usedName } from './names.ts'
import { attempt, patiently } from './patience.ts'
import { deviceIn, fieldsOf, READ_SAFELY, textOf } from './profile-file.ts'
import { nameUnused } from './receipts/read-receipts.ts'

const FILE = '.identity'

/** What Linux calls the type of NFS in statfs(2). Most servers tell no time of birth. */
const NFS = 0x6969

/** What Linux calls the type of exFAT in statfs(2). */
const EXFAT = 0x2011bab0

/** File systems that are nothing else when they are seen from another machine or through a container. */
const OF_DISKS = [...TESTED, FAT, EXFAT]

/** File systems that never give a file another number. */
const NUMBERED = [...TESTED, NFS]

/**
 * Of a directory that was used, `original` or `copy`; of one that was not, `new` or `carried`: it is a copy all the same.
 * At the same path of the same machine, it has come back, and may have been used since: `copy`. `none`: nothing is written
 * down; `unknown`: it can't be read.
 */
type Identity = 'original' | 'copy' | 'new' | 'carried' | 'none' | 'unknown'

/** Of the paths that a directory had. */
const MOST_PATHS = 16

/** Of used files. */
const MOST_LOOKED_AT = 100

/** A file older than that, in milliseconds, is written anew. */
const OLD_MS = 3_600_000

/** So long, in milliseconds, a disk or a share has to answer. */
const ANSWER_MS = 5000

/** In nanoseconds. On its server, a share has a finer time. */
const SAME_BIRTH = 1_000_000n

/** In nanoseconds. FAT and exFAT have such times, in local time: another system may have another time zone. */
const COARSE = 10_000_000n

/** In nanoseconds: what time zones differ by, and what systems may round a time on FAT to. */
const TIME_ZONE = 900_000_000_000n
const ROUNDED = 2_000_000_000n

interface Seen {
  readonly inode: bigint
  readonly birth: bigint
  readonly fileSystem: number | undefined
}

/** Changes nothing. */
export const identify = (directory: string): Identity => look(directory).identity

interface Look {
  readonly identity: Identity
  readonly ageMs: number
  /** Why it is unknown. */
  readonly error?: unknown
}

function look(directory: string): Look {
  let file: number | undefined
  try {
    file = patiently(() => openSync(join(directory, FILE), READ_SAFELY))
    const { ino, birthtimeNs, ctimeNs, mtimeMs } = fstatSync(file, { bigint: true })
    const ageMs = Math.abs(Date.now() - Number(mtimeMs))
    const { used, inode, birth: born, fileSystem, host, path } = fieldsOf(readFileSync(file, 'utf8'))
    if (!(isNumber(inode) && isNumber(born))) return { identity: 'none', ageMs }
    const said = { inode: BigInt(inode), birth: BigInt(born), fileSystem: Number(fileSystem) }
    // Where no birth is told, Node may give the time of the last change. Elsewhere, both can be in one tick of the clock.
    const birth = birthtimeNs === ctimeNs && !isTested(directory) ? 0n : birthtimeNs
    const isOther = areDifferent(said, {
      inode: ino,
      birth,
      // On a share, that is another question to the server.
      get fileSystem() {
        return fileSystemOf(directory)
      },
    })
    if (!isOther) return { identity: used === true ? 'original' : 'new', ageMs }
    const isBack = host === hostname() && path === fullPath(directory)
    return { identity: used === true || isBack ? 'copy' : 'carried', ageMs }
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')
    return { identity: isMissing ? withoutFile(directory) : 'unknown', ageMs: 0, error }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** In this order: over NFS, the names that are read refresh what this client knows of the file. */
const withoutFile = (directory: string): Identity =>
  attempt(() => isAnyUsed(directory, isClaimed) && !exists(join(directory, FILE))) ? 'copy' : 'none'

const isClaimed = (text: string) => fieldsOf(text)['claim'] !== undefined

/** Without its records, a device would get a second profile. Another call may make the first one during the look. */
function hasLostRecords(directory: string): boolean {
  const isMissing = () => !exists(join(directory, RECORDS))
  return looking(directory, () => isMissing() && isAnyUsed(directory, isForDevice) && isMissing())
}

const isForDevice = (text: string) => deviceIn(text) !== undefined

/**
 * Looks into the last used files: the lowest ICCID is handed out first, and earlier versions wrote no random number into
 * theirs. On a share, to read tens of thousands takes minutes.
 */
const isAnyUsed = (directory: string, isMeant: (text: string) => boolean): boolean =>
  readUsed(directory)
    .slice(-MOST_LOOKED_AT)
    .some((name) => isMeant(textOf(directory, name)))

const isNumber = (text: unknown): text is string => typeof text === 'string' && /^\d+$/.test(text)

/** Whether two looks were at two files for sure. */
export function areDifferent(one: Seen, other: Seen): boolean {
  const both = (types: readonly number[]) =>
    [one, other].every(({ fileSystem }) => types.includes(fileSystem ?? 0))
  const isNumberOther = one.inode !== other.inode && one.inode !== 0n && other.inode !== 0n
  const distance = one.birth < other.birth ? other.birth - one.birth : one.birth - other.birth
  if (!(isTold(one) && isTold(other))) {
    if (both(OF_DISKS) && one.fileSystem !== other.fileSystem) return true
    if (both([FAT, EXFAT])) return isBetweenTimeZones(distance)
    return isNumberOther && both(NUMBERED)
  }
  // These give the number of a file that was removed to the next one, such as its copy from a backup.
  return distance > SAME_BIRTH && (isNumberOther || both(TESTED))
}

const isTold = ({ birth }: Seen) => birth % COARSE !== 0n

function isBetweenTimeZones(distance: bigint): boolean {
  const rest = distance % TIME_ZONE
  return rest > ROUNDED && TIME_ZONE - rest > ROUNDED
}

/**
 * @param receipts a file: if it says that this directory handed out what is unused in it, the directory is from a backup
 * @param forDevices whether profiles are wanted for devices
 * @throws {Failure} `copy`, or `unreadable` if this user may not know: the file is of the user who restored the directory
 */
export function refuseCopy(directory: string, receipts?: string, forDevices = false): Look {
  const found = look(directory)
  if (['EACCES', 'EPERM'].includes(errnoOf(found.error) ?? '')) {
    const words = `can't tell whether ${directory} is a copy: ${FILE} in it: ${reasonOf(found.error)}`
    throw new Failure('unreadable', words, found.error)
  }
  const refusal = (why: string) => new Failure({ kind: 'copy', directory }, `${directory} ${why}`)
  const isForgetful =
    ['carried', 'none'].includes(found.identity) &&
    receipts !== undefined &&
    nameUnused(receipts, directory, pathsOf(directory))
  if (found.identity === 'copy' || isForgetful)
    throw refusal('is a copy, or came back from a backup: devices may have profiles that are unused in it')
  if (forDevices && hasLostRecords(directory))
    throw refusal(`has lost ${RECORDS}: devices that have a profile would get another one`)
  return found
}

/**
 * Looks at a directory before profiles are claimed in it. An old file is written anew: if a backup is put back over the
 * directory, the file from the backup then has the number and the time of an earlier one.
 * @param receipts as for `refuseCopy`
 * @returns what is to be done before the first claim: from then on, the directory is used
 * @throws {Failure} as `refuseCopy`, or `copy-of` if the original of a copy is still there
 */
export async function enter(
  directory: string,
  messages: Messages,
  receipts?: string,
  forDevices = false,
): Promise<() => void> {
  let found = refuseCopy(directory, receipts, forDevices)
  if (found.identity === 'carried') await refuseTwin(directory)
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    // The disk may have failed for a moment.
    if (found.identity === 'unknown') found = refuseCopy(directory, receipts)
    const { identity, ageMs } = found
    if (identity === 'unknown' || (identity === 'original' && ageMs < OLD_MS)) return
    if (identity === 'carried')
      messages.warn(`${directory} is a copy: do not use the directory that it was copied from`, 'carried')
    try {
      adopt(directory)
    } catch (error) {
      const words = `a copy of ${directory} will not be recognised: ${reasonOf(error)}`
      // Its claims would look like those of a copy without hidden files.
      if (attempt(() => exists(join(directory, FILE))) !== true)
        throw new Failure('not-recorded', words, error)
      if (identity !== 'original') messages.warn(words)
    }
  }
}

/**
 * From now on, a directory counts as itself, and as used. A new file replaces the old one, so that it is always complete,
 * and so that of two calls either may be the last.
 * @throws the system error
 */
export function adopt(directory: string): void {
  const draft = join(directory, `${FILE}~${randomUUID()}`)
  try {
    write(draft, directory, true)
    patiently(() => renameSync(draft, join(directory, FILE)))
  } catch (error) {
    tryToRemove(draft)
    throw error
  }
  flushDirectorySync(directory)
}

/** Writes the file of a directory that has none. If it can't, a copy is not recognised before the first claim. */
export const introduce = (directory: string): void =>
  attempt(() => {
    const path = join(directory, FILE)
    if (!exists(path)) write(path, directory, hasProfiles(directory, true))
  })

/** Removes the file of a directory that was made for nothing. */
export const forget = (directory: string): void => tryToRemove(join(directory, FILE))

/**
 * The full paths by which stations know a directory, or knew it before it was moved or restored: receipts name it by
 * these. The one at hand comes first.
 */
export function pathsOf(directory: string): string[] {
  const { path, before } = fieldsOf(attempt(() => textOf(directory, FILE)) ?? '')
  const known = [fullPath(directory), path, ...(Array.isArray(before) ? before : [])]
  return [...new Set(known.filter((each) => typeof each === 'string'))].slice(0, MOST_PATHS)
}

/** Those of some directories that are there. */
export async function thereOf(paths: Iterable<string>): Promise<string[]> {
  const found: string[] = []
  for (const path of paths) if (await isThere(path)) found.push(path)
  return found
}

/** The first of some directories that could hand out, too, what is unused in a directory. */
export const twinAmong = (others: readonly string[], directory: string): string | undefined =>
  others.find((path) => attempt(() => !isSame(path, directory) && shareUnused(path, directory)))

function shareUnused(one: string, other: string): boolean {
  // Whatever their fillers, and however often they came back.
  const unusedIn = (each: string) =>
    readUnused(each).iccids.map((iccid) => parseName(fileName(iccid))?.digits ?? iccid)
  const unused = new Set(unusedIn(one))
  return unusedIn(other).some((iccid) => unused.has(iccid))
}

/**
 * If the directory that a copy was made of is still at its path, and could hand out a profile of the copy, two directories
 * would.
 * @throws {Failure} `copy-of`
 */
export async function refuseTwin(copy: string): Promise<void> {
  if (!['copy', 'carried'].includes(identify(copy))) return
  const original = (await thereOf(pathsOf(copy))).find((path) => attempt(() => isInUse(path, copy)))
  if (original !== undefined) throw copyOf(copy, original)
}

export const copyOf = (directory: string, original: string): Failure => {
  const words = `${directory} is a copy of ${original}, which is there and has the same profiles`
  return new Failure({ kind: 'copy-of', original }, words)
}

/**
 * On a share whose server died, a call waits for ever, and so would the end of this process, also after a call in a thread:
 * another process asks, which may stay behind.
 */
const isThere = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    if (process.platform === 'win32') return resolve(true)
    const child = spawn('/bin/ls', ['-d', '--', path], { stdio: 'ignore', env: {} })
    child.once('error', () => resolve(exists(path)))
    child.once('exit', (code) => resolve(code === 0))
    const giveUp = () => {
      child.kill('SIGKILL')
      resolve(false)
    }
    setTimeout(giveUp, ANSWER_MS).unref()
  })

const isInUse = (path: string, copy: string) =>
  !isSame(path, copy) && identify(path) !== 'copy' && hasAnyOf(path, copy)

/** Whether a directory has a profile of another one, used or unused. */
function hasAnyOf(directory: string, other: string): boolean {
  for (const name of namesOf(other)) {
    const { isUsed } = parseName(name) ?? {}
    const names = isUsed === undefined ? [] : [name, isUsed ? name.slice(USED.length) : usedName(name)]
    if (names.some((each) => exists(join(directory, each)))) return true
  }
  return false
}

/** @throws the system error, EEXIST if there is one */
function write(path: string, directory: string, used: boolean): void {
  const file = patiently(() => openSync(path, 'wx', fileRights(rightsOf(directory))))
  try {
    const { ino, birthtimeNs } = fstatSync(file, { bigint: true })
    const seen = { inode: String(ino), birth: String(birthtimeNs), fileSystem: fileSystemOf(directory) }
    const [path, ...before] = pathsOf(directory)
    writeFileSync(file, JSON.stringify({ host: hostname(), path, before, used, ...seen }))
    flushFileSync(file)
  } finally {
    closeSync(file)
  }
}
