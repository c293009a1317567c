import { Option } from 'clipanion'
import { Failure } from '../../failure.ts'
import { type Format, handOut } from '../../next/hand-out.ts'
import { onInterrupt } from '../signals.ts'
import { BaseCommand, notEmpty, parseCount } from './base.ts'

export class NextCommand extends BaseCommand {
  static override paths = [['next']]
  static override usage = {
    description: 'hand out the next unused profile',
    details: [
      'Takes the unused profile with the lowest name, decrypts it, marks its file used, __<name>, and only then prints it: one line on standard output, and nothing else. Any number of calls may work on one directory at once; no profile is handed out twice.',
      'With --count it takes that many at once, for a panel of devices, one a line: all of them, or none and exit code 3.',
      'With --iccid it takes that one profile; if it is used already, it prints it again and warns. This is for a device whose programming failed half-way: the same device must get the same profile.',
      'A file that is damaged, or that a device would refuse, stays as it is, is named on standard error and passed over.',
      'The passphrase of a protected key is read from the environment variable SOFTSIM_KEY_PASSPHRASE.',
    ].join('\n\n'),
    examples: [
      ['The next profile, as a device programmer takes it', 'softsim next -k softsim.pem -i profiles'],
      ['Into a device at a serial port', 'softsim next -k softsim.pem > /dev/ttyUSB0'],
      ['Everything there is to know about it', 'softsim next -k softsim.pem --format=json'],
    ] as [string, string][],
  }

  key = Option.String('-k,--key', {
    description: '<KEY>: the RSA private key, PKCS#1 or PKCS#8, PEM or DER (required)',
  })

  directory = Option.String('-i,--in', './profiles', {
    description: '<SET_OF_PROFILES>: the directory of profiles (default: ./profiles)',
  })

  count = Option.String('-n,--count', {
    description: '<NUM_OF_PROFILES>: how many profiles to take, all or none (default: 1)',
  })

  iccid = Option.String('--iccid', { description: '<ICCID>: take this profile, used or not' })

  format = Option.String('--format', 'hex', {
    tolerateBoolean: true,
    description: '[=<FORMAT>]: hex, json or raw (default: hex)',
  })

  smsp = Option.Boolean('--smsp', false, { description: 'include the SMSP record' })
  noSmsc = Option.Boolean('--no-smsc', false, { description: 'leave the SMSC record out' })
  crc = Option.Boolean('--crc', true, {
    description: 'end the hex with the CRC-32 record (default); --no-crc leaves it out',
  })

  override async execute(): Promise<void> {
    const { report, env } = this.context
    const format = checkFormat(this.format)
    const count = parseCount(this.count ?? '1')
    if (this.iccid !== undefined && this.count !== undefined) {
      throw new Failure('usage', '--iccid and --count exclude each other', { hint: 'softsim help next' })
    }
    const interrupt = onInterrupt(0)
    try {
      await handOut({
        keyPath: checkKeyPath(this.key),
        passphrase: env['SOFTSIM_KEY_PASSPHRASE'],
        directory: notEmpty('--in', this.directory),
        count,
        iccid: this.iccid,
        format,
        options: { smsp: this.smsp, smsc: !this.noSmsc, crc: this.crc },
        messages: report,
        signals: interrupt,
      })
    } catch (error) {
      // Signals are released only after a failure: once a profile is delivered, they must not change the exit code.
      interrupt.release()
      throw error
    }
  }
}

function checkKeyPath(path: string | undefined): string {
  if (path !== undefined) return notEmpty('--key', path)
  throw new Failure('usage', 'next needs the private key', {
    hint: 'name its file: softsim next -k softsim.pem',
  })
}

function checkFormat(format: string | boolean): Format {
  if (format === true) return 'hex'
  if (format === 'hex' || format === 'json' || format === 'raw') return format
  throw new Failure('usage', '--format is hex, json or raw', { hint: 'softsim help next' })
}
