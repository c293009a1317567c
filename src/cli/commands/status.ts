import { Option } from 'clipanion'
import { Failure } from '../../failure.ts'
import type { Format } from '../../status/status.ts'
import { BaseCommand } from './base.ts'
import { notEmpty, parseCount } from './values.ts'

export class StatusCommand extends BaseCommand {
  static override paths = [['status']]
  static override usage = {
    description: 'show what is in a directory of profiles, and change nothing',
    details: [
      'Prints how many profiles are unused and used, how many files are not profiles, and how many profiles a fetch has received and not stored yet.',
      'With --key, it also opens the unused profiles, and names those that the key does not decrypt or that a device would reject. Use this before a shift: it takes no profile. The exit code is 0 if any profile can be used, 3 if none is unused, 4 if the key decrypts none, and 5 if none can be used.',
      'With --devices, it lists the devices that have a profile: time, station, serial number and ICCID. No format contains a secret.',
    ].join('\n\n'),
    examples: [
      ['Count the profiles', 'softsim status -i profiles'],
      ['Check 500 profiles before a shift', 'softsim status -i profiles -k softsim.pem -n 500 || exit'],
      ['List who got what, for a spreadsheet', 'softsim status --devices --format=csv'],
    ] as [string, string][],
  }

  directory = Option.String('-i,--in', './profiles', {
    description: '<DIR>: the directory of profiles (default: ./profiles)',
  })

  key = Option.String('-k,--key', {
    description:
      '<KEY>: the file of the RSA private key, or - for standard input; check the unused profiles with it',
  })

  count = Option.String('-n,--count', {
    description: '<N>: how many profiles to check at most (default: all)',
  })

  devices = Option.Boolean('--devices', false, { description: 'list the devices that have a profile' })

  format = Option.String('--format', 'text', {
    tolerateBoolean: true,
    description: '[=<FORMAT>]: text, json or csv (default: text)',
  })

  override async execute(): Promise<void> {
    const { report, env, print } = this.context
    const count = this.count === undefined ? Number.POSITIVE_INFINITY : parseCount(this.count)
    if (this.devices && (this.key ?? this.count) !== undefined) {
      throw new Failure('usage', "--devices can't be used together with --key or --count", {
        hint: 'see softsim help status',
      })
    }
    if (this.count !== undefined && this.key === undefined) {
      throw new Failure('usage', '--count needs --key', { hint: 'see softsim help status' })
    }
    const format = checkFormat(this.format)
    const { showStatus } = await import('../../status/status.ts')
    const { startProgress } = await import('../terminal/progress.ts')
    const progress = await startProgress(report)
    try {
      await showStatus({
        directory: notEmpty('--in', this.directory),
        keyPath: this.key === undefined ? undefined : notEmpty('--key', this.key),
        passphrase: env['SOFTSIM_KEY_PASSPHRASE'],
        count,
        devices: this.devices,
        format,
        messages: report,
        progress,
        print(text) {
          progress.end()
          return print(text)
        },
      })
    } finally {
      progress.end()
    }
  }
}

function checkFormat(format: string | boolean): Format {
  if (format === true) return 'text'
  if (format === 'text' || format === 'json' || format === 'csv') return format
  throw new Failure('usage', 'the value of --format is not text, json or csv', {
    hint: 'see softsim help status',
  })
}
