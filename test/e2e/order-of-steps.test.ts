/** In which order the executable makes its steps, as the system sees them: what must not be lost is flushed before. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type RunOptions, type Started, start } from '../../scripts/torture/program.ts'
import { Random } from '../../scripts/torture/random.ts'
import { look } from '../../scripts/torture/sight.ts'
import { openWorks, type Works } from '../../scripts/torture/works.ts'
import { identityOf, newTag, noteTarget, putOrder, tagFor } from '../../src/store/directory.ts'
import { type Call, readCalls, traced, whyNoTrace } from '../support/trace.ts'

const reason = whyNoTrace()

describe.skipIf(reason !== undefined)(`order of steps${reason ? ` (skipped: ${reason})` : ''}`, () => {
  let works: Works
  beforeAll(async () => {
    works = await openWorks(new Random(1), inject('disk'))
  })
  afterAll(() => works.close())

  /** With one thread that flushes, the order is the same in every run. Places have names in the steps. */
  async function stepsOf(places: Record<string, string>, start: (how: RunOptions) => Started) {
    const log = join(works.newPath(), '../trace')
    const { code, stderr } = await start({ under: traced(log), env: { UV_THREADPOOL_SIZE: '1' } }).ended
    expect(code, stderr).toBe(0)
    return readCalls(readFileSync(log, 'utf8')).flatMap((call) => stepOf(call, places) ?? [])
  }

  /** So many unused profiles. */
  async function stocked(count: number): Promise<string> {
    const directory = works.newPath()
    const { code, stderr } = await works.fetch(directory, count)
    expect(code, stderr).toBe(0)
    return directory
  }

  test('next: held, flushed, decided, used, flushed, receipt, and then a single write', async () => {
    const D = await stocked(40)
    const R = join(D, '../receipts')
    mkdirSync(R)
    const last = [...look(D).unused].sort().at(-1) ?? ''
    // More than are flushed at once.
    for (const [count, ...options] of [
      [33, '-n', '33'],
      [1, '--iccid', last],
    ] as const) {
      const line = works.nextLine(D, ...options, '--receipt', join(R, 'r'))
      const steps = await stepsOf({ D, R }, (how) => start(line, how))
      const each = (step: string) => Array.from({ length: count }, () => step)
      expect(steps.slice(steps.indexOf('rename D/X D/.X~TAG')), options.join(' ')).toEqual([
        ...each('rename D/X D/.X~TAG'),
        ...each('flush D/.~TAG'),
        ...each('rename D/.~TAG D/.!TAG'),
        ...each('rename D/.!TAG D/__X'),
        'flush D',
        'flush R/r',
        'print',
        ...each('unlink D/.X~TAG'),
      ])
    }
    // Looks are fresh after a step. What is printed again is flushed again: whoever claimed it may have been killed before.
    // An empty file may be that of a call that was killed before its name was flushed.
    writeFileSync(join(R, 'empty'), '')
    for (const name of ['new', 'empty']) {
      const again = works.nextLine(D, '--iccid', last, '--receipt', join(R, name))
      expect(await stepsOf({ D, R }, (how) => start(again, how)), name).toEqual([
        'flush R',
        'unlink D/.~TAG',
        'flush D',
        'flush D/__X',
        `flush R/${name}`,
        'print',
      ])
    }
  })

  test('next --device: the record is on the disk before the profile is used', async () => {
    const D = await stocked(2)
    const line = works.nextLine(D, '--device', 'SN-1')
    const steps = await stepsOf({ D }, (how) => start(line, how))
    // In any order: they are flushed at once.
    expect(new Set(steps.splice(1, 3))).toEqual(
      new Set(['flush D/.~TAG', 'flush D/.devices/~TAG/ICCID', 'flush D/.devices/~TAG']),
    )
    expect(steps).toEqual([
      'rename D/X D/.X~TAG',
      'rename D/.~TAG D/.!TAG',
      'flush D',
      'rename D/.devices/~TAG D/.devices/HASH',
      'flush D/.devices',
      'rename D/.!TAG D/__X',
      'flush D',
      'print',
      'unlink D/.X~TAG',
    ])
  })

  test('next: what a killed call has decided is used and flushed before its sign goes', async () => {
    const D = await stocked(1)
    const [iccid = ''] = look(D).unused
    const tag = newTag()
    const stored = JSON.parse(readFileSync(join(D, `${iccid}.json`), 'utf8'))
    renameSync(join(D, `${iccid}.json`), join(D, `.${iccid}.json~${tag}`))
    writeFileSync(join(D, `.!${tag}`), JSON.stringify({ ...stored, device: 'SN-1', claim: tag }))
    const steps = await stepsOf({ D }, (how) => start(works.nextLine(D, '--device', 'SN-1'), how))
    expect(steps.slice(steps.indexOf('rename D/.!TAG D/__X'))).toEqual([
      'rename D/.!TAG D/__X',
      'flush D',
      'unlink D/.X~TAG',
      'flush D',
      'flush D/__X',
      'print',
    ])
  })

  test('station: a result is in the receipt, and then beside the record, on the disk', async () => {
    const D = await stocked(1)
    const R = join(D, '../receipts')
    mkdirSync(R)
    const key = join(works.root, 'softsim.pem')
    const line = ['station', '-k', key, '-i', D, '--receipt', join(R, 'r'), '--program', '/bin/true']
    const steps = await stepsOf({ D, R }, (how) =>
      start(line, { ...how, under: [...(how.under ?? []), '/bin/sh', '-c', 'echo SN-1 | "$0" "$@"'] }),
    )
    expect(steps.slice(steps.indexOf('unlink D/.X~TAG') + 1)).toEqual([
      'flush R/r',
      'flush D/.devices/HASH/RESULT',
      'flush D/.devices/HASH',
    ])
  })

  test('fetch: the request is noted before it is sent; the answer is flushed before a profile gets its name', async () => {
    const D = await stocked(1)
    const steps = await stepsOf({ D }, (how) => works.startFetch(D, 6, how))
    expect(runs(steps.slice(steps.indexOf('flush D/.incoming/~TAG/request')))).toEqual([
      'flush D/.incoming/~TAG/request',
      'flush D/.incoming/~TAG',
      'flush D/.incoming',
      'flush D',
      'flush D/.incoming/~TAG/answer',
      'flush D/.incoming/~TAG',
      'rename D/.incoming/~TAG D/.incoming/TAG',
      'flush D/.incoming',
      'flush D',
      'flush D/.TAG@TAG~X',
      'flush D',
      'flush D/.incoming/TAG/~TAG/list',
      'flush D/.incoming/TAG/~TAG',
      'rename D/.incoming/TAG/~TAG D/.incoming/TAG/given',
      'flush D/.incoming',
      'flush D/.incoming/TAG',
      'flush D/.incoming/TAG/given/list',
      'rename D/.TAG@TAG~X D/X',
      'flush D',
      'rename D/.incoming/TAG D/.incoming/-TAG',
      'flush D/.incoming',
      'unlink D/.incoming/-TAG/answer',
      'unlink D/.incoming/-TAG/request',
      'unlink D/.incoming/-TAG/given/list',
    ])
  })

  test('move: the source is flushed before the target gets anything, and the target before the source forgets', async () => {
    const [S, T] = [await stocked(3), await stocked(1)]
    const line = ['move', '-n', '3', '-i', S, '-o', T]
    const steps = await stepsOf({ S, T }, (how) => start(line, how))
    // An order that outlasts the identity of its source would be nobody's.
    expect(runs(steps.slice(steps.indexOf('flush T/.incoming/~ID/order') - 2))).toEqual([
      'flush S',
      'flush T',
      'flush T/.incoming/~ID/order',
      'flush T/.incoming/~ID',
      'rename T/.incoming/~ID T/.incoming/ID',
      'flush T/.incoming',
      'flush T',
      'flush S/.outgoing/ID',
      'flush S/.outgoing',
      'rename S/X S/.X~ID+TAG',
      'flush S',
      'flush T/.ID@TAG~X',
      'flush T',
      'flush T/.incoming/ID/~TAG/list',
      'flush T/.incoming/ID/~TAG',
      'rename T/.incoming/ID/~TAG T/.incoming/ID/given',
      'flush T/.incoming',
      'flush T/.incoming/ID',
      'flush T/.incoming/ID/order',
      'flush T/.incoming/ID/given/list',
      'rename T/.ID@TAG~X T/X',
      'flush T',
      'unlink S/.X~ID+TAG',
      'flush S',
      'rename T/.incoming/ID T/.incoming/-ID',
      'flush T/.incoming',
      'unlink T/.incoming/-ID/order',
      'unlink T/.incoming/-ID/given/list',
      'unlink S/.outgoing/ID',
    ])
  })

  test('move: the note of a killed call is flushed by whoever goes on, before anything is held', async () => {
    const [S, T] = [await stocked(1), await stocked(1)]
    const id = `${identityOf(T)}.${newTag()}`
    const names = [...look(S).unused].map((iccid) => `${iccid}.json`)
    await putOrder(T, { id, source: identityOf(S), from: S, names })
    noteTarget(S, { id, to: T })
    const steps = await stepsOf({ S, T }, (how) => start(['move', '-n', '1', '-i', S, '-o', T], how))
    expect(steps.slice(0, steps.indexOf('rename S/X S/.X~ID+TAG')).slice(-2)).toEqual([
      'flush S/.outgoing/ID',
      'flush S/.outgoing',
    ])
  })

  test('move --lost: that it was given up is on the disk before anything is unused again', async () => {
    const S = await stocked(1)
    const [iccid = ''] = look(S).unused
    const [id, T] = [`${newTag()}.${newTag()}`, join(S, '../lost')]
    noteTarget(S, { id, to: T })
    renameSync(join(S, `${iccid}.json`), join(S, `.${iccid}.json~${tagFor(id)}`))
    const steps = await stepsOf({ S }, (how) => start(['move', '--lost', '-i', S, '-o', T], how))
    expect(steps).toEqual([
      'rename S/.outgoing/ID S/.outgoing/-ID',
      'flush S/.outgoing',
      'flush S',
      'rename S/.X~ID+TAG S/X',
      'flush S',
    ])
  })

  test('restore: aside, used, the results, the new identity, and each is on the disk before the next one', async () => {
    const D = await stocked(1)
    const receipts = join(D, '../receipts.jsonl')
    const [iccid] = look(D).unused
    const by = { time: '2026-03-01T06:00:00.000Z', station: 'A', directory: D }
    const said = { ...by, iccid, device: 'SN-1', result: 'pass' }
    writeFileSync(receipts, `${JSON.stringify(said)}\n`)
    const line = ['restore', '-i', D, '--receipts', receipts]
    const steps = await stepsOf({ D }, (how) => start(line, how))
    const [from, to] = [steps.indexOf('rename D/X D/X.aside'), steps.lastIndexOf('flush D/.identity/~TAG')]
    const made = steps.slice(from, to)
    expect(made.slice(0, 7)).toEqual([
      'rename D/X D/X.aside',
      'flush D/.~TAG',
      'rename D/.~TAG D/__X',
      'flush D',
      'unlink D/X.aside',
      'flush D/.devices/HASH/RESULT',
      'flush D/.devices/HASH',
    ])
    // What a backup has brought, in threads.
    const devices = ['ICCID', 'RESULT'].map((name) => `flush D/.devices/HASH/${name}`)
    expect(made.slice(7, 10).sort()).toEqual([...devices, 'flush D/__X'].sort())
    expect(made.slice(10).sort()).toEqual(['flush D', 'flush D/.devices', 'flush D/.devices/HASH'])
    expect(steps.slice(to)).toEqual([
      'flush D/.identity/~TAG',
      'rename D/.identity/~TAG D/.identity/TAG',
      'flush D/.identity',
      'unlink D/.identity/TAG',
      'flush D/.identity',
      'print',
    ])
  })
})

/** The same in a row only once. */
const runs = (steps: readonly string[]) => steps.filter((step, at) => step !== steps[at - 1])

/** What a call means for what is durable; undefined for all that makes no difference. */
function stepOf({ name, args, result }: Call, places: Record<string, string>): string | undefined {
  if (name === 'write') return args.startsWith('1<') ? 'print' : undefined
  if (result !== 0) return undefined
  const paths = [...args.matchAll(/[<"](\/.*?)[>"]/g)].map(([, path = '']) => named(path, places))
  // Above the directory itself, fetch flushes its name.
  if (paths.some((path) => path.startsWith('/'))) return undefined
  if (/^f(data)?sync$/.test(name)) return `flush ${paths[0]}`
  if (name.startsWith('rename')) return `rename ${paths.join(' ')}`
  return name.startsWith('unlink') ? `unlink ${paths[0]}` : undefined
}

const named = (path: string, places: Record<string, string>) =>
  Object.entries(places)
    .reduce(
      (text, [name, place]) => (`${text}/`.startsWith(`${place}/`) ? name + text.slice(place.length) : text),
      path,
    )
    .replace(/[0-9a-f]{64}/g, 'HASH')
    .replace(/\d{20}\.json/g, 'X')
    .replace(/[0-9a-f]{20}\.[0-9a-f]{20}/g, 'ID')
    .replace(/(?<=\/)8988\d{16}$/g, 'ICCID')
    .replace(/[0-9a-f]{20}/g, 'TAG')
    .replace(/(?<=\/)r\d+-TAG$/, 'RESULT')
