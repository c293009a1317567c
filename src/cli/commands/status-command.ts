/** `softsim status`: its options, and which may not go together. */
import { Option } from 'clipanion'
import { UsageError } from '../../failure.ts'
import { withProgress } from '../progress.ts'
import { serialNumber } from '../serial-number.ts'
import * as value from './options.ts'
import { BaseCommand, directoryOption, repeated, single, variableOf } from './options.ts'

const SEE = 'see softsim help status'

export class StatusCommand extends BaseCommand {
  static override paths = [['status']]
  static override usage = {
    description: 'show what is in a directory of profiles, and change nothing',
    details: [
      'Counts unused and used profiles, and those that a fetch has received and not stored yet.',
      "With --key, it also opens the unused profiles, and names those that can't be used; it takes none. The exit code is 0 if any can be used, 3 if none is unused, 4 if five do not decrypt, or all of fewer, 5 if none can be used, 9 if they can't be read, and 10 if the directory is a copy.",
      '--devices lists the devices, with their results and who recorded them; --device and --iccid tell the history of one. No format contains a secret.',
    ].join('\n\n'),
    examples: [
      ['Check 500 profiles before a shift', 'softsim status -i profiles -k softsim.pem -n 500 || exit'],
      ['Make the list for the customer', 'softsim status --devices --passed --format csv'],
    ] as [string, string][],
  }

  directory = directoryOption()

  key = single(
    '-k,--key',
    '<KEY>: the private key, or - for standard input: check the unused profiles (with -n, default: SOFTSIM_KEY_FILE)',
    value.keyFile,
  )

  count = single('-n,--count', '<N>: how many profiles to check at most (default: all)', value.count)

  devices = Option.Boolean('--devices', false, { description: 'list the devices that have a profile' })
  passed = Option.Boolean('--passed', false, { description: 'list only those that have passed' })
  notPassed = Option.Boolean('--not-passed', false, { description: 'list only those that have not passed' })

  device = repeated('--device', '<SERIAL>: show the history of this device', serialNumber)

  iccid = repeated('--iccid', '<ICCID>: show who has this profile', value.iccid)

  format = single(
    '--format',
    '<FORMAT>: text, json or csv (default: text)',
    value.oneOf('text', 'json', 'csv'),
  )

  override async execute(): Promise<void> {
    const { report, env } = this.context
    const isList = this.devices || this.passed || this.notPassed
    // Each of these is a question of its own.
    const [one, another] = [
      this.device.length + this.iccid.length > 0 && '--device or --iccid',
      isList && '--devices',
      (this.key ?? this.count) !== undefined && '-k or -n',
    ].filter((each) => each !== false)
    value.refuse(another, `${one} can't be used together with ${another}`, SEE)
    value.refuse(this.passed && this.notPassed, "--passed and --not-passed can't be used together", SEE)
    // Without -n, status counts: a variable must not make it decrypt everything.
    const keyPath =
      this.key ??
      (this.count === undefined ? undefined : variableOf('SOFTSIM_KEY_FILE', value.keyFile, this.context))
    if (this.count !== undefined && keyPath === undefined) throw new UsageError('-n needs -k', SEE)
    const { showStatus } = await import('../../status/status.ts')
    const question = {
      directory: this.directory ?? 'profiles',
      keyPath,
      passphrase: env['SOFTSIM_KEY_PASSPHRASE'],
      count: this.count ?? Number.POSITIVE_INFINITY,
      list: isList ? (this.passed ? 'passed' : this.notPassed ? 'not-passed' : 'all') : undefined,
      ...{ devices: this.device, iccids: this.iccid, format: this.format ?? 'text', messages: report },
    } as const
    await withProgress(report, (progress, print) => showStatus({ ...question, progress, print }))
  }
}
