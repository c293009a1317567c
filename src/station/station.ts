/** A shift at a station: asks for devices, hands each its profile, and records whether it has passed. */
import { resolve } from 'node:path'
import { diskFailure, Failure, ifPossible, reasonOf } from '../failure.ts'
import { PassphraseFailure, readKey } from '../key/private-key.ts'
import { type HandedOut, handOut } from '../next/next.ts'
import { HEX_OPTIONS } from '../profile/hex.ts'
import * as store from '../store/directory.ts'
import { EndOfShift, Keyboard } from './ask.ts'
import { ELSEWHERE, noteMissed, type Slot, scanPanel } from './panel.ts'
import { openPort, type Port, talk } from './port.ts'
import { runProgram } from './program.ts'
import { banner, endLine, stockLine } from './report.ts'
import type { Settings, Shift } from './settings.ts'
import { Answer, type Verdict } from './verdict.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** After these, other devices can still be programmed. */
const BEARABLE = ['no-profiles', 'unusable', 'has-profile']
const AGAIN = 'scan the devices that have not passed again: what has a profile gets the same one'

/** Runs a shift to its end. @throws {Failure} if it can't begin or go on, or if a device has not passed */
export async function runShift(settings: Settings): Promise<void> {
  const { directory, receipt, ports, baud, show } = settings
  for (const port of ports) openPort(port, baud).close()
  const say = (line: string) => show(`${line}\n`)
  const stop = new AbortController()
  const end = () => stop.abort()
  const keyboard = new Keyboard(show, stop)
  try {
    const key = await keyOf(settings, keyboard)
    // Not before: a signal must end the wait for a key from a pipe.
    for (const name of SIGNALS) process.on(name, end)
    const { unused, used } = store.look(directory)
    // Nobody has ever used it; what a killed fetch has received is stored with the first device.
    if (unused.length + used.length === 0 && store.identityState(directory) === 'none')
      throw new Failure('no-profiles', `no profile in ${directory}`, 'check its name and its disk')
    const receiptFile = store.openReceipt(receipt, [directory])
    const given = store.readReceipts([receipt]).filter(({ to }) => to === undefined)
    const free = new Set(unused.map(store.iccidOf))
    // A backup of a directory that nobody had used has as unused what was handed out since then.
    if (given.some(({ iccid }) => free.has(iccid))) throw store.copyFailure(directory)
    store.enter(directory, settings.messages, true)
    const shift: Shift = {
      ...{ ...settings, say, keyboard, key, stop: stop.signal, receiptFile },
      ...{ receipts: new Map(given.map((each) => [each.device ?? '', each.directory])), devices: new Map() },
    }
    for (const line of banner(shift)) say(line)
    await work(shift)
  } finally {
    // What a program has left running may keep this process: a signal must end it.
    for (const name of SIGNALS) process.off(name, end)
    keyboard.close()
  }
}

async function keyOf({ keyPath, passphrase, messages, show }: Settings, keyboard: Keyboard) {
  for (let typed = passphrase; ; ) {
    try {
      return readKey(keyPath, typed, messages)
    } catch (error) {
      if (!(error instanceof PassphraseFailure && keyboard.isTerminal)) throw error
      if (typed) show('This passphrase is wrong.\n')
      typed = await keyboard.ask(`Passphrase of ${keyPath}: `, true)
    }
  }
}

/** Goes on until the shift ends, and says what became of its devices. */
async function work(shift: Shift): Promise<void> {
  const { say, stop, devices } = shift
  try {
    while (!stop.aborted) {
      say(stockLine(shift))
      const panel = await scanPanel(shift)
      await programPanel(shift, panel)
      const open = panel.filter(({ device }) => !devices.get(device)).map(({ number }) => number)
      if (shift.size > 1 && open.length > 0) say(`Not passed: slot ${open.join(', ')}`)
    }
  } catch (error) {
    if (!(error instanceof EndOfShift)) throw error
  } finally {
    // What has failed here may have passed elsewhere since, and the other way round.
    ifPossible(() => {
      for (const [device, hasPassed] of devices) {
        const last = hasPassed === undefined ? undefined : store.resultsOf(shift.directory, device).at(-1)
        if (last !== undefined) devices.set(device, last.result === 'pass')
      }
    })
    say(endLine(shift))
  }
  const open = [...devices.values()].filter((hasPassed) => !hasPassed).length
  if (stop.aborted)
    throw new Failure('interrupted', 'interrupted', open > 0 ? AGAIN : 'no device is left open')
  if (open > 0) throw new Failure('partial', 'not every device has passed', AGAIN)
}

/** Hands the devices of a panel their profiles, and programs all at the same time. */
async function programPanel(shift: Shift, scanned: readonly Slot[]): Promise<void> {
  const { messages, keyboard, program } = shift
  const ports = new Map<Slot, Port>()
  for (const { device } of scanned) noteMissed(shift, device)
  try {
    const panel = program === undefined ? scanned.filter((slot) => connect(shift, slot, ports)) : scanned
    const handed = await takeProfiles(shift, panel)
    for (const device of handed.keys()) shift.devices.set(device, false)
    const done = await Promise.allSettled(
      panel.map(async (slot) => {
        const profile = handed.get(slot.device)
        if (profile !== undefined) await programDevice(shift, slot, profile, ports.get(slot))
      }),
    )
    for (const each of done) if (each.status === 'rejected') throw each.reason
  } catch (error) {
    if (!(error instanceof Failure) || !BEARABLE.includes(error.outcome)) throw error
    // The rest of a list would find none, either.
    if (!keyboard.isTerminal && error.outcome === 'no-profiles') throw error
    messages.warn(`${error.message}; ${error.hint}; devices that have a profile can be programmed`)
  } finally {
    for (const port of ports.values()) port.close()
  }
}

/** Opens the port of a slot. A device whose cable is unplugged is left out, and claims nothing. */
function connect(shift: Shift, slot: Slot, ports: Map<Slot, Port>): boolean {
  try {
    ports.set(slot, openPort(shift.ports[slot.number - 1] ?? '', shift.baud))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    shift.messages.warn(`${error.message}; ${error.hint}; device ${slot.device} is left out`)
  }
  return ports.has(slot)
}

/** All or none, by device. Those with a serial number that looks like another one are a call of their own. */
async function takeProfiles(shift: Shift, panel: readonly Slot[]): Promise<Map<string, HandedOut>> {
  const handed = new Map<string, HandedOut>()
  const order = { ...shift, format: 'hex', options: HEX_OPTIONS, hold() {} } as const
  for (const isNew of [false, true]) {
    const devices = panel.filter((slot) => slot.isNew === isNew).map(({ device }) => device)
    if (devices.length === 0) continue
    await handOut({ ...order, devices, isNew, count: devices.length }, async (profiles) => {
      for (const each of profiles) handed.set(each.device ?? '', each)
    })
  }
  for (const device of handed.keys()) shift.receipts.set(device, resolve(shift.directory))
  return handed
}

async function programDevice(shift: Shift, slot: Slot, profile: HandedOut, port?: Port): Promise<void> {
  const { say, messages, stop, program = '', size, timeoutMs } = shift
  const [{ device, number }, { iccid, line }] = [slot, profile]
  if (stop.aborted) return
  const known = store.resultsOf(shift.directory, device)
  if (known.at(-1)?.result === 'pass') {
    if (!slot.hasPassed) noteMissed(shift, `${device} (refused)`)
    if (!slot.hasPassed) return say(`Device ${device} ${ELSEWHERE}, and is not programmed.`)
    // From here on, the device does not have what it has passed with.
    record(shift, device, iccid, { isPassed: false, note: 'is programmed again' })
  }
  const answer = new Answer(shift, profile)
  const sent = shift.frame.join(line)
  const variables = { SOFTSIM_DEVICE: device, SOFTSIM_ICCID: iccid, SOFTSIM_SLOT: `${number}` }
  const place = size > 1 ? `${number}: ` : ''
  const hear = (text: string) => (port ? messages.tell(1, `${device}: ${text}`) : say(`${place}${text}`))
  say(`${place}Programming ${device}, for at most ${timeoutMs / 1000} s`)
  const limits = { timeoutMs, stop, hear }
  const { isPassed, note, isStuck } = await (port
    ? talk(port, sent, answer, limits)
    : runProgram({ program, umask: shift.umask, sent, variables, ...limits }, answer)
  ).catch((error): Verdict => ({ isPassed: false, note: reasonOf(error) }))
  if (stop.aborted && !isPassed) return
  record(shift, device, iccid, { isPassed, note })
  // Of two stations that program one label at once, the later one sees both.
  const since = store.resultsOf(shift.directory, device).slice(known.length)
  const isTwice = since.filter(({ result }) => result === 'pass').length > Number(isPassed)
  if (isTwice) record(shift, device, iccid, { isPassed: false, note: ELSEWHERE })
  shift.devices.set(device, isPassed && !isTwice)
  const failed = `failed: ${note}. Scan it again to repeat: it gets the same profile`
  const what = isTwice ? `${ELSEWHERE}. Put both aside` : isPassed ? 'is programmed' : failed
  say(`${place}Device ${device} ${what}.`)
  if (isStuck)
    throw new Failure('partial', note, 'end it before another device is put in: it may write to it')
}

/** Beside the record of the device, for all stations of the directory; and in the receipt, which survives the disk. */
function record(shift: Shift, device: string, iccid: string, { isPassed, note }: Verdict): void {
  const { directory, receiptFile } = shift
  const [time, station] = [new Date().toISOString(), store.stationName()]
  const result = { result: isPassed ? 'pass' : 'fail', ...(note !== '' && { note }) } as const
  const from = store.identityIn(directory)
  // If this fails, nobody takes the device for passed.
  receiptFile.append([{ time, station, iccid, device, directory: resolve(directory), from, ...result }])
  try {
    store.addResult(directory, device, { ...result, station, time })
  } catch (error) {
    throw diskFailure(`the result of device ${device} can't be recorded`, error)
  }
}
