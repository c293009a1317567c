import { Option } from 'clipanion'
import type { Format } from '../../status/status.ts'
import { UsageError } from '../advice/usage.ts'
import { BaseCommand } from './base.ts'
import { serialNumber } from './serial-number.ts'
import { checkIccid, notEmpty, parseCount } from './values.ts'

export class StatusCommand extends BaseCommand {
  static override paths = [['status']]
  static repeatable = ['--device', '--iccid', '--receipts']
  static override usage = {
    description: 'show what is in a directory of profiles, and change nothing',
    details: [
      'Prints how many profiles are unused and used, and how many a fetch has received and not stored yet.',
      'With --key, it also opens the unused profiles, and names those that the key does not decrypt or that a device would reject. Use this before a shift: it takes no profile. The exit code is 0 if any profile can be used, 3 if none is unused, 4 if the key decrypts none, and 5 if none can be used.',
      'With --devices, --device or --iccid, it shows who has which profile: time, station, serial number and ICCID. With --receipts, it names what the receipts of all stations contradict. No format contains a secret.',
    ].join('\n\n'),
    examples: [
      ['Count the profiles', 'softsim status -i profiles'],
      ['Check 500 profiles before a shift', 'softsim status -i profiles -k softsim.pem -n 500 || exit'],
      ['List who got what, for a spreadsheet', 'softsim status --devices --format=csv'],
      ['Check a directory from a backup', 'softsim status --receipts line-1.jsonl line-2.jsonl'],
    ] as [string, string][],
  }

  directory = Option.String('-i,--in', './profiles', {
    env: 'SOFTSIM_DIR',
    description: '<DIR>: directory of profiles (default: SOFTSIM_DIR, ./profiles)',
  })

  key = Option.String('-k,--key', {
    description:
      '<KEY>: RSA private key, or - for standard input: check the unused profiles (with -n, default: SOFTSIM_KEY_FILE)',
  })

  count = Option.String('-n,--count', {
    description: '<N>: how many profiles to check at most (default: all)',
  })

  devices = Option.Boolean('--devices', false, { description: 'list the devices that have a profile' })

  device = Option.Array('--device', { description: '<SERIAL>: show the profile of this device' })

  iccid = Option.Array('--iccid', { description: '<ICCID>: show who has this profile' })

  receipts = Option.Array('--receipts', {
    description: '<FILE>...: hold the receipts of next against the directory',
  })

  format = Option.String('--format', 'text', {
    tolerateBoolean: true,
    description: '[=<FORMAT>]: text, json or csv (default: text)',
  })

  override async execute(): Promise<void> {
    const { report, env } = this.context
    const count = this.count === undefined ? Number.POSITIVE_INFINITY : parseCount(this.count)
    this.#checkTogether()
    // Without -n, softsim status counts: a variable must not make it decrypt everything.
    const key = this.key ?? (this.count && (env['SOFTSIM_KEY_FILE'] || undefined))
    if (this.count !== undefined && key === undefined) {
      throw new UsageError('--count needs --key', 'see softsim help status')
    }
    const directory = notEmpty('--in', this.directory)
    const { startProgress } = await import('../terminal/progress.ts')
    const progress = await startProgress(report)
    const print = (text: string) => {
      progress.end()
      return this.context.print(text)
    }
    const usual = { directory, format: checkFormat(this.format), messages: report, print }
    try {
      if (this.receipts !== undefined) {
        const { compareReceipts } = await import('../../status/receipts/compare.ts')
        const files = this.receipts.map((each) => notEmpty('--receipts', each))
        return await compareReceipts({ ...usual, files, progress })
      }
      if (this.device !== undefined || this.iccid !== undefined) {
        const { showProfiles } = await import('../../status/search.ts')
        const devices = (this.device ?? []).map(serialNumber)
        return await showProfiles({ ...usual, devices, iccids: (this.iccid ?? []).map(checkIccid) })
      }
      const { showStatus } = await import('../../status/status.ts')
      const keyPath = key === undefined ? undefined : notEmpty('--key', key)
      const passphrase = env['SOFTSIM_KEY_PASSPHRASE']
      await showStatus({ ...usual, keyPath, passphrase, count, devices: this.devices, progress })
    } finally {
      progress.end()
    }
  }

  /** Each of these is a question of its own. @throws {UsageError} */
  #checkTogether(): void {
    const questions = [
      ['--receipts', this.receipts !== undefined],
      ['--device or --iccid', (this.device ?? this.iccid) !== undefined],
      ['--devices', this.devices],
      ['--key or --count', (this.key ?? this.count) !== undefined],
    ] as const
    const [one, another] = questions.filter(([, isAsked]) => isAsked)
    if (one === undefined || another === undefined) return
    throw new UsageError(`${one[0]} can't be used together with ${another[0]}`, 'see softsim help status')
  }
}

function checkFormat(format: string | boolean): Format {
  if (format === true) return 'text'
  if (format === 'text' || format === 'json' || format === 'csv') return format
  throw new UsageError('the value of --format is not text, json or csv', 'see softsim help status')
}
