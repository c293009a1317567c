/** `softsim restore`: its options, and which may not go together. */
import { Option } from 'clipanion'
import { UsageError } from '../../failure.ts'
import { withProgress } from '../progress.ts'
import * as value from './options.ts'
import { BaseCommand, repeated, single } from './options.ts'

const EXAMPLE = 'for example: softsim restore -i profiles --receipts receipts'

export class RestoreCommand extends BaseCommand {
  static override paths = [['restore']]
  static override usage = {
    description: 'put a directory from a backup, or a copy, back into use',
    details: [
      'A backup does not know what was handed out or moved after it. This marks everything used that the receipts of all stations name, so that each device gets its own profile again, and nobody else gets it. It needs no private key. If it is interrupted, run it again.',
      'What the receipts contradict is listed, with exit code 5. With --dry-run, nothing is changed: it compares the receipts with a directory that is in use, too.',
      'What has moved out, or was leaving, is put aside: its name ends with .aside, and nobody gets it here. Only if it is in no other directory, remove .aside from the name; otherwise, delete it.',
    ].join('\n\n'),
    examples: [
      ['Put a backup back into use', 'softsim restore -i profiles --receipts receipts'],
      ['See what it would change', 'softsim restore -i profiles --receipts receipts --dry-run'],
    ] as [string, string][],
  }

  directory = single('-i,--in', '<DIR>: the directory of profiles (required)', value.directory)

  receipts = repeated(
    '--receipts',
    '<FILE>: the receipts of a station, or a directory of receipts; can be repeated',
    value.nameLike('receipts'),
  )

  withoutReceipts = Option.Boolean('--without-receipts', false, {
    description: 'nothing was handed out or moved since the backup or the copy was made',
  })

  dryRun = Option.Boolean('--dry-run', false, { description: 'compare, and change nothing' })

  override async execute(): Promise<void> {
    const { report } = this.context
    const { directory, receipts: files, dryRun: isDry } = this
    if (directory === undefined) throw new UsageError('restore needs -i', EXAMPLE)
    const isBoth = files.length > 0 && this.withoutReceipts
    value.refuse(isBoth, "--receipts and --without-receipts can't be used together", EXAMPLE)
    const hint = `${EXAMPLE}; only if nothing was handed out or moved since: --without-receipts`
    value.refuse(files.length === 0 && !this.withoutReceipts, 'restore needs --receipts', hint)
    const { restore } = await import('../../restore/restore.ts')
    await withProgress(report, (progress, print) =>
      restore({ directory, files, isDry, messages: report, progress, print }),
    )
  }
}
