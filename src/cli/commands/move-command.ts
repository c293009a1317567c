/** `softsim move`: its options, and which may not go together. */
import { Option } from 'clipanion'
import { UsageError } from '../../failure.ts'
import { withProgress } from '../progress.ts'
import { onInterrupt } from '../streams.ts'
import * as value from './options.ts'
import { BaseCommand, receiptOption, single, startThreads } from './options.ts'

const STOPPING =
  'interrupted: stopping soon; the last lines say what to do; press Ctrl-C again to stop at once'
const LOST =
  'what the lost directory has of this move becomes unused here: if that directory ever hands it out, or has done so, two devices have one identity'

export class MoveCommand extends BaseCommand {
  static override paths = [['move']]
  static override usage = {
    description: 'move unused profiles to another directory',
    details: [
      'Both directories can be on any disk, stick or share, and other calls can work in them. What is used or recorded for a device stays. No profile is ever unused in both directories, whatever happens to the call, its computer or the disks.',
      'If it is interrupted, and softsim status says that profiles are in transit, run the same command again: it finishes the move, and moves nothing else. With --back, it takes all of it back, unless it has begun to store profiles there.',
      '--lost is for a directory that is gone for good before the move to it was finished, such as a broken stick: it takes back what the move still holds. -o is the path of that directory, as softsim status names it. Never use it while that directory may come back: what it has got would be handed out twice.',
    ].join('\n\n'),
    examples: [
      ['Move 500 profiles to a stick', 'softsim move -n 500 -i profiles -o /media/stick/profiles'],
      ['Take an interrupted move back', 'softsim move --back -i profiles -o /media/stick/profiles'],
    ] as [string, string][],
  }

  source = single('-i,--in', '<DIR>: the directory that the profiles leave (required)', value.directory)

  target = single('-o,--out', '<DIR>: where they go, created if missing (required)', value.directory)

  count = single('-n,--count', '<N>: how many profiles to move, all or none', value.count)

  all = Option.Boolean('--all', false, { description: 'move all unused profiles' })

  back = Option.Boolean('--back', false, {
    description: 'take an interrupted move back that has stored nothing yet',
  })

  lost = Option.Boolean('--lost', false, {
    description: 'take an interrupted move back whose other directory is gone for good',
  })

  receipt = receiptOption()

  override async execute(): Promise<void> {
    const { report } = this.context
    const { source, target, receipt } = this
    const modes = [this.count && '-n', this.all && '--all', this.back && '--back', this.lost && '--lost']
    const [mode, another] = modes.filter(Boolean)
    const hint = `for example: softsim move ${this.back ? '--back' : '-n 500'} -i profiles -o /media/stick/profiles`
    if (source === undefined || target === undefined)
      throw new UsageError(`move needs ${source === undefined ? '-i' : '-o'}`, hint)
    if (mode === undefined) throw new UsageError('move needs -n, --all, --back or --lost', hint)
    if (another !== undefined) throw new UsageError(`${mode} and ${another} can't be used together`, hint)
    if (this.lost) report.warn(LOST)
    startThreads()
    const { moveProfiles } = await import('../../move/move.ts')
    const { stop, release } = onInterrupt(0, (isLast) => isLast || report.warn(STOPPING))
    const order = {
      ...{ source, target, receipt, stop, messages: report, isBack: this.back, isLost: this.lost },
      count: this.count ?? Number.POSITIVE_INFINITY,
    }
    try {
      await withProgress(report, (progress) => moveProfiles({ ...order, progress }))
    } finally {
      release()
    }
  }
}
