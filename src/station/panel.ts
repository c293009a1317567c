/** Asks for the devices of a panel, slot by slot. */
import { resolve } from 'node:path'
import { Failure, UsageError } from '../failure.ts'
import { identityIn, isTwin, recordOf, resultsOf, twinOf } from '../store/directory.ts'
import { EndOfShift } from './ask.ts'
import { minuteOf } from './report.ts'
import type { Shift } from './settings.ts'

export interface Slot {
  readonly number: number
  readonly device: string
  /** A person says that it is another device than one whose serial number looks alike. */
  readonly isNew: boolean
  readonly hasPassed: boolean
}

/** What is recorded of a device if another one with its label has passed while it was programmed. */
export const ELSEWHERE = 'has passed elsewhere meanwhile'

const WORDS = ['skip', 'back', 'yes', 'y', 'no', 'n', 'quit', 'help']

/** @throws {EndOfShift} */
export async function scanPanel(shift: Shift): Promise<Slot[]> {
  const { size, keyboard } = shift
  let panel: Slot[] = []
  let isFresh = true
  for (let number = 1; number <= size; ) {
    // At a terminal, what was scanned before the question can belong to any slot.
    if (isFresh) await dropEarly(shift)
    const slot = await scan(shift, number, panel).catch((error) => {
      // The last panel of a list may have empty slots.
      const isLast = keyboard.hasEnded && !keyboard.isTerminal && panel.length > 0
      if (isLast && error instanceof EndOfShift) return 'skip' as const
      for (const each of panel) noteMissed(shift, each.device)
      throw error
    })
    // Each line of a list is for the next slot, also one that is refused.
    const step = slot === 'back' ? -1 : slot === 'again' && keyboard.isTerminal ? 0 : 1
    isFresh = step < 1
    number = Math.max(1, number + step)
    panel = panel.filter((each) => each.number < number)
    if (typeof slot === 'object') panel.push(slot)
  }
  return panel
}

/** Something was scanned, and got no profile. */
export function noteMissed({ devices }: Shift, text: string): void {
  if (!devices.has(text)) devices.set(text, undefined)
}

async function dropEarly({ keyboard, say }: Shift): Promise<void> {
  const early = await keyboard.takeEarly()
  if (early.length > 0) say(`Scanned before the question, and not used: ${early.join(', ')}. Scan again.`)
}

type Scan = Slot | 'skip' | 'back' | 'again'

/** Asks for the device of one slot. */
async function scan(shift: Shift, number: number, panel: readonly Slot[]): Promise<Scan> {
  const { ports, size, keyboard, say } = shift
  const place = `device ${number} of ${size}${ports.length > 0 ? `, at ${ports[number - 1]}` : ''}`
  const which = size === 1 ? 'the device (or exit)' : `${place} (or skip if it is empty, back, exit)`
  const answer = await keyboard.ask(`Serial number of ${which}: `)
  const word = answer.toLowerCase()
  if (size > 1 && (word === 'skip' || (word === 'back' && keyboard.isTerminal))) return word
  try {
    if (answer === '') throw new UsageError('Nothing was read', 'scan again; is the label blank?')
    if (WORDS.includes(word))
      throw new UsageError(`${answer} is no serial number`, 'scan a device, or type exit')
    const device = shift.serialOf(answer)
    const other = panel.find((each) => each.device === device || isTwin(each.device, device))
    if (other !== undefined)
      throw new UsageError(`Device ${other.device} is in this panel already`, 'scan the label of this slot')
    const slot = await check(shift, number, device)
    if (slot !== 'again' || resultsOf(shift.directory, device).at(-1)?.result === 'pass') return slot
  } catch (error) {
    if (error instanceof EndOfShift) noteMissed(shift, answer)
    if (!(error instanceof UsageError)) throw error
    say(`${error.message}. Nothing was programmed: ${error.hint}`)
  }
  // A list has nobody to ask.
  if (!keyboard.isTerminal) noteMissed(shift, `${answer || 'an empty line'} (refused)`)
  return 'again'
}

/** Finds out what is known of a device, and asks where that is not enough. */
async function check(shift: Shift, number: number, device: string): Promise<Slot | 'again'> {
  const { directory, say } = shift
  const slot = { number, device, isNew: false, hasPassed: false }
  if (recordOf(directory, device) === undefined) {
    if (isElsewhere(shift, device)) return 'again'
    const twin = twinOf(directory, device)
    if (twin === undefined) return slot
    const question = `${device} and ${twin}: another device? Type yes if it is, or no to scan ${twin}: `
    return (await confirm(shift, question)) ? { ...slot, isNew: true } : 'again'
  }
  const last = resultsOf(directory, device).at(-1)
  const when = last && `${last.station} on ${minuteOf(last.time)}`
  if (last?.result === 'pass' || last?.note === ELSEWHERE) {
    const question = `Device ${device} has passed, at ${when}. Is it this device? Type yes to program it again, or no to leave it: `
    return (await confirm(shift, question)) ? { ...slot, hasPassed: true } : 'again'
  }
  const why = last ? ` (${when}: ${last.note ?? 'failed'})` : ''
  say(`${device} has a profile, but no pass is recorded${why}: programming it again`)
  return slot
}

async function confirm(shift: Shift, question: string): Promise<boolean> {
  const { keyboard, say } = shift
  if (!keyboard.isTerminal) {
    say(`${question}no, because a list has nobody to ask`)
    return false
  }
  await dropEarly(shift)
  for (;;) {
    const answer = await keyboard.ask(question)
    if (/^y(es)?$/i.test(answer)) return true
    if (/^(no?)?$/i.test(answer)) return false
    say(`${answer} is not used: type yes or no.`)
  }
}

/** A directory that has forgotten a device would give it a second profile. */
function isElsewhere({ directory, receipt, receipts, say }: Shift, device: string): boolean {
  const from = receipts.get(device)
  if (from === undefined) return false
  const other = `softsim next -i ${directory} --device ${device}, with -k and --receipt ${receipt}, gives it another one`
  if (from !== resolve(directory)) {
    say(`Device ${device} has a profile from ${from}: program it from there. If that is gone, ${other}.`)
    return true
  }
  // A directory that is not there has forgotten nothing.
  identityIn(directory)
  const hint = `if all profiles in it are new, ${other}; if not, stop all its stations; then, with the receipts of ALL stations and moves: softsim restore -i ${directory} --receipts ${receipt}, and --receipts for each other one`
  throw new Failure('copy', `device ${device} has a profile that ${directory} does not know`, hint)
}
