import { Option } from 'clipanion'
import { UsageError } from '../../advice/advice.ts'
import { BaseCommand, notEmpty } from './base.ts'

export class RestoreCommand extends BaseCommand {
  static override paths = [['restore']]
  static repeatable = ['--receipts']
  static override usage = {
    description: 'put a directory from a backup, or a copy, back into use',
    details: [
      'A backup does not know what was handed out or moved after it. This marks everything used that the receipts of all stations name, so that each device gets its own profile again, and nobody else gets it. It needs no private key. If it is interrupted, run it again.',
      'What the receipts contradict is listed, with exit code 5, and is used by nobody: give it to its device with softsim next --device and --iccid.',
    ].join('\n\n'),
    examples: [
      [
        'Put a backup back into use',
        'softsim restore -i profiles --receipts line-1.jsonl line-2.jsonl line-3.jsonl',
      ],
    ] as [string, string][],
  }

  directory = Option.String('-i,--in', {
    description: '<DIR>: the directory of profiles (required)',
  })

  receipts = Option.Array('--receipts', {
    description: '<FILE>...: the receipts of next and move, of all stations',
  })

  withoutReceipts = Option.Boolean('--without-receipts', false, {
    description: 'nothing was handed out or moved since the backup or the copy was made',
  })

  override async execute(): Promise<void> {
    const { report } = this.context
    const example = 'for example: softsim restore -i profiles --receipts line-1.jsonl line-2.jsonl'
    if (this.directory === undefined) throw new UsageError('restore needs -i (--in)', example)
    const directory = notEmpty('--in', this.directory)
    const files = this.receipts?.map((each) => notEmpty('--receipts', each)) ?? []
    if (files.length > 0 && this.withoutReceipts)
      throw new UsageError("--receipts and --without-receipts can't be used together", example)
    if (files.length === 0 && !this.withoutReceipts) {
      throw new UsageError(
        'restore needs --receipts',
        `${example}; only if nothing was handed out or moved since: --without-receipts`,
      )
    }
    const { restore } = await import('../../restore/restore.ts')
    const { compareReceipts } = await import('../../status/compare-receipts.ts')
    await this.withProgress(async (progress, print) => {
      const call = { directory, files, messages: report, progress }
      await restore(call)
      if (files.length > 0) await compareReceipts({ ...call, format: 'text', print })
    })
  }
}
