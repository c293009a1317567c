import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { restore } from '../../src/restore/restore.ts'
import {
  addResult,
  adoptUsed,
  identityOf,
  identityState,
  makeRecords,
  type Receipt,
  recordOf,
  records,
  resultsOf,
  stationName,
} from '../../src/store/directory.ts'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { tellsBirth } from '../support/system.ts'

const file = (n: number) => `${iccid(n)}.json`
const stored = (n: number, more = {}) => JSON.stringify({ iccid: iccid(n), profile: 'AAAA', ...more })
const used = (n: number, device?: string, claimed = '2026-03-01T05:00:00.000Z') =>
  stored(n, { station: 'line-1', claimed, ...(device && { device }), claim: 'x' })

const tagOf = (digit: string) => digit.repeat(20)
const TAG = tagOf('a')
const MOVE = `${tagOf('e')}.${tagOf('f')}`

/** Unused profiles with these numbers, and files. */
function directoryOf(numbers: readonly number[], files: Record<string, string> = {}, root?: 'disk'): string {
  const directory = join(temporaryDirectory(root), 'profiles')
  const unused = Object.fromEntries(numbers.map((n) => [file(n), stored(n)]))
  for (const [name, text] of Object.entries({ ...unused, ...files })) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  return directory
}

let minute = 0
const receipt = (n: number, device: string | null, more: Partial<Receipt> = {}): Receipt => ({
  ...{ time: new Date(Date.UTC(2026, 2, 1, 6, minute++)).toISOString(), station: 'line-1' },
  ...{ iccid: iccid(n), device, directory: '/srv/profiles', ...more },
})
const left = (n: number, directory: string) =>
  receipt(n, null, { to: '/media/stick', move: 'a.b', from: identityOf(directory) })

function fileOf(...receipts: Receipt[]): string {
  const path = join(temporaryDirectory(), 'r.jsonl')
  writeFileSync(path, receipts.map((each) => `${JSON.stringify(each)}\n`).join(''))
  return path
}

/** @returns what it printed and said, or the outcome of its failure last */
async function restored(directory: string, files: readonly string[], isDry = false): Promise<string[]> {
  const lines: string[] = []
  const say = (text: string) => lines.push(...text.trimEnd().split('\n'))
  const messages = { warn: say, tell: (level: number, text: string) => void (level === 0 && say(text)) }
  const print = async (text: string) => void say(text)
  try {
    await restore({ directory, files, isDry, messages, progress: { follow() {} }, print })
  } catch (error) {
    lines.push((error as { outcome: string }).outcome)
  }
  return lines.map((line) =>
    line.replaceAll(/\S+[/\\]/g, '').replaceAll(/8988\d{16}/g, (digits) => nameOf(digits)),
  )
}

const nameOf = (digits: string) => String(Number(digits.slice(4, -1)))

/** The names of profiles, short, and in which state. */
const shown = (directory: string) =>
  namesIn(directory).map((name) =>
    name.replace(/8988\d{16}/, (digits) => nameOf(digits)).replace('.json', ''),
  )

const textOf = (directory: string, n: number) =>
  JSON.parse(readFileSync(join(directory, `__${file(n)}`), 'utf8'))

/** All files but the identity, with what they say. */
const everything = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('.identity') && statSync(join(directory, name)).isFile())
    .map((name) => `${name} ${readFileSync(join(directory, name), 'utf8')}`)
    .sort()

const identity = (directory: string) => readdirSync(join(directory, '.identity'))

describe('what receipts name', () => {
  test('as handed out anywhere is used, with its device; as left from here, aside; all else stays', async () => {
    const directory = directoryOf([1, 2, 3, 4, 5, 6], { [`__${file(7)}`]: used(7, 'SN-7') })
    const other = directoryOf([])
    mkdirSync(other, { recursive: true })
    await makeRecords(directory, [{ device: 'SN-7', iccid: iccid(7) }])
    const receipts = [
      ...[receipt(1, 'SN-1'), receipt(7, 'SN-7'), receipt(2, null), left(3, directory), left(4, directory)],
      receipt(3, 'SN-3', { station: 'line-2', directory: '/media/stick', again: true }),
      receipt(5, null, { to: '/there', move: 'a.b', from: identityOf(other) }),
    ]
    const path = fileOf(...receipts)
    expect(await restored(directory, [path])).toEqual([
      'until this ends, no other call may use profiles',
      'used: SN-1 has 1: station line-1, r.jsonl:1',
      'used: nobody known has 2: station line-1, r.jsonl:3',
      'used: SN-3 has 3: station line-2, r.jsonl:6',
      'aside: 4 left for stick: station line-1, r.jsonl:5',
      '3 profiles marked used, as the receipts of line-1, line-2 say',
      '1 profile aside: if softsim status --iccid finds one in no other directory, remove .aside from its name',
      'profiles is restored: it can be used again',
    ])
    expect(shown(directory)).toEqual(['4.aside', '5', '6', '__1', '__2', '__3', '__7'])
    const [first] = receipts
    expect(textOf(directory, 1)).toMatchObject({ device: 'SN-1', station: 'line-1', claimed: first?.time })
    expect([textOf(directory, 2).device, textOf(directory, 3).device]).toEqual([undefined, 'SN-3'])
    const devices = ['SN-1', 'SN-3', 'SN-7'].map((each) => recordOf(directory, each)?.iccid)
    expect(devices).toEqual([iccid(1), iccid(3), iccid(7)])
  })

  test('a second time changes nothing; more receipts heal what fewer did', async () => {
    const directory = directoryOf([1, 2, 3, 4])
    const files = [
      fileOf(left(1, directory), left(2, directory)),
      fileOf(receipt(1, 'SN-1'), receipt(3, 'SN-3')),
    ]
    await restored(directory, files.slice(0, 1))
    expect(shown(directory)).toEqual(['1.aside', '2.aside', '3', '4'])
    await restored(directory, files)
    expect(shown(directory)).toEqual(['2.aside', '4', '__1', '__3'])
    expect(recordOf(directory, 'SN-1')?.iccid).toBe(iccid(1))
    const [before, id] = [everything(directory), identity(directory)]
    expect(await restored(directory, files)).toContain(
      '0 profiles marked used, as the receipts of line-1 say',
    )
    expect(everything(directory)).toEqual(before)
    expect(identity(directory)).not.toEqual(id)
    // It still knows its first identity.
    await restored(directory, [fileOf(left(4, directory))])
    expect(shown(directory)).toEqual(['2.aside', '4.aside', '__1', '__3'])
  })

  test('is shown, and nothing is changed, if somebody only wants to know', async () => {
    const held = { [`.${file(4)}~${TAG}`]: stored(4), [`.${file(5)}~${MOVE}+${tagOf('c')}`]: stored(5) }
    const directory = directoryOf([1, 2, 3], held)
    const receipts = [receipt(1, 'SN-1'), receipt(2, null), left(3, directory), receipt(9, 'SN-9')]
    const path = fileOf(...receipts, receipt(4, 'SN-4'))
    const before = [...everything(directory), ...identity(directory)]
    expect(await restored(directory, [path], true)).toEqual([
      'used: SN-1 has 1: station line-1, r.jsonl:1',
      'used: nobody known has 2: station line-1, r.jsonl:2',
      'used: SN-4 has 4: station line-1, r.jsonl:5',
      'aside: 3 left for stick: station line-1, r.jsonl:3',
      'aside: 5 was leaving for an unknown directory',
      '3 profiles would be marked used, as the receipts of line-1 say',
      '2 profiles aside: if softsim status --iccid finds one in no other directory, remove .aside from its name',
      'nothing was changed',
    ])
    expect([...everything(directory), ...identity(directory)]).toEqual(before)
  })

  test('is all that is shown: what a killed call holds becomes unused', async () => {
    const directory = directoryOf([1], { [`.${file(2)}~${TAG}`]: stored(2) })
    expect(await restored(directory, [fileOf(receipt(1, 'SN-1'))], true)).toEqual([
      'used: SN-1 has 1: station line-1, r.jsonl:1',
      '1 profile would be marked used, as the receipts of line-1 say',
      'nothing was changed',
    ])
  })

  test('as results comes back to the records of the devices, once', async () => {
    const directory = directoryOf([1, 2])
    const found = (device: string, result: 'pass' | 'fail') => receipt(1, device, { result, note: 'x' })
    const path = fileOf(found('SN-1', 'fail'), found('SN-1', 'pass'))
    for (const _ of [1, 2]) await restored(directory, [path, path])
    expect(resultsOf(directory, 'SN-1').map(({ result, note }) => [result, note])).toEqual([
      ['fail', 'x'],
      ['pass', 'x'],
    ])
    const other = directoryOf([1, 2])
    await makeRecords(other, [{ device: 'SN-1', iccid: iccid(2) }])
    addResult(other, 'SN-1', { result: 'pass', station: 's', time: '2026-03-01T06:00:00Z' })
    await restored(other, [path])
    expect(resultsOf(other, 'SN-1')).toHaveLength(1)
    // Of two stations that find out something at once, each has said it.
    const both = directoryOf([1])
    const time = '2026-03-01T06:00:00.000Z'
    const said = ['line-1', 'line-2'].map((station) => receipt(1, 'SN-1', { time, station, result: 'pass' }))
    await restored(both, [fileOf(...said)])
    expect(resultsOf(both, 'SN-1')).toHaveLength(2)
    // Of one station whose clock was set back meanwhile, also if the first one is known.
    const late = [8, 7, 6].map((hour) => `2026-03-01T0${hour}:00:00.000Z`)
    const own = (['pass', 'fail', 'pass'] as const).map((result, at) =>
      receipt(1, 'SN-1', { result, time: late[at] ?? '' }),
    )
    const back = directoryOf([1])
    for (const count of [1, 2, 3]) await restored(back, [fileOf(...own.slice(0, count))])
    expect(resultsOf(back, 'SN-1').map(({ time }) => time)).toEqual(late)
    // Of two stations in one file.
    const two = directoryOf([1])
    const later = ['pass', 'fail'].map((result, at) =>
      receipt(1, 'SN-1', { result: result as 'pass', station: `line-${2 - at}`, time: late[2 - at] ?? '' }),
    )
    await restored(two, [fileOf(...later.reverse())])
    expect(resultsOf(two, 'SN-1').map(({ result }) => result)).toEqual(['pass', 'fail'])
    // Of one millisecond.
    const twice = directoryOf([1])
    const once = (result: 'pass' | 'fail') => receipt(1, 'SN-1', { time, result })
    await restored(twice, [fileOf(once('pass'), once('fail'))])
    expect(resultsOf(twice, 'SN-1').map(({ result }) => result)).toEqual(['pass', 'fail'])
    // What the backup knows came later.
    const newer = directoryOf([1])
    await makeRecords(newer, [{ device: 'SN-1', iccid: iccid(1) }])
    addResult(newer, 'SN-1', { result: 'fail', station: 's', time: '2027-03-01T06:00:00Z' })
    await restored(newer, [path])
    expect(resultsOf(newer, 'SN-1').map(({ result }) => result)).toEqual(['fail', 'pass', 'fail'])
  })
})

describe('a backup from the middle of something', () => {
  test('has profiles that calls and moves hold, and answers', async () => {
    const directory = directoryOf([1, 2], {
      [`.${file(3)}~${TAG}`]: stored(3),
      [`.~${TAG}`]: used(3, 'SN-0'),
      [`.${file(4)}~${tagOf('b')}`]: stored(4),
      [`.${file(5)}~${MOVE}+${tagOf('c')}`]: stored(5),
      [`.${file(6)}~${MOVE}+${tagOf('d')}`]: stored(6),
      [`.outgoing/${MOVE}`]: '/media/stick',
      [`.incoming/${TAG}/answer`]: `${stored(7)}\n${stored(8)}\n`,
    })
    const path = fileOf(receipt(3, 'SN-3'), receipt(6, 'SN-6'), receipt(7, 'SN-7'))
    const said = await restored(directory, [path])
    expect(said).toContain('aside: 5 was leaving for stick')
    expect(said).toContain('3 profiles marked used, as the receipts of line-1 say')
    expect(shown(directory)).toEqual(['1', '2', '4', '5.aside', '8', '__3', '__6', '__7'])
    expect(readdirSync(directory).filter((name) => name.includes('~'))).toEqual([])
    expect(textOf(directory, 3).device).toBe('SN-3')
    expect(readdirSync(join(directory, '.outgoing'))).toEqual([])
    expect(await restored(directory, [path])).toContain('aside: 5 was leaving for an unknown directory')
  })

  test('has orders: what was decided comes; nobody decides the others again, which may have come and be gone', async () => {
    const order = (n: number) =>
      JSON.stringify({ source: tagOf('9'), from: '/media/stick', names: [file(n)] })
    const decided = `${tagOf('e')}.${tagOf('d')}`
    const directory = directoryOf([1], {
      [`.incoming/${MOVE}/order`]: order(2),
      [`.incoming/${MOVE}/~${TAG}/list`]: JSON.stringify({ by: TAG, items: [{ name: file(2), tag: 'x' }] }),
      [`.incoming/${decided}/order`]: order(3),
      [`.incoming/${decided}/given/list`]: JSON.stringify({ by: TAG, items: [{ name: file(3), tag: 'x' }] }),
      [`.${decided}@${TAG}~${file(3)}`]: stored(3),
    })
    await restored(directory, [])
    expect(shown(directory)).toEqual(['1', '3'])
    expect(readdirSync(join(directory, '.incoming'))).toEqual([decided])
  })

  test('has what a move still holds of a profile that is used: that goes', async () => {
    const rest = { [`.${file(1)}~${MOVE}+${tagOf('c')}`]: stored(1) }
    const directory = directoryOf([2], { [`__${file(1)}`]: used(1), ...rest })
    await restored(directory, [])
    expect(shown(directory)).toEqual(['2', '__1'])
  })

  test('has a claim that is decided for a device which got another profile since', async () => {
    const directory = directoryOf([2], {
      [`.${file(1)}~${TAG}`]: stored(1),
      [`.!${TAG}`]: used(1, 'SN-2'),
    })
    await restored(directory, [fileOf(receipt(2, 'SN-2'))])
    expect(shown(directory)).toEqual(['1', '__2'])
    expect(records(directory)).toMatchObject([{ device: 'SN-2', iccid: iccid(2) }])
  })

  test('has files that are older than the records of devices, or newer', async () => {
    const directory = directoryOf([1], { [`__${file(2)}`]: used(2, 'SN-2') })
    await makeRecords(directory, [{ device: 'SN-1', iccid: iccid(1) }])
    expect(await restored(directory, [])).toContain('used: SN-1 has 1: profiles')
    expect(shown(directory)).toEqual(['__1', '__2'])
    // A record does not say which station made it.
    expect(textOf(directory, 1)).toMatchObject({ device: 'SN-1', station: stationName() })
    expect(textOf(directory, 1).claimed).toMatch(/^\d{4}-.*Z$/)
    expect(
      records(directory)
        .map(({ device }) => device)
        .sort(),
    ).toEqual(['SN-1', 'SN-2'])
  })

  test('may lack what was about to get its new name: the device gets no other profile', async () => {
    const directory = directoryOf([1])
    // A share has another path at each station.
    const from = identityOf(directory)
    const receipts = [receipt(2, 'SN-2', { from }), receipt(1, null), receipt(3, null, { directory })]
    const path = fileOf(...receipts, receipt(4, 'SN-4', { directory: '/elsewhere' }))
    expect((await restored(directory, [path])).slice(1, 6)).toEqual([
      'used: nobody known has 1: station line-1, r.jsonl:2',
      'missing: SN-2 has 2: station line-1, r.jsonl:1',
      'missing: nobody known has 3: station line-1, r.jsonl:3',
      '1 profile marked used, as the receipts of line-1 say',
      expect.stringMatching(
        /^2 profiles missing: devices named with one keep it; .* ask the service provider$/,
      ),
    ])
    expect(records(directory)).toMatchObject([{ device: 'SN-2', iccid: iccid(2) }])
    // It was found.
    writeFileSync(join(directory, file(2)), stored(2))
    await restored(directory, [])
    expect(textOf(directory, 2).device).toBe('SN-2')
  })

  test('may be older than an identity: then the path says what has left', async () => {
    const directory = directoryOf([1, 2])
    const moved = { to: '/media/stick', move: 'a.b', from: '0'.repeat(20) }
    const to = '/media/stick\u001b[2J'
    const path = fileOf(receipt(1, null, { ...moved, directory, to }), receipt(2, null, moved))
    // No terminal obeys it: the backslash of its escape begins what is short here.
    expect((await restored(directory, [path])).join()).toContain('left for u{1b}[2J: ')
    expect(shown(directory)).toEqual(['1.aside', '2'])
  })

  test('may have the path of a directory on another computer: too much is aside, and not too little', async () => {
    const directory = directoryOf([1])
    const away = receipt(1, null, { directory, to: '/media/stick', move: 'a.b', from: 'c' })
    const came = receipt(1, null, { directory: '/media/stick', to: directory, move: 'd.e' })
    await restored(directory, [fileOf(away, came)])
    expect(shown(directory)).toEqual(['1.aside'])
  })

  test('lacks what came by a move since: that is missing, unless it has left again', async () => {
    const directory = directoryOf([1])
    const came = (n: number) => receipt(n, null, { directory: '/there', to: directory, move: 'a.b' })
    const said = await restored(directory, [fileOf(came(2), came(3), left(3, directory))])
    expect(said.filter((line) => /^(missing|aside)/.test(line))).toEqual([
      'missing: 2 came from /there: station line-1, r.jsonl:1',
    ])
    // These receipts are enough.
    expect(await restored(directory, [fileOf(came(4))])).toContain(
      'missing: 4 came from /there: station line-1, r.jsonl:1',
    )
  })

  test('lacks what left and came back since: that is missing, in whatever order the files are read', async () => {
    const directory = directoryOf([1])
    const came = (n: number) => receipt(n, null, { directory: '/there', to: directory, move: 'a.b' })
    const files = [
      fileOf(left(2, directory), left(3, directory)),
      fileOf(came(2), came(3)),
      fileOf(left(3, directory)),
    ]
    const missing = ['missing: 2 came from /there: station line-1, r.jsonl:1']
    for (const each of [files, files.toReversed()])
      expect((await restored(directory, each)).filter((line) => line.startsWith('missing'))).toEqual(missing)
  })

  test('says what it does while it takes long', async () => {
    const lines: string[] = []
    const directory = directoryOf([1])
    const progress = { follow: (line: () => string) => void lines.push(line()) }
    const rest = { messages: { warn() {}, tell() {} }, print: async () => {} }
    await restore({ directory, files: [], isDry: true, progress, ...rest })
    expect(lines).toEqual(['reading the receipts', `restoring ${directory}`])
  })

  test('without any receipt: nothing else becomes used', async () => {
    const directory = directoryOf([1, 2])
    expect(await restored(directory, [])).toEqual([
      'until this ends, no other call may use profiles',
      '0 profiles marked used',
      'profiles is restored: it can be used again',
    ])
    expect(shown(directory)).toEqual(['1', '2'])
    expect(identity(directory)).toHaveLength(1)
  })
})

describe('what contradicts', () => {
  test('is listed with both sources, is used, and no device gets it', async () => {
    const directory = directoryOf([1, 2, 3, 4], { [`__${file(5)}`]: used(5, 'SN-5') })
    const receipts = [
      ...[receipt(1, 'SN-1'), receipt(1, 'SN-9'), receipt(2, null), receipt(2, null), receipt(5, 'SN-6')],
      receipt(3, 'SN-3'),
    ]
    const said = await restored(directory, [fileOf(...receipts)])
    expect(said.filter((line) => line.startsWith('two'))).toEqual([
      'two devices: SN-5 has 5: station line-1, __5.json',
      'two devices: SN-6 has 5: station line-1, r.jsonl:5',
      'two devices: SN-1 has 1: station line-1, r.jsonl:1',
      'two devices: SN-9 has 1: station line-1, r.jsonl:2',
      'two devices: nobody known has 2: station line-1, r.jsonl:3',
      'two devices: nobody known has 2: station line-1, r.jsonl:4',
    ])
    expect(said.at(-1)).toBe('unusable')
    expect(shown(directory)).toEqual(['4', '__1', '__2', '__3', '__5'])
    expect(textOf(directory, 1).device).toBeUndefined()
    expect(
      records(directory)
        .map(({ device }) => device)
        .sort(),
    ).toEqual(['SN-3'])
    expect(identity(directory)).toHaveLength(1)
  })

  test('is that two stations handed one profile out at once, for devices that nobody knows', async () => {
    const directory = directoryOf([1])
    const time = '2026-03-01T06:00:00.000Z'
    const files = ['line-1', 'line-2'].map((station) => fileOf(receipt(1, null, { time, station })))
    const said = await restored(directory, files)
    expect(said.filter((line) => line.startsWith('two'))).toEqual([
      'two devices: nobody known has 1: station line-1, r.jsonl:1',
      'two devices: nobody known has 1: station line-2, r.jsonl:1',
    ])
  })

  test('is recorded for no device if the backup lacks it, either', async () => {
    const directory = directoryOf([1])
    const both = ['SN-1', 'SN-9'].map((device) => receipt(2, device, { directory }))
    expect((await restored(directory, [fileOf(...both)])).at(-1)).toBe('unusable')
    // One that came from elsewhere has it from here, too.
    const one = [receipt(3, 'SN-1', { directory }), receipt(3, 'SN-9')]
    expect(await restored(directory, [fileOf(...one)])).toContain(
      'missing: SN-9 has 3: station line-1, r.jsonl:2',
    )
    expect(records(directory)).toEqual([])
  })

  test('a device with two profiles keeps the first, and gets no third one', async () => {
    const directory = directoryOf([1, 2, 3])
    const said = await restored(directory, [fileOf(receipt(1, 'SN-1'), receipt(2, 'SN-1'))])
    expect(said.filter((line) => line.startsWith('two'))).toEqual([
      'two profiles: SN-1 has 1: station line-1, r.jsonl:1',
      'two profiles: SN-1 has 2: station line-1, r.jsonl:2',
    ])
    expect(said.at(-1)).toBe('unusable')
    expect(shown(directory)).toEqual(['3', '__1', '__2'])
    expect(recordOf(directory, 'SN-1')?.iccid).toBe(iccid(1))
  })

  test('by the time of the receipts, the first one counts, in whatever order the files are read', async () => {
    const [early, late] = [receipt(1, 'SN-1', { station: 'line-2' }), receipt(2, 'SN-1')]
    const [out, on] = [receipt(3, null, { to: '/first' }), receipt(3, null, { to: '/last' })]
    for (const order of [
      [early, late, out, on],
      [on, out, late, early],
    ]) {
      const directory = directoryOf([1, 2, 3])
      const files = order.map((each) => fileOf(each?.to === undefined ? each : { ...each, directory }))
      const said = await restored(directory, files)
      expect(said.filter((line) => /^(two|aside)/.test(line))).toEqual([
        'aside: 3 left for /last: station line-1, r.jsonl:1',
        'two profiles: SN-1 has 1: station line-2, r.jsonl:1',
        'two profiles: SN-1 has 2: station line-1, r.jsonl:1',
      ])
      expect(said).toContain('2 profiles marked used, as the receipts of line-1, line-2 say')
      expect(recordOf(directory, 'SN-1')?.iccid).toBe(iccid(1))
    }
  })

  test('somebody used it here, and a device has it by its receipt', async () => {
    const directory = directoryOf([2], { [`__${file(1)}`]: used(1) })
    expect((await restored(directory, [fileOf(receipt(1, 'SN-1'))])).at(-1)).toBe('unusable')
    expect(recordOf(directory, 'SN-1')).toBeUndefined()
    // The receipt of that call says nothing new, and a repetition names nobody else.
    const own = directoryOf([2], { [`__${file(1)}`]: used(1) })
    const again = receipt(1, null, { again: true })
    for (const path of [fileOf(receipt(1, null), again), fileOf(again)])
      expect((await restored(own, [path])).at(-1)).toBe('profiles is restored: it can be used again')
  })
})

describe('receipts', () => {
  test('are found under any name in a directory', async () => {
    const directory = directoryOf([1, 2, 3])
    const place = temporaryDirectory()
    mkdirSync(join(place, 'november'))
    for (const [n, name] of ['line-1.jsonl', 'line-2.jsonl.1', 'november/LINE-1.JSONL'].entries())
      writeFileSync(join(place, name), readFileSync(fileOf(receipt(n + 1, `SN-${n + 1}`))))
    writeFileSync(join(place, 'notes.txt'), 'line 2 was repaired')
    await restored(directory, [place])
    expect(shown(directory)).toEqual(['__1', '__2', '__3'])
  })

  test('of what came after the backup, all of it, are enough: the devices get nothing else', async () => {
    const directory = directoryOf([1])
    const from = identityOf(directory)
    expect(await restored(directory, [fileOf(receipt(2, 'SN-2', { from }))])).toContain(
      'missing: SN-2 has 2: station line-1, r.jsonl:1',
    )
    expect(recordOf(directory, 'SN-2')?.iccid).toBe(iccid(2))
  })
})

test('a copy that broke off may lack a receipt: it is named, and nothing else is', async () => {
  const directory = directoryOf([1, 2])
  const [whole, cut] = [fileOf(receipt(1, 'SN-1')), fileOf(receipt(2, 'SN-2'))]
  writeFileSync(cut, readFileSync(cut, 'utf8').slice(0, 60))
  const said = await restored(directory, [whole, cut])
  expect(said.filter((line) => line.includes('copy'))).toEqual([
    'r.jsonl:1 is cut off: if this file is a copy, name the original',
  ])
})

describe('nothing is restored', () => {
  test('by receipts of other profiles, by none, or where there is nothing', async () => {
    const directory = directoryOf([1])
    const [empty, others] = [fileOf(), fileOf(receipt(2, 'SN-2'))]
    expect((await restored(directory, [others])).at(-1)).toBe('no-profiles')
    expect((await restored(directory, [empty])).at(-1)).toBe('usage')
    const rest = { isDry: false, progress: { follow() {} }, print: async () => {} }
    const order = { directory, files: [empty, empty], messages: { warn() {}, tell() {} }, ...rest }
    await expect(restore(order)).rejects.toMatchObject({
      ...{ message: `no receipt in ${empty}, ${empty}`, hint: 'name the files of all stations' },
    })
    expect((await restored(join(directory, 'missing'), [others])).at(-1)).toBe('no-profiles')
    expect(existsSync(join(directory, '.identity'))).toBe(false)
  })

  test('until the end: a call that fails leaves the identity, and the same command goes on', async () => {
    const directory = directoryOf([1, 2, 3])
    const path = fileOf(receipt(1, 'SN-1'))
    identityOf(directory)
    const id = identity(directory)
    writeFileSync(join(directory, '.devices'), '')
    expect((await restored(directory, [path])).at(-1)).toBe('disk')
    expect([identity(directory), shown(directory)]).toEqual([id, ['1', '2', '3']])
    // Also where it was in use, and more receipts were found.
    if (tellsBirth) expect(identityState(directory)).toBe('unused-copy')
    rmSync(join(directory, '.devices'))
    await restored(directory, [path])
    expect(recordOf(directory, 'SN-1')?.iccid).toBe(iccid(1))
    expect(identity(directory)).not.toEqual(id)
  })

  test('while an answer can not be stored: the directory stays in use', async () => {
    const directory = directoryOf([1], {
      [`.incoming/${TAG}/answer`]: `${stored(2)}\n`,
      [`.incoming/${TAG}/given/list/directory`]: '',
    })
    identityOf(directory)
    expect((await restored(directory, [])).at(-1)).toBe('disk')
    expect(identityState(directory)).toBe('own')
  })

  test.each([
    ['gives back', file(2)],
    ['holds', `.${file(2)}~${TAG}`],
  ])('while another call %s what has left', async (_, name) => {
    const directory = directoryOf([2], { [file(1)]: '{' })
    const files = [fileOf(receipt(1, 'SN-1'), left(2, directory))]
    const path = join(directory, `${file(2)}.aside`)
    // It warns of the damaged one when the other one is aside.
    const warn = (text: string) => void (text.includes('damaged') && renameSync(path, join(directory, name)))
    const rest = { messages: { warn, tell() {} }, progress: { follow() {} }, print: async () => {} }
    await expect(restore({ directory, files, isDry: false, ...rest })).rejects.toMatchObject({
      outcome: 'disk',
    })
  })

  test('over what another call has used meanwhile', async () => {
    const directory = directoryOf([], { [`${file(1)}.aside`]: stored(1), [`__${file(1)}`]: used(1, 'SN-9') })
    const all = [{ name: file(1), station: 'line-1', claimed: '2026-03-01T06:00:00.000Z', device: 'SN-1' }]
    await adoptUsed(directory, all, { warn() {} })
    expect(readdirSync(directory)).toEqual([`__${file(1)}`])
    expect(textOf(directory, 1).device).toBe('SN-9')
  })

  test('between a used file and what is aside: the same command finishes it', async () => {
    const directory = directoryOf([2], { [`${file(1)}.aside`]: stored(1), [`__${file(1)}`]: used(1, 'SN-1') })
    const files = [fileOf(receipt(1, 'SN-1'))]
    await restored(directory, files, true)
    expect(shown(directory)).toEqual(['1.aside', '2', '__1'])
    await restored(directory, files)
    expect(shown(directory)).toEqual(['2', '__1'])
  })

  test('of a damaged file: it stays aside', async () => {
    const directory = directoryOf([2], { [file(1)]: '{' })
    const said = await restored(directory, [fileOf(receipt(1, 'SN-1'))])
    expect(said).toContain('1.json is damaged, and stays aside')
    expect(shown(directory)).toEqual(['1.aside', '2'])
  })

  test.runIf(process.platform !== 'win32')('over a file that nobody can open: the others are', async () => {
    // What is in memory is not flushed.
    const directory = directoryOf([2], { [`__${file(1)}`]: used(1, 'SN-1') }, 'disk')
    symlinkSync('nowhere', join(directory, file(3)))
    const said = await restored(directory, [fileOf(receipt(1, 'SN-1'))])
    expect(said.at(-1)).toMatch(/ is restored: /)
    expect(recordOf(directory, 'SN-1')?.iccid).toBe(iccid(1))
  })
})

test('a backup that keeps what was removed: what a move holds is nowhere unused', async () => {
  const directory = directoryOf([1, 2], { [`.${file(1)}~${MOVE}+${TAG}`]: stored(1) })
  const receipts = fileOf(left(1, directory))
  await restored(directory, [receipts])
  expect(namesIn(directory).filter((name) => name.includes('.json'))).toEqual(
    [`${file(1)}.aside`, file(2)].sort(),
  )
})
