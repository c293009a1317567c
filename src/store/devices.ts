/**
 * Which profile a device has. Its records are a chain: each is created once, and is the future text of a used file. The
 * last one whose used file names the device is in force. If a used file names anybody else, it never will name the
 * device, and the next record is created.
 */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { readDecided, type Use, useAt } from './claim.ts'
import { createAll, type Outcome, refuseFailures } from './decision.ts'
import { exists, makeThere } from './directory-entries.ts'
import { readUsed } from './listing.ts'
import { fileName, isRecord, parseName, RECORDS, USED, usedName } from './names.ts'
import { deviceIn, fieldsOf, readProfile, textOf } from './profile-file.ts'

/** The profile that is recorded for a device. */
export interface Assignment {
  /** The name of the profile's file while it is unused. */
  readonly name: string
  /** The text of the used file: the profile, and the device that has it. */
  readonly text: string
  readonly use: Use
}

/** What is recorded of a device. */
interface History {
  /** Undefined if the device has no profile, and none that only it may get. */
  readonly assignment: Assignment | undefined
  /** How many records its chain has. */
  readonly records: number
  /** The devices that have a profile, and whose serial numbers differ in upper and lower case only. */
  readonly alike: readonly string[]
}

/** A serial number may contain any characters: it can't be a file name itself. */
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Devices that differ in case only have one chain, so that a call for one sees the others. */
export const inLowerCase = (device: string) => device.toLowerCase()

export const alikeWords = (device: string, others: readonly string[]) =>
  `device ${device} differs from ${others.join(' and ')}, which ${others.length === 1 ? 'has a profile' : 'have profiles'}, in upper and lower case only`

/**
 * @throws {Failure} `torn-record` if a record of an earlier version is torn and can't be restored
 * @throws {UnusableProfile} if a used file can't be read
 * @throws the system error
 */
export function historyOf(directory: string, device: string): History {
  const assignmentOf = (text: string): Assignment => {
    const name = String(fieldsOf(text)['file'])
    return { name, text, use: useAt(directory, name) }
  }
  const chain = chainOf(directory, device, inLowerCase(device), (key) => readDecided(directory, key))
  // Earlier versions hashed the serial number as it is.
  const earlier =
    inLowerCase(device) === device
      ? []
      : chainOf(directory, device, device, (key) => readProfile(join(directory, RECORDS), key))
  const all = [...earlier, ...chain].map(assignmentOf)
  const own = all.filter(({ text }) => deviceIn(text) === device)
  const named = all
    .filter((each) => namesDevice(each) || isOpen(each))
    .map(({ text }) => deviceIn(text) ?? '')
  const alike = [...new Set(named)].filter((whose) => whose !== device)
  const last = own.at(-1)
  const inForce = own.findLast(namesDevice) ?? (last && isOpen(last) ? last : undefined)
  const noted = inForce === undefined ? notedFor(directory, device, hashOf(device)) : undefined
  const assignment = noted === undefined ? inForce : assignmentOf(noted)
  return { assignment, records: chain.length, alike }
}

/** Whether the used file, or the claim that becomes it, names the device of the record. */
export function namesDevice({ text, use }: Assignment): boolean {
  if (use.state === 'used' || use.state === 'claimed') return deviceIn(use.text) === deviceIn(text)
  // A power cut has torn what an earlier version wrote.
  return (
    use.state === 'torn' && text.startsWith(use.text) && use.text.includes(JSON.stringify(deviceIn(text)))
  )
}

/** Whether the used file may still come to name the device. */
const isOpen = ({ use: { state } }: Assignment) => state === 'unused' || state === 'gone'

/** All records of a chain, also of devices that are alike. What a killed call has decided is finished. */
function chainOf(
  directory: string,
  device: string,
  hashed: string,
  read: (key: string) => string | undefined,
): string[] {
  const texts: string[] = []
  for (;;) {
    const key = `${hashOf(hashed)}.${texts.length + 1}`
    const text = read(key)
    if (text === undefined) return texts
    const isAlike = inLowerCase(deviceIn(text) ?? '') === inLowerCase(device)
    const isWhole = isAlike && parseName(String(fieldsOf(text)['file'])) !== undefined
    texts.push(isWhole ? text : restoredRecord(directory, device, join(directory, RECORDS, key)))
  }
}

/**
 * Records profiles for devices.
 * @param texts what their used files will say, and how many records each device has
 * @returns what became of each
 * @throws the system error if nothing is recorded
 */
export async function recordAll(
  directory: string,
  texts: readonly { readonly text: string; readonly records: number }[],
): Promise<Outcome[]> {
  if (texts.length > 0 && !exists(join(directory, RECORDS))) makeThere(directory, RECORDS)
  return createAll(
    directory,
    texts.map(({ text, records }) => {
      const hash = hashOf(inLowerCase(deviceIn(text) ?? ''))
      return { key: `${hash}.${records + 1}`, text }
    }),
  )
}

/**
 * The digits of the ICCIDs of all profiles that records name.
 * @throws the system error
 */
export function recordedIccids(directory: string): Set<string> {
  const place = join(directory, RECORDS)
  const records = exists(place) ? readdirSync(place).filter(isRecord) : []
  return new Set(records.flatMap((name) => iccidDigits(String(fieldsOf(textOf(place, name))['iccid'])) ?? []))
}

/**
 * The texts of the records of a device, the last one first. It changes nothing.
 * @throws the system error
 */
export function recordsOf(directory: string, device: string): string[] {
  const texts: string[] = []
  for (const hash of new Set([device, inLowerCase(device)].map(hashOf)))
    for (let number = 1; ; number++) {
      const text = textOf(join(directory, RECORDS), `${hash}.${number}`)
      if (text === '') break
      if (deviceIn(text) === device && iccidDigits(String(fieldsOf(text)['iccid'])) !== undefined)
        texts.push(text)
    }
  return texts.reverse()
}

/**
 * The ICCID of the profile that a device has. It changes nothing.
 * @throws the system error
 */
export function profileOf(directory: string, device: string): string | undefined {
  const text = recordsOf(directory, device).find((each) => {
    const name = String(fieldsOf(each)['file'])
    return namesDevice({ name, text: each, use: useAt(directory, name) })
  })
  return text === undefined ? undefined : iccidDigits(String(fieldsOf(text)['iccid']))
}

/**
 * The text of a torn record of an earlier version. The call that created it had created the used file before.
 * @throws {Failure} `torn-record` if no used file names the device, or several do
 */
function restoredRecord(directory: string, device: string, path: string): string {
  const [text, another] = readUsed(directory)
    .map((name) => textOf(directory, name))
    .filter((each) => deviceIn(each) === device)
  if (text !== undefined && another === undefined) return text
  throw new Failure({ kind: 'torn-record', path }, `the record ${path} of device ${device} is not complete`)
}

/**
 * The text of the used file that a call of 1.1 began for a device before it recorded that: it left a note of the name.
 * @param hash of the device
 */
function notedFor(directory: string, device: string, hash: string): string | undefined {
  const name = readProfile(join(directory, RECORDS), `${hash}.begun`)
  if (name === undefined || iccidDigits(name.replace(/\.json$/, '')) === undefined) return undefined
  const text = textOf(directory, usedName(fileName(name.replace(/\.json$/, ''))))
  return deviceIn(text) === device ? JSON.stringify({ ...JSON.parse(text), file: name }) : undefined
}

/**
 * Records the profiles that used files say devices have: the records may be lost.
 * @throws the system error
 */
export async function recordUsed(directory: string): Promise<void> {
  const recorded = recordedIccids(directory)
  for (const name of readUsed(directory)) {
    const text = textOf(directory, name)
    const device = deviceIn(text)
    if (device === undefined || recorded.has(parseName(name)?.digits ?? '')) continue
    const { assignment, records } = historyOf(directory, device)
    if (assignment !== undefined) continue
    const used = JSON.stringify({ ...fieldsOf(text), file: name.slice(USED.length) })
    refuseFailures(await recordAll(directory, [{ text: used, records }]))
  }
}
