/** `softsim next`: its options, and which may not go together. */
import { Option } from 'clipanion'
import { Failure, UsageError } from '../../failure.ts'
import { readKey } from '../../key/private-key.ts'
import { type HandedOut, handOut } from '../../next/next.ts'
import { folded } from '../../store/directory.ts'
import { deviceFor, deviceFormat } from '../serial-number.ts'
import { isOnScreen, isOutputClosed, onInterrupt, writeLines } from '../streams.ts'
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

const SLOW =
  'the reader of standard output is slow or does not read: still waiting after 2 s; press Ctrl-C to stop'
const ON_SCREEN =
  'a secret is on the screen: clear the screen and its history; use | or > to send a profile to a device'

export class NextCommand extends BaseCommand {
  static override paths = [['next']]
  static override usage = {
    description: 'hand out the next unused profile',
    details: [
      'Takes the lowest unused profile, decrypts it, marks it used, and only then prints it: one line, and nothing else. A file that is of no use stays as it is, and the next one is taken. Any number of calls can use one directory.',
      'With --device, run a call that failed or was killed again: the device gets the same profile. Repeat the option for a panel: one line each, in that order. With --iccid, a used profile is printed again: only for the device that it was for, which --device can name. SOFTSIM_KEY_PASSPHRASE has the passphrase of the key.',
      'With --new, a device that has a profile already ends the call with exit code 11. Do not use it always: a serial number that differs from a known one only in case or in zeros, which is an error otherwise, then is another device.',
    ].join('\n\n'),
    examples: [
      ['Print the next profile for a device programmer', 'softsim next -k softsim.pem -i profiles'],
      [
        'Print the profile of a device',
        'softsim next -k softsim.pem --device SN-0042 --receipt receipt.jsonl',
      ],
      ['Print the next profile as JSON, with its SIM files', 'softsim next -k softsim.pem --format json'],
    ] as [string, string][],
  }

  key = keyOption()

  directory = directoryOption()

  count = single('-n,--count', '<N>: how many profiles to take, all or none (default: 1)', value.count)

  iccid = single('--iccid', '<ICCID>: take this profile, used or not', value.iccid)

  devices = repeated(
    '--device',
    '<SERIAL>: print the profile of this device, or the next unused one',
    (text) => text,
  )

  new = Option.Boolean('--new', false, { description: 'fail if the device has a profile already' })

  receipt = receiptOption()

  format = single('--format', '<FORMAT>: hex, json or raw (default: hex)', value.oneOf('hex', 'json', 'raw'))

  smsp = Option.Boolean('--smsp', false, { description: 'include the SMSP record' })
  noSmsc = Option.Boolean('--no-smsc', false, { description: 'leave out the SMSC record' })
  noCrc = Option.Boolean('--no-crc', false, { description: 'leave out the CRC-32 record' })

  override async execute(): Promise<void> {
    const { report, env } = this.context
    const { key: keyPath, count = 1, iccid, receipt, format = 'hex', directory = 'profiles' } = this
    const pattern = deviceFormat(env)
    const devices = this.devices.map((each) => deviceFor(each, pattern))
    const [device] = devices
    value.refuse(iccid && this.count, "--iccid and -n can't be used together", 'give one of them')
    value.refuse(device && this.count, "--device and -n can't be used together", 'repeat --device')
    value.refuse(iccid && devices.length > 1, '--iccid is for one device', 'give --device once')
    value.refuse(this.new && !device, '--new needs --device', 'such as --device SN-0042 --new')
    const isTwice = new Set(this.new ? devices : devices.map(folded)).size < devices.length
    const once = 'give each serial number once; if two of them differ only in case or zeros, add --new'
    value.refuse(isTwice, '--device names the same device twice', once)
    if (keyPath === undefined)
      throw new UsageError('next needs the private key', 'give its file, such as -k softsim.pem')
    const hint = 'connect it to the device programmer; nothing was claimed'
    if (isOutputClosed()) throw new Failure('disk', 'standard output is closed', hint)
    startThreads(devices.length || count)
    // No handler can run while the call waits for a key from a pipe or the keyboard, and a signal must end it then.
    const key = readKey(keyPath, env['SOFTSIM_KEY_PASSPHRASE'], report)
    const { stop, hold, release } = onInterrupt(0)
    const print = async (profiles: readonly HandedOut[]) => {
      const lines = profiles.map(({ line }) => `${line}\n`)
      await writeLines(lines, stop, () => report.warn(SLOW))
      if (isOnScreen()) report.warn(ON_SCREEN)
    }
    const order = {
      ...{ directory, key, format, messages: report, stop, hold, isNew: this.new },
      count: devices.length || count,
      options: { smsp: this.smsp, smsc: !this.noSmsc, crc: !this.noCrc },
      ...(device !== undefined && { devices }),
      ...(iccid !== undefined && { iccid }),
      ...(receipt !== undefined && { receipt }),
    }
    try {
      await handOut(order, print)
    } catch (error) {
      // Signals are released only after a failure: once a profile is delivered, they must not change the exit code.
      release()
      throw error
    }
  }
}
