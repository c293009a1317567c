/** A serial port: opened with the means of each system, written to, and read until the device has answered. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { errnoOf, Failure, reasonOf } from '../failure.ts'
import { type Answer, type Limits, LONGEST_LINE, type Verdict } from './verdict.ts'

const isWindows = process.platform === 'win32'

/** How often a port is asked whether it has something. */
const POLL_MS = 20
/** A device that says nothing for so long is at the end of a line. */
const QUIET_MS = 500
/** Some devices are never quiet. */
const LONGEST_DISCARD_MS = 3000

const CABLE = 'check the cable, and that no other program uses the port'
const RIGHT = 'add your user to its group, which is dialout on most systems: sudo usermod -aG dialout "$USER"'

export interface Port {
  /** Empty if the device says nothing at the moment. */
  read(): Promise<string>
  write(text: string): Promise<void>
  close(): void
}

/** Opens a port with 8 data bits, no parity, 1 stop bit and no flow control. @throws {Failure} `usage` */
export const openPort = (name: string, baud: number): Port =>
  isWindows ? openCom(name, baud) : openTty(name, baud)

function openTty(name: string, baud: number): Port {
  const settings = 'cs8 -parenb -cstopb -crtscts -hupcl clocal raw -echo'.split(' ')
  const words = [process.platform === 'linux' ? '-F' : '-f', name, `${baud}`, ...settings]
  // Linux keeps the settings: what a device says at once is not sent back to it.
  spawnSync('stty', words)
  // A name that is not there must not become a file, and a device that is off must not be waited for.
  const file = open(name, name, fs.constants.O_RDWR | fs.constants.O_NOCTTY | fs.constants.O_NONBLOCK)
  // While the port is open: macOS forgets the settings of a port that is closed.
  set('stty', words, name, file)
  const [bytes, decoder] = [Buffer.alloc(4096), new StringDecoder()]
  const some = async (action: () => number): Promise<number> => {
    try {
      const length = action()
      if (length > 0) return length
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') throw error
    }
    return sleep(POLL_MS, 0)
  }
  let isOpen = true
  return {
    read: async () => decoder.write(bytes.subarray(0, await some(() => fs.readSync(file, bytes)))),
    async write(text) {
      let rest = Buffer.from(text)
      // The number of a closed file may be that of the next one: another device would get the rest.
      while (isOpen && rest.length > 0) rest = rest.subarray(await some(() => fs.writeSync(file, rest)))
    },
    close() {
      isOpen = false
      fs.closeSync(file)
    },
  }
}

/**
 * Without a native module, a read on Windows waits until there is a byte, and a write waits for the read. So nothing is read
 * before the profile is written. If a device never answers, its port stays open until it says something or is unplugged.
 */
function openCom(name: string, baud: number): Port {
  const settings = `BAUD=${baud} PARITY=n DATA=8 STOP=1 to=off xon=off odsr=off octs=off dtr=on rts=on`
  set('mode', [`${name}:`, ...settings.split(' ')], name)
  const file = open(name, `\\\\.\\${name}`, 'r+')
  const [byte, decoder] = [Buffer.alloc(1), new StringDecoder()]
  let pending: Promise<{ bytesRead: number }> | undefined
  return {
    async read() {
      pending ??= promisify(fs.read)(file, byte, 0, 1, null)
      const done = await Promise.race([pending, sleep(POLL_MS)])
      if (done === undefined) return ''
      pending = undefined
      return decoder.write(byte.subarray(0, done.bytesRead))
    },
    write: async (text) => void (await promisify(fs.write)(file, text)),
    close: () => fs.close(file, () => {}),
  }
}

function open(name: string, path: string, flags: number | string): number {
  try {
    return fs.openSync(path, flags)
  } catch (error) {
    const hint = errnoOf(error) === 'EACCES' && !isWindows ? RIGHT : CABLE
    throw new Failure('usage', `can't open the port ${name}: ${reasonOf(error)}`, hint, error)
  }
}

function set(program: string, words: readonly string[], name: string, file?: number): void {
  const { error, status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8', windowsHide: true })
  if (status === 0) return
  if (file !== undefined) fs.closeSync(file)
  const [why = ''] = error ? [`${program}: ${reasonOf(error)}`] : (stderr + stdout).trim().split(/[\r\n]+/)
  throw new Failure('usage', `${name} is no serial port, or refuses its settings: ${why}`, CABLE)
}

/** Sends a profile to a device, and waits for its answer. */
export async function talk(port: Port, sent: string, answer: Answer, limits: Limits): Promise<Verdict> {
  if (!isWindows) answer.begin(await discard(port))
  const end = performance.now() + limits.timeoutMs
  const late = sleep(limits.timeoutMs, undefined, { signal: limits.stop, ref: false }).catch(() => {})
  await Promise.race([port.write(sent), late])
  for (let lastAt = performance.now(); performance.now() < end && !limits.stop.aborted; ) {
    const text = await port.read()
    if (text !== '') lastAt = performance.now()
    const isQuiet = performance.now() - lastAt > QUIET_MS
    for (const line of isQuiet ? answer.pause() : answer.add(text)) {
      limits.hear(line)
      answer.judge(line)
    }
    if (answer.verdict !== undefined) return answer.verdict
  }
  const named = answer.passed === undefined ? '' : ' that names the ICCID'
  const last = answer.last && `; it said last: ${answer.last}`
  return { isPassed: false, note: `no pass or fail${named} in ${limits.timeoutMs / 1000} s${last}` }
}

/** Reads what a device still says before it gets its profile. @returns the end of it */
async function discard(port: Port): Promise<string> {
  const end = performance.now() + LONGEST_DISCARD_MS
  let last = ''
  for (let quiet = 0; quiet < 5 && performance.now() < end; quiet++) {
    const text = await port.read()
    if (text !== '') quiet = 0
    last = (last + text).slice(-LONGEST_LINE)
  }
  return last
}
