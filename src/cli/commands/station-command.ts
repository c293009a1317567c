/** `softsim station`: its options and their defaults, such as the timeout of a device. */
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { UsageError } from '../../failure.ts'
import { deviceFor, deviceFormat } from '../serial-number.ts'
import { writeStandardError } from '../streams.ts'
import * as value from './options.ts'
import {
  BaseCommand,
  directoryOption,
  keyOption,
  receiptOption,
  repeated,
  single,
  startThreads,
} from './options.ts'

const isWindows = process.platform === 'win32'

/** What a timer takes. */
const LONGEST_MS = 2 ** 31 - 1

/** What modems say, and devices with Onomondo's library. */
const PASS = /^OK|SoftSIM fully provisioned/
const FAIL =
  /ERROR|FAIL|profile length invalid|profile decode failed|missing required field|failed to update profile/

export class StationCommand extends BaseCommand {
  static override paths = [['station']]
  static override usage = {
    description: 'program devices at a line, one by one or a panel at once',
    details: [
      'Asks for the serial number of a device, takes its profile as next --device does, gives it to a port or to a program, and records whether the device has passed: beside its record in the directory, for all stations, and in the receipt. Type exit to end the shift; in a panel, skip for an empty slot, and back to scan the slot before again: it is programmed when its last slot is scanned or skipped. Standard input can also be a list of serial numbers. Without -k, -i and --receipt: softsim.pem, profiles, receipt.jsonl. SOFTSIM_STATION names the station, instead of the host name. Set SOFTSIM_DEVICE_FORMAT, such as SN-[0-9]{4}, to refuse what a scanner reads wrongly.',
      'A port gets the profile as one line. The device has passed if its answer matches --pass, and failed if it matches --fail. The defaults are what modems and devices with the SoftSIM library say. A program, which runs once for each device, reads the line on standard input, and ends with 0 if the device has passed. SOFTSIM_DEVICE, SOFTSIM_ICCID and SOFTSIM_SLOT are in its environment.',
      'The exit code is 0 only if every device of the shift has passed.',
    ].join('\n\n'),
    examples: [
      ['Program devices at a port', 'softsim station --port /dev/ttyUSB0'],
      ['Program a panel of eight with a program', 'softsim station --program ./program-device --panel 8'],
      [
        'Check which ICCID a modem has afterwards',
        `softsim station --port COM3 --send 'AT+SOFTSIM="%s"' --read 'ICCID: ([0-9F]+)'`,
      ],
    ] as [string, string][],
  }

  key = keyOption('')

  directory = directoryOption()

  receipt = receiptOption()

  ports = repeated('--port', '<PORT>: a serial port; repeat it for a panel', value.nameLike('/dev/ttyUSB0'))

  program = single(
    '--program',
    '<PROGRAM>: a program that writes the profile to the device',
    value.nameLike('./program-device'),
  )

  panel = single('--panel', '<N>: how many devices are programmed at once (default: 1)', value.count)

  pass = single('--pass', '<REGEX>: the answer of a port that is a pass', pattern)

  fail = single('--fail', '<REGEX>: the answer of a port that is a failure', pattern)

  read = single('--read', '<REGEX>: fail if (...) in the answer is another ICCID', (text, name) => {
    if (/\((?!\?)/.test(text)) return pattern(text, name)
    throw new UsageError('--read has no (...) around the ICCID', "for example: --read 'ICCID: ([0-9]+)'")
  })

  send = single('--send', '<TEXT>: what is sent, with %s for the profile, such as AT+SOFTSIM="%s"', String)

  baud = single('--baud', '<N>: the speed of the ports (default: 115200)', value.count)

  timeout = single('--timeout', '<S>: how long a device may take (default: 30)', value.count)

  lowStock = single('--low-stock', '<N>: warn if at most N profiles are left (default: 20)', value.count)

  override async execute(): Promise<void> {
    const { report, env, umask } = this.context
    const format = deviceFormat(env)
    const { key: keyPath = 'softsim.pem', directory = 'profiles', receipt = 'receipt.jsonl' } = this
    const { ports, program, panel, pass = PASS, fail = FAIL, read, send, baud = 115_200 } = this
    const isForPorts = program === undefined
    const example = 'give --port /dev/ttyUSB0 (on Windows: --port COM3), or --program ./program-device'
    value.refuse(keyPath === '-', 'standard input is for serial numbers', 'give the file of the key with -k')
    value.refuse(isForPorts && ports.length === 0, 'no port and no program is named', example)
    value.refuse(!isForPorts && ports.length > 0, 'a station has ports or a program, not both', example)
    value.refuse(isForPorts && panel, '--panel is for a program', 'for a panel of ports, repeat --port')
    const isOfPorts = this.pass ?? this.fail ?? this.baud
    const judge = 'the exit code of the program says whether a device has passed'
    value.refuse(!isForPorts && isOfPorts, '--pass, --fail and --baud are for ports', judge)
    const [before = '', behind, more] = send?.split('%s') ?? ['', '']
    const isOnce = behind !== undefined && more === undefined
    value.refuse(!isOnce, '--send needs %s once, for the profile', `such as --send 'AT+SOFTSIM="%s"'`)
    // Loaded on demand: the other commands do without it.
    const { runShift } = await import('../../station/station.ts')
    value.refuse(
      hasTwice(ports),
      'a port is named twice',
      'name it once: two profiles would go to one device',
    )
    const settings = {
      ...{ keyPath, directory, receipt, ports, read, baud, size: ports.length || (panel ?? 1) },
      ...(isForPorts
        ? { program, pass, fail }
        : { program: findProgram(program), pass: undefined, fail: undefined }),
      ...{ timeoutMs: Math.min((this.timeout ?? 30) * 1000, LONGEST_MS), lowStock: this.lowStock ?? 20 },
      // Modems want CR and LF behind a command.
      frame: [before, `${behind}${send === undefined ? '\n' : '\r\n'}`],
    }
    startThreads()
    await runShift({
      ...settings,
      ...{ passphrase: env['SOFTSIM_KEY_PASSPHRASE'], messages: report, show: writeStandardError, umask },
      serialOf: (text) => deviceFor(text, format),
    })
  }
}

function pattern(text: string, name: string): RegExp {
  try {
    return new RegExp(text)
  } catch {
    throw new UsageError(`the value of ${name} is not a regular expression`, `for example: ${name} '^OK'`)
  }
}

/** Links name the same port, and so do upper and lower case on Windows. */
function hasTwice(ports: readonly string[]): boolean {
  const nameOf = (port: string) =>
    isWindows ? port.toUpperCase() : existsSync(port) ? realpathSync(port) : port
  return new Set(ports.map(nameOf)).size < ports.length
}

/** Some shells find what can't be run, too. */
const FIND = 'command -v -- "$0" && test -x "$(command -v -- "$0")"'

/** Finds a program as the shell does. @returns its path @throws {UsageError} */
function findProgram(name: string): string {
  if (isWindows && existsSync(name)) return name
  const [shell = '', ...words] = isWindows ? ['where', name] : ['sh', '-c', FIND, name]
  const { status, stdout } = spawnSync(shell, words, { encoding: 'utf8' })
  if (status === 0) return stdout.split(/[\r\n]/)[0] ?? name
  const hint = existsSync(name)
    ? 'it must be executable, and one that is not on the PATH begins with ./'
    : 'check its path'
  throw new UsageError(
    `the program ${name} can't be run`,
    `${hint}; a program with arguments needs a script around it`,
  )
}
