/** The program's own entry points, and what stands for some of its modules. Nothing else of these tests knows them. */
import { type Body, type Call, execution, isPause, isStopped, type Result, step } from './engine.ts'
import { load } from './hooks.ts'
import type { Kind } from './kinds.ts'
import { fieldsOf, LOT, RECEIPTS, textOf } from './names.ts'

// biome-ignore lint/suspicious/noExplicitAny: the modules may come from another version of the program
type Loaded = any

/** The ciphertext of a test profile is its plaintext. */
const decryptor = async () => async (ciphertext: Buffer) => ciphertext

/** A file of receipts: each append is one step. */
const openReceipt = (path: string) => ({
  append(receipts: readonly object[]): void {
    step('receipt', path, true, ({ world: { disk } }) => {
      const lines = receipts.map((each) => `${JSON.stringify(each)}\n`).join('')
      disk.put(path, textOf(disk, path) + lines)
      disk.flush(disk.open(RECEIPTS, 'r'))
    })
  },
})

function readReceipts(paths: readonly string[]): object[] {
  const { disk } = execution()?.world ?? {}
  return paths.flatMap((path) =>
    (disk === undefined ? '' : textOf(disk, path))
      .split('\n')
      .flatMap((line, at) => (line === '' ? [] : { ...fieldsOf(line), source: `${path}:${at + 1}` })),
  )
}

/** By their paths below `src`. */
export const OWN: Record<string, Record<string, unknown>> = {
  'key/private-key.ts': { readKey: () => ({}), decryptor, LOCKED: 5, wrongKey: () => new Error('wrong key') },
  'store/receipts.ts': { openReceipt, readReceipts },
}

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

/** What `move` is asked for. */
export interface Move {
  readonly count: number
  readonly source: string
  readonly target: string
}

/** The calls that a schedule can have. */
export type Program = Awaited<ReturnType<typeof loadProgram>>

/** It is aborted from some step on, also when the call is run again from its beginning. */
function stopSignal(): AbortSignal {
  const { signal } = new AbortController()
  return Object.defineProperty(signal, 'aborted', { get: isStopped })
}

/** @param source the URL of the directory of the source, with a slash at its end */
export async function loadProgram(source: string, { platform, name }: Kind) {
  const get = (path: string): Promise<Loaded> => load(new URL(path, source).href, platform, name)
  const { handOut } = await get('next/next.ts')
  const { diskFailure } = await get('failure.ts')
  const store = await get('store/directory.ts')
  const { identityOf, receive, release, request } = store
  const { moveProfiles } = await get('move/move.ts')
  const { restore } = await get('restore/restore.ts')

  const called =
    (action: (call: Call, messages: object) => Promise<unknown>): Body =>
    async (call) => {
      await null
      const { told } = call
      const messages = {
        warn: (text: string) => told.push(text),
        tell: (level: number, text: string) => level === 0 && told.push(text),
      }
      try {
        await action(call, messages)
        return { outcome: 'done', error: '', hint: '', told }
      } catch (thrown) {
        const error = thrown as Loaded
        if (error?.name !== 'Failure') return { outcome: 'bug', error: String(error?.stack), hint: '', told }
        return { outcome: error.outcome, error: error.message, hint: error.hint, told }
      }
    }

  interface Printed {
    readonly iccid: string
    readonly device?: string
    readonly isAgain: boolean
  }

  const print = (call: Call) => async (all: readonly Printed[]) => {
    step('print', '', true, ({ world }) => {
      for (const { iccid, device, isAgain } of all)
        world.prints.push({ call: call.id, iccid, device, isAgain })
    })
  }

  const progress = { follow() {}, end() {} }

  return {
    next: ({ count, iccid, devices, directory = LOT, isNew = false }: Wish) =>
      called((call, messages) =>
        handOut(
          {
            ...{ directory, iccid, devices, isNew, messages, key: {}, format: 'raw' },
            count: count ?? devices?.length ?? 1,
            options: { smsp: false, smsc: true, crc: true },
            receipt: `${RECEIPTS}/${call.id}`,
            stop: stopSignal(),
            hold() {
              call.isHeld = true
            },
          },
          print(call),
        ),
      ),
    /** What `fetch` does when it asks the service, and when its answer arrives. */
    store: (profiles: readonly StoredProfile[]) =>
      called(async () => {
        const noted = request(LOT, profiles.length)
        try {
          step('service', '', true, () => {})
        } catch (error) {
          if (!isPause(error)) release(LOT, noted)
          throw isPause(error)
            ? error
            : Object.assign(new Error('service'), { name: 'Failure', outcome: 'service' })
        }
        // As long as it is not put aside, `fetch` tries again: it is paid for.
        for (let tries = 3; ; tries--)
          try {
            return await receive(LOT, noted, profiles)
          } catch (error) {
            if (isPause(error) || (error as Loaded)?.isPutAside !== false || tries === 0) throw error
            step('sleep 5000 ms', '', true, ({ world }) => {
              world.now += 5000
            })
          }
      }),
    /** @param how the options */
    move: ({ count, source, target }: Move, how: { isBack?: boolean; isLost?: boolean } = {}) =>
      called(({ id }, messages) =>
        moveProfiles({
          ...{ isBack: false, isLost: false, ...how, source, target, count },
          ...{ receipt: `${RECEIPTS}/${id}`, stop: stopSignal(), messages, progress },
        }),
      ),
    restore: (files: readonly string[], directory = LOT) =>
      called((_, messages) =>
        restore({ directory, files, isDry: false, messages, progress, print: async () => {} }),
      ),
    /** What the first call in a directory does. */
    identify: (directories: readonly string[]) =>
      called(async () => {
        for (const each of directories) identityOf(each)
      }),
    /** What a station does that is short of profiles, and at its end. */
    settle: (directories: readonly string[]) =>
      called(async (_, messages) => {
        try {
          for (const each of directories) {
            await store.finishAnswers(each, messages)
            await store.settle(each, messages)
            store.removeRubbish(each, store.look(each), messages)
          }
        } catch (error) {
          throw diskFailure("can't settle", error)
        }
      }),
  }
}

export type { Body, Result }
