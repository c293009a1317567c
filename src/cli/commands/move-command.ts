import { Option } from 'clipanion'
import { UsageError } from '../../advice/advice.ts'
import { oddEnd } from '../../words.ts'
import { onInterrupt } from '../signals.ts'
import {
  BaseCommand,
  checkReceipt,
  FLUSH_THREADS,
  notEmpty,
  parseCount,
  receiptOption,
  startThreads,
} from './base.ts'

const STOPPING =
  'interrupted: stopping soon; the last lines say what to do; press Ctrl-C again to stop at once'

export class MoveCommand extends BaseCommand {
  static override paths = [['move']]
  static override usage = {
    description: 'move unused profiles to another directory',
    details: [
      'Both directories can be on any disk, stick or share, and other calls can work in them. What is used or recorded for a device stays. No profile is ever unused in both directories, whatever happens to the call, its computer or the disks.',
      'If it is interrupted, run the same command again: it finishes the move, and moves nothing else. With --back, it takes all of it back, unless it has begun to store profiles there.',
    ].join('\n\n'),
    examples: [
      ['Move 500 profiles to a stick', 'softsim move -n 500 -i profiles -o /media/stick/profiles'],
      ['Take an interrupted move back', 'softsim move --back -i profiles -o /media/stick/profiles'],
    ] as [string, string][],
  }

  source = Option.String('-i,--in', {
    description: '<DIR>: the directory that the profiles leave (required)',
  })

  target = Option.String('-o,--out', {
    description: '<DIR>: the directory that they go to, created if missing (required)',
  })

  count = Option.String('-n,--count', { description: '<N>: how many profiles to move, all or none' })

  all = Option.Boolean('--all', false, { description: 'move all unused profiles' })

  back = Option.Boolean('--back', false, {
    description: 'take an interrupted move back that has stored nothing yet',
  })

  receipt = receiptOption()

  override async execute(): Promise<void> {
    const { report } = this.context
    const [source, target] = [required('-i (--in)', this.source), required('-o (--out)', this.target)]
    const count = this.#count()
    const receipt = checkReceipt(this.receipt, report, source, target)
    startThreads(FLUSH_THREADS)
    const { moveProfiles, takeHome } = await import('../../move/move.ts')
    if (this.back) return takeHome({ source, target, messages: report })
    const { stop, release } = onInterrupt(0, (isLast) => isLast || report.warn(STOPPING))
    const order = { source, target, count, receipt, stop, messages: report }
    try {
      await this.withProgress((progress) => moveProfiles({ ...order, progress }))
    } finally {
      release()
    }
  }

  /** How many profiles to move: infinitely many stand for all. */
  #count(): number {
    const given = [this.count !== undefined && '-n', this.all && '--all', this.back && '--back'].filter(
      Boolean,
    )
    if (given.length === 1)
      return this.count === undefined ? Number.POSITIVE_INFINITY : parseCount(this.count)
    throw new UsageError(
      given.length === 0 ? 'move needs -n, --all or --back' : `${given.join(' and ')} can't be used together`,
      `for example: softsim move ${this.back ? '--back' : '-n 500'} -i profiles -o /media/stick/profiles`,
    )
  }
}

function required(option: string, value: string | undefined): string {
  const hint = 'for example: softsim move -n 500 -i profiles -o /media/stick/profiles'
  if (value === undefined) throw new UsageError(`move needs ${option}`, hint)
  const end = oddEnd(notEmpty(option, value))
  if (end === undefined) return value
  throw new UsageError(`the name of the directory ${end}`, hint)
}
