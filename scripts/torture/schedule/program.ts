/** The program's own entry points. Nothing else of these tests knows its modules. */
import { type Call, isStopped, type Result } from './engine.ts'
import { load } from './hooks.ts'
import { EARLIER, LOT, RECEIPTS, STICK } from './names.ts'

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
  const { Intake } = await get('fetch/intake.ts')
  const { leaveFreeList } = await get('store/queue.ts')
  const { showStatus } = await get('status/status.ts')
  const { moveProfiles } = await get('move/move.ts')
  const { restore } = await get('restore/restore.ts')
  const { takeHome } = await get('move/take-home.ts')

  const called =
    (action: (call: Call, messages: object, print: (text: string) => void) => Promise<void>): Body =>
    async (call) => {
      const told: string[] = []
      call.told.push(told)
      let printed = ''
      const messages = {
        warn: (text: string) => told.push(`warning: ${text}`),
        tell: (level: number, text: string) => level === 0 && told.push(text),
      }
      const print = (text: string) => {
        printed += text
      }
      try {
        await action(call, messages, print)
        return { code: 0, error: '', hint: '', told, printed }
      } catch (thrown) {
        const error = thrown as Loaded
        if (error?.name === 'Failure') {
          const { outcome, message, hint } = adviceOn(error)
          return { code: exitCode(outcome), error: message, hint, told, printed }
        }
        return { code: 1, error: String(error?.stack ?? error), hint: '', told, printed }
      }
    }

  return {
    next: ({ count = 1, iccid, devices, directory = LOT, isNew = false }: Wish) =>
      called((call, messages) =>
        handOut({
          keyPath: 'key.pem',
          passphrase: undefined,
          directory,
          count,
          iccid,
          devices,
          isNew,
          receipt: `${RECEIPTS}/${call.id}`,
          format: 'raw',
          options: { smsp: false, smsc: true, crc: true },
          messages,
          lowStock: undefined,
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
        return moveProfiles({
          source,
          target,
          count,
          receipt: `${RECEIPTS}/${id}`,
          stop: stopSignal(),
          messages,
          progress: { follow() {} },
        })
      }),
    restore: () =>
      called((_call, messages) =>
        restore({ directory: LOT, files: [EARLIER], messages, progress: { follow() {} } }),
      ),
    status: (directory = LOT) =>
      called((_call, messages, print) =>
        showStatus({
          directory,
          directories: [directory],
          keyPath: undefined,
          passphrase: undefined,
          count: 0,
          devices: false,
          format: 'json',
          messages,
          progress: { follow() {} },
          print,
        }),
      ),
    /** As the end of `fetch` does. */
    hint: () => called(async (_call, messages) => leaveFreeList(LOT, messages)),
  }
}
