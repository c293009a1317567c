/** The program's own entry points. Nothing else of these tests knows its modules. */
import { type Call, isStopped, type Result } from './engine.ts'
import { load } from './hooks.ts'
import { EARLIER, LOT, RECEIPTS, STICK } from './names.ts'

const progress = { follow() {} }

type Body = (call: Call) => Promise<Result>
// biome-ignore lint/suspicious/noExplicitAny: the modules may come from another version of the program
type Loaded = any

export interface StoredProfile {
  readonly iccid: string
  readonly profile: string
}

/** What `next` is asked for. */
interface Wish {
  readonly count?: number
  readonly iccid?: string
  readonly devices?: readonly string[]
  readonly directory?: string
  readonly isNew?: boolean
}

/** What `move` is asked for: a move, or one that comes back. */
interface Order {
  readonly count?: number
  readonly source?: string
  readonly target?: string
  readonly isBack?: boolean
}

/** The calls that a schedule can have. */
export type Program = Awaited<ReturnType<typeof loadProgram>>

/** It is aborted from some step on, also when the call is run again from its beginning. */
function stopSignal(): AbortSignal {
  const { signal } = new AbortController()
  return Object.defineProperty(signal, 'aborted', { get: isStopped })
}

/** @param source the URL of the directory of the source, with a slash at its end */
export async function loadProgram(source: string, platform: NodeJS.Platform) {
  const get = (path: string): Promise<Loaded> => load(new URL(path, source).href, platform)
  const { exitCode } = await get('advice/exit-codes.ts')
  const { adviceOn } = await get('advice/advice.ts')
  const { handOut } = await get('next/hand-out.ts')
  const { openTarget, closeTarget } = await get('store/incoming/target-directory.ts')
  const { finishFetches } = await get('store/incoming/recover.ts')
  const { Intake } = await get('store/incoming/add.ts')
  const { leaveFreeList } = await get('store/queue.ts')
  const { showStatus } = await get('status/status.ts')
  const { moveProfiles } = await get('move/move.ts')
  const { restore } = await get('restore/restore.ts')
  const { takeHome } = await get('move/move.ts')

  const called =
    (action: (call: Call, messages: object, print: (text: string) => void) => Promise<void>): Body =>
    async (call) => {
      const { told } = call
      let printed = ''
      const messages = {
        warn: (text: string) => told.push(`warning: ${text}`),
        tell: (level: number, text: string) => level === 0 && told.push(text),
      }
      const print = (text: string) => {
        printed += text
      }
      let how = { code: 0, error: '', hint: '' }
      try {
        await action(call, messages, print)
      } catch (thrown) {
        const error = thrown as Loaded
        const advice = error?.name === 'Failure' ? adviceOn(error) : undefined
        how = advice
          ? { code: exitCode(advice.outcome), error: advice.message, hint: advice.hint }
          : { code: 1, error: String(error?.stack ?? error), hint: '' }
      }
      return { ...how, told, printed }
    }

  return {
    next: ({ count = 1, iccid, devices, directory = LOT, isNew = false }: Wish) =>
      called((call, messages) =>
        handOut({
          ...{ keyPath: 'key.pem', passphrase: undefined, lowStock: undefined },
          ...{ directory, count, iccid, devices, isNew, messages },
          receipt: `${RECEIPTS}/${call.id}`,
          format: 'raw',
          options: { smsp: false, smsc: true, crc: true },
          listen: () => ({
            stop: stopSignal(),
            hold() {
              call.isHeld = true
            },
          }),
        }),
      ),
    /** What `fetch` does when an answer has arrived. */
    store: (profiles: readonly StoredProfile[], isReserveGone = false) =>
      called(async (_call, messages) => {
        const target = await openTarget(LOT)
        try {
          await finishFetches(LOT, messages)
          const intake = new Intake(target, messages)
          const answer = await intake.reserve(profiles.length)
          if (isReserveGone) intake.release(answer)
          await intake.keep(profiles, answer)
        } finally {
          try {
            leaveFreeList(LOT, messages)
          } finally {
            closeTarget(target)
          }
        }
      }),
    recover: () => called((_call, messages) => finishFetches(LOT, messages)),
    move: ({ count = 1, source = LOT, target = STICK, isBack = false }: Order) =>
      called(({ id }, messages) => {
        if (isBack) return takeHome({ source, target, messages })
        const receipt = `${RECEIPTS}/${id}`
        return moveProfiles({ source, target, count, receipt, stop: stopSignal(), messages, progress })
      }),
    restore: () =>
      called((_call, messages) => restore({ directory: LOT, files: [EARLIER], messages, progress })),
    status: (directory = LOT) =>
      called((_call, messages, print) =>
        showStatus({
          ...{ directory, directories: [directory], count: 0, devices: false, format: 'json' },
          ...{ keyPath: undefined, passphrase: undefined, messages, progress, print },
        }),
      ),
    /** As the end of `fetch` does. */
    hint: () => called(async (_call, messages) => leaveFreeList(LOT, messages)),
  }
}
