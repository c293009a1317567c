import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { killAt, play, pointsOf } from '../../scripts/torture/kill.ts'
import { killMoveAt, plain } from '../../scripts/torture/move/kill.ts'
import { pairOf, pointsOfMove } from '../../scripts/torture/move/pair.ts'
import { Random } from '../../scripts/torture/random.ts'
import { makeScenes, type Scene } from '../../scripts/torture/scenes.ts'
import { look } from '../../scripts/torture/sight.ts'
import { Tally } from '../../scripts/torture/tally.ts'
import { type Call, type Point, traced, whyNoTrace } from '../../scripts/torture/trace.ts'
import { Works } from '../../scripts/torture/works.ts'

/**
 * `npm run torture` kills at every call of every scene; here it is those that change what the next call finds. Before a
 * flush, it finds what it finds before the change that follows.
 */
const CHANGES = /^(rename|link|unlink|mkdir|rmdir|pwrite)/

const reason = whyNoTrace()

describe.skipIf(reason !== undefined)(
  `killed in a system call${reason ? ` (skipped: ${reason})` : ''}`,
  () => {
    let works: Works
    let scenes: Scene[]

    beforeAll(async () => {
      works = await Works.open(new Random(1), inject('keys'), inject('root'))
      scenes = await makeScenes(works)
    })
    afterAll(() => works.close())

    const scene = (name: string): Scene => {
      const found = scenes.find((each) => each.name === name)
      if (found === undefined) throw new Error(`there is no scene ${name}`)
      return found
    }

    async function killed(name: string, isChosen: (point: Point, at: number) => boolean): Promise<Tally> {
      const tally = new Tally()
      const all = await pointsOf(works, scene(name))
      const chosen = all.filter(({ matters }) => matters).filter(isChosen)
      expect(chosen).not.toEqual([])
      for (const point of chosen) await killAt(works, scene(name), point, tally)
      expect(tally.of('kills')).toBeGreaterThan(0)
      return tally
    }

    const isChange = ({ syscall }: Point) => CHANGES.test(syscall)

    test.each(['next', 'next with a hint', 'next -n 5', 'next --iccid, unused', 'next --iccid, used'])(
      '%s: every printed profile is marked used, and none is printed twice',
      async (name) => {
        await killed(
          name,
          ({ syscall }) => isChange({ syscall, when: 1, matters: true }) || syscall === 'write',
        )
      },
    )

    test('fetch: after the next call, every saved profile exists once', async () => {
      await killed('fetch, no directory yet', (point, at) => isChange(point) && at % 2 === 0)
    })

    test('fetch of two responses: a kill during one does not lose the other', async () => {
      await killed(
        'fetch, two answers',
        ({ syscall, when }) => isChange({ syscall, when, matters: true }) && when % 3 === 1,
      )
    })

    test.each(['next after a killed fetch', 'fetch after a killed fetch'])(
      '%s: the recovery can be killed too',
      async (name) => {
        await killed(name, (point, at) => isChange(point) && at % 2 === 0)
      },
    )

    test('two fetches at once: the first to end does not remove what the other needs', async () => {
      const directory = works.newPath()
      await works.fetch(directory, 1)
      const delivered = works.service.delivered.size
      const injection = { syscall: 'fsync', when: 1, effect: 'delay_enter=1000000' } as const
      const slow = works.startFetch(directory, 3, { under: traced('/dev/null', injection) })
      const incoming = join(directory, '.incoming')
      while (!existsSync(incoming)) await sleep(5)
      expect(await works.fetch(directory, 2)).toMatchObject({ code: 0 })
      expect(await slow.ended).toMatchObject({ code: 0 })
      const iccids = works.deliveredSince(delivered)
      expect(iccids).toHaveLength(5)
      const { unused } = look(directory)
      expect(iccids.filter((iccid) => !unused.has(iccid))).toEqual([])
    })

    test('next: first the claim, then the flush, and then a single write to standard output', async () => {
      for (const name of ['next', 'next with a hint', 'next -n 5', 'next --iccid, unused']) {
        const { calls, directory, run } = await play(works, scene(name))
        expect(run).toMatchObject({ code: 0 })
        const steps = calls.flatMap((call) => stepOf(call, directory) ?? [])
        const each = (...steps: string[]) => Array.from({ length: scene(name).takes }, () => steps).flat()
        const claims = each('remove the unused file', 'put the used file in its place')
        expect(steps.slice(steps.indexOf('flush a claim')), name).toEqual([
          ...each('flush a claim'),
          ...each('decide'),
          ...claims,
          'flush the directory',
          'print',
        ])
      }
    })

    test('fetch: the whole response is saved and flushed before any profile gets its name', async () => {
      const { calls, directory, answers, run } = await play(works, scene('fetch, no directory yet'))
      expect(run).toMatchObject({ code: 0 })
      const [iccids = []] = answers
      const steps = calls.flatMap((call) => stepOf(call, directory) ?? [])
      expect(runs(steps)).toEqual([
        'flush the directory',
        'keep room',
        'flush the room',
        'put aside',
        'flush the names of what was put aside',
        'flush what was put aside',
        'flush the names of what was put aside',
        'flush a profile',
        'publish',
        'flush the directory',
        'remove what was put aside',
        'flush the names of what was put aside',
        'flush the directory',
      ])
      expect([...look(directory).unused].sort()).toEqual([...iccids].sort())
      expect(readFileSync(join(dirname(directory), 'trace'), 'utf8')).not.toContain('(INJECTED')
    })

    test('fetch of many: all are flushed before any gets its name', async () => {
      const { calls, directory, answers, run } = await play(
        works,
        scene('fetch, enough for one flush of all'),
      )
      expect(run).toMatchObject({ code: 0 })
      const steps = calls.flatMap((call) => stepOf(call, directory) ?? [])
      const flush = steps.includes('flush all') ? 'flush all' : 'flush a profile'
      expect(steps.filter((step) => step === 'publish')).toHaveLength(answers[0]?.length ?? 0)
      expect(runs(steps).slice(-6)).toEqual([
        flush,
        'publish',
        'flush the directory',
        'remove what was put aside',
        'flush the names of what was put aside',
        'flush the directory',
      ])
    })

    test('a move, at any step: again, it finishes, and nothing is in both directories or lost', async () => {
      const template = works.newPath()
      await works.fetch(template, 8)
      const newPair = () => pairOf(works, template)
      const tally = new Tally()
      const changes = /^(rename|link|unlink|mkdir|rmdir)/
      const all = (await pointsOfMove(works, newPair())).filter(
        ({ matters, syscall }) => matters && changes.test(syscall),
      )
      for (const point of works.random.shuffled(all).slice(0, 10))
        await killMoveAt(works, tally, newPair(), plain(point))
      expect(tally.of('kills of a move on this disk')).toBeGreaterThan(5)
    })
  },
)

/** The same in a row only once. */
const runs = (steps: readonly string[]) => steps.filter((step, at) => step !== steps[at - 1])

/** What a call means for what is durable; undefined for all that makes no difference. */
function stepOf({ name, args }: Call, directory: string): string | undefined {
  const isFlush = /^f(data)?sync$/.test(name)
  if (isFlush && args.includes(`<${directory}>`)) return 'flush the directory'
  if (isFlush && args.includes('/.incoming>')) return 'flush the names of what was put aside'
  if (isFlush && args.includes('.reserve>')) return 'flush the room'
  if (isFlush && args.includes('.answer/answer>')) return 'flush what was put aside'
  if (isFlush && args.includes('.answer>')) return 'flush the names of what was put aside'
  if (isFlush && args.includes('/.incoming/')) return 'flush a profile'
  if (name === 'openat' && args.includes('.reserve"') && args.includes('O_CREAT')) return 'keep room'
  if (/^rename/.test(name) && /\.answer(\/answer)?"/.test(args)) return 'put aside'
  if (name === 'syncfs') return 'flush all'
  if (/^rename/.test(name) && /\/\d+\.json"\)?$/.test(args.trim())) return 'publish'
  if (/^unlink/.test(name) && args.includes('.answer/answer"')) return 'remove what was put aside'
  if (name === 'openat' && args.includes('/__') && args.includes('O_EXCL')) return 'create the used name'
  if (isFlush && args.includes('/.claims/~')) return 'flush a claim'
  if (/^rename/.test(name) && args.includes('/.claims/~')) return 'decide'
  if (/^unlink/.test(name) && /\/\d+\.json"/.test(args)) return 'remove the unused file'
  if (/^rename/.test(name) && args.includes('/__')) return 'put the used file in its place'
  if (isFlush && args.includes('/__')) return 'flush a used file'
  if (name === 'write' && args.startsWith('1<')) return 'print'
  return undefined
}
