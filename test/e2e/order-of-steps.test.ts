/** In which order the executable makes its steps, as the system sees them: what must not be lost is flushed before. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Started, start } from '../../scripts/torture/program.ts'
import { Random } from '../../scripts/torture/random.ts'
import { look } from '../../scripts/torture/sight.ts'
import { openWorks, type Works } from '../../scripts/torture/works.ts'
import { type Call, readCalls, traced, whyNoTrace } from '../support/trace.ts'

const reason = whyNoTrace()

describe.skipIf(reason !== undefined)(`order of steps${reason ? ` (skipped: ${reason})` : ''}`, () => {
  let works: Works

  beforeAll(async () => {
    works = await openWorks(new Random(1))
  })
  afterAll(() => works.close())

  /** With one thread that flushes, the order is the same in every run. */
  async function stepsOf(directory: string, start: (under: object) => Started) {
    const log = join(works.newPath(), '../trace')
    const { code } = await start({ under: traced(log), env: { UV_THREADPOOL_SIZE: '1' } }).ended
    expect(code).toBe(0)
    return readCalls(readFileSync(log, 'utf8')).flatMap((call) => stepOf(call, directory) ?? [])
  }

  test('next: first the claim, then the flush, and then a single write to standard output', async () => {
    const directory = works.newPath()
    await works.fetch(directory, 20)
    const iccid = [...look(directory).unused].sort().at(-1) ?? ''
    for (const [count, ...options] of [[1], [1], [5, '-n', '5'], [1, '--iccid', iccid]] as const) {
      const line = works.nextLine(directory, ...options)
      const steps = await stepsOf(directory, (how) => start(line, how))
      const each = (...steps: string[]) => Array.from({ length: count }, () => steps).flat()
      expect(steps.slice(steps.indexOf('flush a claim')), options.join(' ')).toEqual([
        ...each('flush a claim'),
        ...each('decide', 'remove the unused file', 'put the used file in its place'),
        'flush the directory',
        'print',
      ])
    }
    const receipts = join(directory, '../receipts')
    mkdirSync(receipts)
    const again = works.nextLine(directory, '--iccid', iccid, '--receipt', join(receipts, 'new.jsonl'))
    expect(await stepsOf(directory, (how) => start(again, how))).toEqual([
      'flush the name of the receipt',
      'flush a used file',
      'flush the directory',
      'flush the receipt',
      'print',
    ])
  })

  test('fetch: the whole response is saved and flushed before any profile gets its name', async () => {
    const [directory, before] = [works.newPath(), works.service.delivered.size]
    const steps = await stepsOf(directory, (how) => works.startFetch(directory, 6, how))
    const iccids = works.deliveredSince(before)
    expect(runs(steps)).toEqual([
      'flush the directory',
      'keep room',
      'flush what was put aside',
      'put aside',
      'flush what was put aside',
      'flush the names of what was put aside',
      'flush a profile',
      'publish',
      'flush the directory',
      'remove what was put aside',
      'flush the names of what was put aside',
    ])
    expect([...look(directory).unused].sort()).toEqual(iccids.sort())
  })

  test('fetch of many: all are flushed before any gets its name', async () => {
    const directory = works.newPath()
    await works.fetch(directory, 8)
    const steps = await stepsOf(directory, (how) => works.startFetch(directory, 80, how))
    const flush = steps.includes('flush all') ? 'flush all' : 'flush a profile'
    expect(steps.filter((step) => step === 'publish')).toHaveLength(80)
    expect(runs(steps).slice(-5)).toEqual([
      flush,
      'publish',
      'flush the directory',
      'remove what was put aside',
      'flush the names of what was put aside',
    ])
  })

  test('restore: that the directory is itself is on the disk before anybody is told', async () => {
    const directory = works.newPath()
    await works.fetch(directory, 1)
    const line = ['restore', '-i', directory, '--without-receipts']
    const steps = await stepsOf(directory, (how) => start(line, how))
    expect(steps.slice(steps.indexOf('say who it is'))).toEqual(['say who it is', 'flush the directory'])
  })

  test('two fetches at once: the first to end does not remove what the other needs', async () => {
    const directory = works.newPath()
    await works.fetch(directory, 1)
    const delivered = works.service.delivered.size
    // The first one of each thread, in microseconds.
    const injection = ['-e', 'inject=fsync:delay_enter=1000000:when=1']
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
})

/** The same in a row only once. */
const runs = (steps: readonly string[]) => steps.filter((step, at) => step !== steps[at - 1])

/** What a call means for what is durable; undefined for all that makes no difference. */
function stepOf({ name, args }: Call, directory: string): string | undefined {
  const isFlush = /^f(data)?sync$/.test(name)
  if (isFlush && args.includes(`<${directory}>`)) return 'flush the directory'
  if (isFlush && args.includes('/.incoming>')) return 'flush the names of what was put aside'
  if (isFlush && args.includes('.answer/answer>')) return 'flush what was put aside'
  if (isFlush && args.includes('.answer>')) return 'flush the names of what was put aside'
  if (isFlush && args.includes('/.incoming/')) return 'flush a profile'
  if (name === 'openat' && args.includes('.answer/answer"'))
    return args.includes('O_CREAT') ? 'keep room' : 'put aside'
  if (name === 'syncfs') return 'flush all'
  if (/^rename/.test(name) && args.includes('/.identity"')) return 'say who it is'
  if (/^rename/.test(name) && /\/\d+\.json"\)?$/.test(args.trim())) return 'publish'
  if (/^unlink/.test(name) && args.includes('.answer/answer"')) return 'remove what was put aside'
  if (name === 'openat' && args.includes('/__') && args.includes('O_EXCL')) return 'create the used name'
  if (isFlush && args.includes('/.claims/~')) return 'flush a claim'
  if (/^rename/.test(name) && /\.claims\/\d+"\)?$/.test(args.trim())) return 'decide'
  if (/^unlink/.test(name) && /\/\d+\.json"/.test(args)) return 'remove the unused file'
  if (/^rename/.test(name) && args.includes('/__')) return 'put the used file in its place'
  if (isFlush && args.includes('/__')) return 'flush a used file'
  if (isFlush && args.includes('/receipts>')) return 'flush the name of the receipt'
  if (isFlush && args.includes('/receipts/')) return 'flush the receipt'
  if (name === 'write' && args.startsWith('1<')) return 'print'
  return undefined
}
