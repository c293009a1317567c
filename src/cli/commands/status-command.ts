import { Option } from 'clipanion'
import { UsageError } from '../../advice/advice.ts'
import { BaseCommand, checkFormat, checkIccid, notEmpty, parseCount, parseTime } from './base.ts'
import { serialNumber } from './serial-number.ts'

export class StatusCommand extends BaseCommand {
  static override paths = [['status']]
  static repeatable = ['-i', '--in', '--device', '--iccid', '--receipts', '--failed']
  static override usage = {
    description: 'show what is in a directory of profiles, and change nothing',
    details: [
      'Counts unused and used profiles, and those that a fetch has received and not stored yet. With several -i, the total follows.',
      "With --key, it also opens the unused profiles, and names those that can't be used; it takes none. The exit code is 0 if any can be used, 3 if none is unused, 4 if the key decrypts none, 5 if none can be used, 9 if they can't be read, and 10 if the directory is a copy.",
      '--devices, --failed, --device and --iccid show who has which profile. --receipts names what the receipts of all stations contradict. No format contains a secret.',
    ].join('\n\n'),
    examples: [
      ['Check 500 profiles before a shift', 'softsim status -i profiles -k softsim.pem -n 500 || exit'],
      ['List who got what in a shift', 'softsim status --devices --since 06:00 --format=csv'],
      ['Check a directory from a backup', 'softsim status --receipts line-1.jsonl line-2.jsonl'],
    ] as [string, string][],
  }

  directories = Option.Array('-i,--in', {
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

  since = Option.String('--since', {
    description: '<TIME>: of the devices, those since today, 06:00, yesterday',
  })

  station = Option.String('--station', {
    description: '<NAME>: of the devices, those that this station claimed',
  })

  failed = Option.Array('--failed', {
    description: '<FILE>...: list those that did not pass, by results.csv',
  })

  device = Option.Array('--device', { description: '<SERIAL>: show the profile of this device' })

  iccid = Option.Array('--iccid', { description: '<ICCID>: show who has this profile' })

  receipts = Option.Array('--receipts', {
    description: '<FILE>...: compare the receipts of next and move with the directory',
  })

  format = Option.String('--format', 'text', {
    tolerateBoolean: true,
    description: '[=<FORMAT>]: text, json or csv (default: text)',
  })

  override async execute(): Promise<void> {
    const { report, env } = this.context
    const count = this.count === undefined ? Number.POSITIVE_INFINITY : parseCount(this.count)
    // Each of these is a question of its own.
    const [one, another] = [
      this.receipts && '--receipts',
      (this.device ?? this.iccid) && '--device or --iccid',
      (this.devices || this.failed) && '--devices or --failed',
      (this.key ?? this.count) !== undefined && '--key or --count',
    ].filter((each) => typeof each === 'string')
    if (another !== undefined)
      throw new UsageError(`${one} can't be used together with ${another}`, 'see softsim help status')
    if ((this.since ?? this.station) !== undefined && one !== '--devices or --failed') {
      const name = this.since === undefined ? '--station' : '--since'
      throw new UsageError(`${name} needs --devices or --failed`, 'see softsim help status')
    }
    // Without -n, softsim status counts: a variable must not make it decrypt everything.
    const key = this.key ?? (this.count && (env['SOFTSIM_KEY_FILE'] || undefined))
    if (this.count !== undefined && key === undefined) {
      throw new UsageError('--count needs --key', 'see softsim help status')
    }
    const given = this.directories ?? [env['SOFTSIM_DIR'] || './profiles']
    const directories = given.map((each) => notEmpty('--in', each))
    const since = this.since === undefined ? undefined : parseTime(this.since)
    const format = checkFormat('status', this.format, ['text', 'json', 'csv'])
    await this.withProgress(async (progress, print) => {
      const usual = { directories, format, messages: report, print }
      if (this.receipts !== undefined) {
        const [directory = '', ...others] = directories
        if (others.length > 0)
          throw new UsageError('--receipts is for one directory', 'give -i once, for each directory in turn')
        const { compareReceipts } = await import('../../status/compare-receipts.ts')
        const files = this.receipts.map((each) => notEmpty('--receipts', each))
        return await compareReceipts({ ...usual, directory, files, progress })
      }
      if (this.device !== undefined || this.iccid !== undefined) {
        const { showProfiles } = await import('../../status/look-up.ts')
        const devices = (this.device ?? []).map(serialNumber)
        return await showProfiles({ ...usual, devices, iccids: (this.iccid ?? []).map(checkIccid) })
      }
      if (this.devices || this.failed !== undefined) {
        const { listDevices } = await import('../../status/list-devices.ts')
        const results = this.failed?.map((each) => notEmpty('--failed', each))
        const station = this.station === undefined ? undefined : notEmpty('--station', this.station)
        return await listDevices({ ...usual, since, station, results })
      }
      const { showStatus } = await import('../../status/status.ts')
      const keyPath = key === undefined ? undefined : notEmpty('--key', key)
      const passphrase = env['SOFTSIM_KEY_PASSPHRASE']
      await showStatus({ ...usual, keyPath, passphrase, count, progress })
    })
  }
}
