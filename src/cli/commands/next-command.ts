import { availableParallelism } from 'node:os'
import { Option } from 'clipanion'
import { UsageError } from '../../advice/advice.ts'
import { handOut } from '../../next/hand-out.ts'
import { type Interrupt, onInterrupt } from '../signals.ts'
import {
  BaseCommand,
  checkFormat,
  checkIccid,
  checkReceipt,
  FLUSH_THREADS,
  notEmpty,
  parseCount,
  receiptOption,
  startThreads,
  wholeNumber,
} from './base.ts'
import { deviceFor, deviceFormat } from './serial-number.ts'

export class NextCommand extends BaseCommand {
  static override paths = [['next']]
  static repeatable = ['--device']
  static override usage = {
    description: 'hand out the next unused profile',
    details: [
      'Takes the lowest unused profile, decrypts it, marks it used, and only then prints it: one line, and nothing else. A file that is of no use stays as it is, and the next one is taken. Any number of calls can use one directory.',
      'With --device, run a call that failed or was killed again: the device gets the same profile. Repeat the option for a panel: one line each, in that order. With --iccid, a used profile is printed again: only for the device that it was for, which --device can name. SOFTSIM_KEY_PASSPHRASE has the passphrase of the key.',
    ].join('\n\n'),
    examples: [
      ['Print the next profile for a device programmer', 'softsim next -k softsim.pem -i profiles'],
      [
        'Print the profile of a device',
        'softsim next -k softsim.pem --device SN-0042 --receipt receipt.jsonl',
      ],
      ['Print the next profile as JSON, with its SIM files', 'softsim next -k softsim.pem --format=json'],
    ] as [string, string][],
  }

  key = Option.String('-k,--key', {
    env: 'SOFTSIM_KEY_FILE',
    description:
      '<KEY>: the file of the RSA private key, PEM or DER, or - for standard input (default: SOFTSIM_KEY_FILE)',
  })

  directory = Option.String('-i,--in', './profiles', {
    env: 'SOFTSIM_DIR',
    description: '<DIR>: directory of profiles (default: SOFTSIM_DIR, ./profiles)',
  })

  count = Option.String('-n,--count', {
    description: '<N>: how many profiles to take, all or none (default: 1)',
  })

  iccid = Option.String('--iccid', { description: '<ICCID>: take this profile, used or not' })

  devices = Option.Array('--device', {
    description: '<SERIAL>: print the profile of this device, or the next unused one',
  })

  new = Option.Boolean('--new', false, { description: 'fail if the device has a profile already' })

  dryRun = Option.Boolean('--dry-run', false, {
    description: 'check devices, key and directory, and take nothing',
  })

  receipt = receiptOption()

  lowStock = Option.String('--low-stock', {
    description: '<N>: warn if at most N unused profiles are known to be left',
  })

  format = Option.String('--format', 'hex', {
    tolerateBoolean: true,
    description: '[=<FORMAT>]: hex, json or raw (default: hex)',
  })

  smsp = Option.Boolean('--smsp', false, { description: 'include the SMSP record' })
  smsc = Option.Boolean('--smsc', true, { hidden: true, description: 'leave out the SMSC record' })
  crc = Option.Boolean('--crc', true, { hidden: true, description: 'leave out the CRC-32 record' })

  override async execute(): Promise<void> {
    const { report, env } = this.context
    const format = checkFormat('next', this.format, ['hex', 'json', 'raw'])
    const count = parseCount(this.count ?? '1')
    if (this.iccid !== undefined && this.count !== undefined) {
      throw new UsageError("--iccid and --count can't be used together", 'see softsim help next')
    }
    const pattern = deviceFormat(env)
    const devices = this.devices?.map((each) => deviceFor(each, pattern))
    if (devices !== undefined && this.count !== undefined) {
      throw new UsageError(
        "--device can't be used together with --count",
        'for a panel of devices, repeat --device',
      )
    }
    if (this.iccid !== undefined && devices !== undefined && devices.length > 1)
      throw new UsageError('--iccid is for one device', 'give --device once')
    if (this.new && devices === undefined)
      throw new UsageError('--new needs --device', 'for example: softsim next --device SN-0042 --new')
    const twice = devices?.find((each, at) => devices.indexOf(each) < at)
    if (twice !== undefined) {
      throw new UsageError(`--device names the same device twice: ${twice}`, 'give each serial number once')
    }
    const directory = notEmpty('--in', this.directory)
    const receipt = checkReceipt(this.receipt, report, directory)
    startThreads(threadsFor(devices?.length ?? count))
    let interrupt: Interrupt | undefined
    try {
      await handOut({
        keyPath: checkKeyPath(this.key),
        passphrase: env['SOFTSIM_KEY_PASSPHRASE'],
        directory,
        count,
        iccid: this.iccid === undefined ? undefined : checkIccid(this.iccid),
        devices,
        isNew: this.new,
        isDry: this.dryRun,
        receipt,
        lowStock: this.lowStock === undefined ? undefined : wholeNumber(this.lowStock, '--low-stock', 0),
        format,
        options: { smsp: this.smsp, smsc: this.smsc, crc: this.crc },
        messages: report,
        listen() {
          interrupt = onInterrupt(0)
          return interrupt
        },
      })
    } catch (error) {
      // Signals are released only after a failure: once a profile is delivered, they must not change the exit code.
      interrupt?.release()
      throw error
    }
  }
}

/** Several profiles are decrypted on all cores, and each is flushed; one is flushed and printed in turn. */
const threadsFor = (profiles: number) =>
  profiles > 1 ? Math.max(availableParallelism(), Math.min(profiles, FLUSH_THREADS)) : 1

function checkKeyPath(path: string | undefined): string {
  if (path !== undefined) return notEmpty('--key', path)
  throw new UsageError(
    'next needs the private key',
    'give its file with -k, for example: softsim next -k softsim.pem',
  )
}
