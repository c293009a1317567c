import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { identityState } from '../../src/store/identity.ts'
import {
  arrive,
  close,
  finishAnswers,
  give,
  givenIn,
  isOpen,
  NotStored,
  ordersIn,
  putOrder,
  receive,
  release,
  request,
  waitingIn,
} from '../../src/store/incoming.ts'
import { knownIn, look } from '../../src/store/listing.ts'
import { removeRubbish } from '../../src/store/rubbish.ts'
import { lot, messages, names, profile, put, X } from '../support/lot.ts'
import { modesCount } from '../support/system.ts'

const TAG = '0123456789abcdef0123'
const OTHER = 'ffffffffffffffffffff'

const incoming = (directory: string) => readdirSync(join(directory, '.incoming')).sort()

/** What a call leaves that was killed when it had put an answer aside. */
function leaveAnswer(directory: string, id: string, ...numbers: number[]): void {
  mkdirSync(join(directory, '.incoming', id), { recursive: true })
  const text = numbers.map((n) => `${JSON.stringify(profile(n))}\n`).join('')
  writeFileSync(join(directory, '.incoming', id, 'answer'), text)
}

describe('an answer', () => {
  test('is noted before it comes, stored when it came, and leaves nothing', async () => {
    const directory = lot(1)
    const noted = request(directory, 2)
    expect(waitingIn(directory).requests).toMatchObject([{ count: 2 }])
    // A copy of it is one from its first profile on.
    expect(identityState(directory)).toBe('own')
    const alike = { ...profile(2), iccid: `${profile(2).iccid}F` }
    const stored = await receive(directory, noted, [profile(1), profile(2), profile(2), alike])
    expect(stored).toBe(1)
    expect(names(directory)).toEqual([X(1), X(2)])
    expect(readFileSync(join(directory, X(2)), 'utf8')).toBe(JSON.stringify(profile(2)))
    expect(incoming(directory)).toEqual([])
  })

  test('takes the list of unused profiles away: what comes may be lower', async () => {
    const directory = lot(0)
    writeFileSync(join(directory, '.unused'), '')
    await receive(directory, request(directory, 1), [profile(1)])
    expect(names(directory)).toEqual([X(1)])
  })

  test('that does not come leaves nothing either, nor does one without profiles', async () => {
    const directory = lot(0)
    release(directory, request(directory, 2))
    expect(await receive(directory, request(directory, 2), [])).toBe(0)
    expect(incoming(directory)).toEqual([])
  })

  test('of which a part was put aside before the disk failed is put aside again', async () => {
    const directory = lot(0)
    const noted = request(directory, 1)
    writeFileSync(join(directory, '.incoming', `~${noted.id}`, 'answer'), '{"iccid":"89')
    expect(await receive(directory, noted, [profile(1)])).toBe(1)
    expect(names(directory)).toEqual([X(1)])
  })

  test('does not come again for what is used, held or put aside', async () => {
    const directory = lot(0)
    put(directory, 1, `__${X(1)}`)
    put(directory, 2, `.${X(2)}~${TAG}`)
    put(directory, 3, `${X(3)}.aside`)
    const stored = await receive(directory, request(directory, 4), [1, 2, 3, 4].map(profile))
    expect(stored).toBe(1)
    expect(look(directory).unused).toEqual([X(4)])
  })

  test('of a killed call is stored by the next one', async () => {
    const directory = lot(0)
    leaveAnswer(directory, 'abc', 1, 2)
    expect(waitingIn(directory).answers).toEqual([X(1), X(2)])
    // Only what is a profile gets a name, whatever a damaged disk says.
    appendFileSync(join(directory, '.incoming', 'abc', 'answer'), '{"iccid":"../x","profile":"y"}\n')
    const { said, ...sink } = messages()
    await finishAnswers(directory, sink)
    expect(names(directory)).toEqual([X(1), X(2)])
    expect(said).toEqual(['stored 2 profiles that an interrupted fetch has received'])
    expect(incoming(directory)).toEqual([])
    // One of which all is there says nothing.
    leaveAnswer(directory, 'abc', 1, 2)
    await finishAnswers(directory, sink)
    expect([said.length, incoming(directory)]).toEqual([1, []])
  })

  test('that a killed call has closed goes, and a request stays noted', async () => {
    const directory = lot(0)
    const noted = request(directory, 1)
    leaveAnswer(directory, '-abc', 1)
    // What a call has left that looked for a list anew.
    writeFileSync(join(directory, '.incoming', '-abc', '.~0123456789abcdef0123'), '')
    await finishAnswers(directory, messages())
    expect([names(directory), incoming(directory)]).toEqual([[], [`~${noted.id}`]])
    expect(waitingIn(directory).requests).toMatchObject([{ count: 1 }])
  })

  test('that was put aside before its flush failed is not put aside again', async () => {
    const directory = lot(0)
    const noted = request(directory, 1)
    leaveAnswer(directory, noted.id, 1)
    expect(await receive(directory, noted, [profile(1)])).toBe(1)
    expect(names(directory)).toEqual([X(1)])
  })

  test('whose list is decided is finished with that list', async () => {
    const directory = lot(0)
    leaveAnswer(directory, 'abc', 1, 2)
    const given = await give(directory, 'abc', [{ name: X(1) }], new Map([[X(1), 'text']]))
    expect(await give(directory, 'abc', [], new Map())).toEqual(given)
    await finishAnswers(directory, messages())
    expect(names(directory)).toEqual([X(1)])
    expect(readFileSync(join(directory, X(1)), 'utf8')).toBe('text')
    expect(givenIn(directory, 'abc')).toBeUndefined()
  })

  test('that somebody else finishes meanwhile is stored, and counts', async () => {
    const directory = lot(0)
    const noted = request(directory, 2)
    const known = knownIn(directory)
    // It is asked between the two: what is put aside, and what is decided.
    known.has = () => {
      close(directory, noted.id)
      return false
    }
    expect(await receive(directory, noted, [profile(1), profile(2)], known)).toBe(2)
  })

  test('of which not all can be written leaves none of them on its way', async () => {
    const directory = lot(0)
    leaveAnswer(directory, 'abc', 1)
    const items = [{ name: X(1) }, { name: 'no/where' }]
    await expect(give(directory, 'abc', items, new Map())).rejects.toThrow('ENOENT')
    expect(names(directory)).toEqual([])
  })

  test('that can not be read decides nothing, and foreign names are none', async () => {
    const directory = lot(0)
    leaveAnswer(directory, 'abc', 1)
    writeFileSync(join(directory, '.incoming', 'abc', 'answer'), '{"iccid":"89')
    mkdirSync(join(directory, '.incoming', '@eaDir'))
    await finishAnswers(directory, messages())
    expect(incoming(directory)).toEqual(['@eaDir', 'abc'])
  })

  test('does not replace what was used since it was decided', async () => {
    const directory = lot(0)
    leaveAnswer(directory, 'abc', 1)
    const given = await give(directory, 'abc', [{ name: X(1) }], new Map([[X(1), 'text']]))
    put(directory, 1, `__${X(1)}`)
    await arrive(directory, 'abc', given ?? { by: '', items: [] }, () => undefined)
    close(directory, 'abc')
    expect(names(directory)).toEqual([`__${X(1)}`])
    // What was put aside since stays aside.
    leaveAnswer(directory, 'abd', 2)
    await give(directory, 'abd', [{ name: X(2) }], new Map([[X(2), 'text']]))
    put(directory, 2, `${X(2)}.aside`)
    await finishAnswers(directory, messages())
    expect(names(directory)).toContain(`${X(2)}.aside`)
  })

  test('whose list can not be read keeps the files that it may name', async () => {
    const directory = lot(0)
    leaveAnswer(directory, 'abc', 1)
    mkdirSync(join(directory, '.incoming', 'abc', 'given'))
    writeFileSync(join(directory, '.incoming', 'abc', 'given', 'list'), '')
    expect(await give(directory, 'abc', [{ name: X(1) }], new Map([[X(1), 'text']]))).toBeUndefined()
    expect(names(directory)).toEqual([expect.stringMatching(/^[.]abc@.*~\d+[.]json$/)])
  })

  test('is not finished as long as one of its profiles waits for its name', async () => {
    const directory = lot(0)
    leaveAnswer(directory, 'abc', 1)
    const given = await give(directory, 'abc', [{ name: X(1) }], new Map([[X(1), 'text']]))
    // One that was away for a moment.
    const staged = join(directory, `.abc@${given?.by}~`)
    renameSync(staged + X(1), staged + X(2))
    await expect(finishAnswers(directory, messages())).rejects.toMatchObject({ outcome: 'disk' })
    expect(incoming(directory)).toEqual(['abc'])
  })

  test.runIf(modesCount)('fails with words where nothing can be written', () => {
    expect(() => request('/', 1)).toThrow("can't write to /")
    // It was there when the call began.
    const gone = join(lot(0), 'gone')
    expect(() => request(gone, 1)).toThrow(expect.objectContaining({ outcome: 'disk' }))
  })

  test('says whether it is put aside if it can not be stored', async () => {
    const directory = lot(0)
    const noted = request(directory, 1)
    rmSync(join(directory, '.incoming'), { recursive: true })
    writeFileSync(join(directory, '.incoming'), '')
    const failed = receive(directory, noted, [profile(1)])
    await expect(failed).rejects.toThrow(NotStored)
    await expect(failed).rejects.toMatchObject({
      ...{ isPutAside: false, outcome: 'disk' },
      message: expect.stringContaining(`can't store profiles in ${directory}: `),
      hint: 'make room on the disk, and check the rights and the limits of this user',
    })
    rmSync(join(directory, '.incoming'))
    mkdirSync(join(directory, '.incoming'))
    // It is put aside, and the place of its list is taken by something else.
    const other = request(directory, 1)
    mkdirSync(join(directory, '.incoming', `~${other.id}`, 'given', 'list'), { recursive: true })
    const later = receive(directory, other, [profile(1)])
    await expect(later).rejects.toMatchObject({
      ...{ isPutAside: true, outcome: 'disk' },
      hint: 'the next fetch or next stores them; check the disk first',
    })
  })
})

test('an order stands until it is closed, and its list is decided once', async () => {
  const directory = lot(0)
  // A directory that is not there proves nothing.
  expect(() => isOpen(directory, 'a.b')).toThrow('ENOENT')
  const order = { id: 'a.b', source: 'abc', from: '/there', names: [X(1)] }
  await putOrder(directory, order)
  expect(waitingIn(directory).orders).toEqual([order])
  const given = await give(directory, 'a.b', [], new Map())
  expect(await give(directory, 'a.b', [{ name: X(1), tag: 't' }], new Map([[X(1), '']]))).toEqual(given)
  // Whoever comes by lets arrive what is decided, and leaves the order to its source.
  await putOrder(directory, { ...order, id: 'c.d' })
  await give(directory, 'c.d', [{ name: X(2), tag: 't' }], new Map([[X(2), 'text']]))
  const { said, ...sink } = messages()
  await finishAnswers(directory, sink)
  expect([
    names(directory),
    ordersIn(directory)
      .map(({ id }) => id)
      .sort(),
    said,
  ]).toEqual([[X(2)], ['a.b', 'c.d'], []])
  close(directory, 'c.d')
  rmSync(join(directory, X(2)))
  expect(names(directory)).toEqual([])
  expect(ordersIn(directory)).toEqual([order])
  close(directory, 'a.b')
  expect(ordersIn(directory)).toEqual([])
  expect(await give(directory, 'a.b', [], new Map())).toBeUndefined()
})

test('rubbish goes when it is an hour old, a request is named, and all else stays', async () => {
  const directory = lot(1)
  const hourAgo = Date.now() / 1000 - 3600
  const old = (path: string) => utimesSync(join(directory, path), hourAgo - 100, hourAgo - 100)
  request(directory, 50)
  const [draft = ''] = incoming(directory)
  const [noted] = waitingIn(directory).requests
  for (const name of [
    `.~${OTHER}`,
    '.unused~dead',
    `.${OTHER}@${OTHER}~${X(2)}`,
    // Of a move.
    `.${OTHER}.${OTHER}@${OTHER}~${X(2)}`,
    '.unused',
    `.${X(3)}~${TAG}`,
    `.~${TAG}`,
    '.foreign',
  ])
    writeFileSync(join(directory, name), '')
  leaveAnswer(directory, 'abc', 4)
  writeFileSync(join(directory, `.abc@${OTHER}~${X(4)}`), '')
  mkdirSync(join(directory, `.!${OTHER}`))
  // What an office program and a person have left.
  writeFileSync(join(directory, '.~lock.list.odt#'), '')
  for (const name of ['.~mine', '.!mine']) mkdirSync(join(directory, name))
  // A claim that is decided is nobody's rubbish.
  put(directory, 5, `.!${TAG.replaceAll('0', 'e')}`)
  writeFileSync(join(directory, '.~mine', 'file'), '')
  const { said, ...sink } = messages()
  removeRubbish(directory, look(directory), sink)
  for (const path of ['.claims/~draft', `.claims/${X(1).slice(0, -5)}`, '.claims/mine', '.devices/~draft'])
    mkdirSync(join(directory, path), { recursive: true })
  for (const path of ['.devices/~draft/file', '.devices/abc', '.incoming/mine'])
    writeFileSync(join(directory, path), '')
  const inside = ['.claims', '.devices', '.incoming'].flatMap((name) =>
    readdirSync(join(directory, name)).map((each) => `${name}/${each}`),
  )
  const all = [...names(directory), ...inside]
  for (const path of all) utimesSync(join(directory, path), hourAgo + 100, hourAgo + 100)
  removeRubbish(directory, look(directory), sink)
  expect(names(directory)).toHaveLength(15)
  expect([said, incoming(directory)]).toEqual([[], ['abc', 'mine', draft].sort()])
  for (const path of all) old(path)
  removeRubbish(directory, look(directory), sink)
  expect(names(directory)).toEqual(
    [
      `.!${TAG.replaceAll('0', 'e')}`,
      '.!mine',
      '.unused',
      `.${X(3)}~${TAG}`,
      `.abc@${OTHER}~${X(4)}`,
      '.foreign',
      '.~lock.list.odt#',
      '.~mine',
      `.~${TAG}`,
      X(1),
    ].sort(),
  )
  expect(incoming(directory)).toEqual(['abc', 'mine'])
  expect(readdirSync(join(directory, '.claims'))).toEqual(['mine'])
  expect(readdirSync(join(directory, '.devices'))).toEqual(['abc'])
  expect(said).toEqual([
    `a request for 50 profiles of ${noted?.time} (station ${noted?.station}) has no answer: they may be paid for and lost; ask the service provider`,
  ])
})

test('what is on its way to its name is no rubbish while nobody can say what is open', () => {
  const directory = lot(0)
  leaveAnswer(directory, 'abc', 1)
  put(directory, 1, `.abc@${OTHER}~${X(1)}`)
  utimesSync(join(directory, `.abc@${OTHER}~${X(1)}`), 1, 1)
  const seen = look(directory)
  renameSync(join(directory, '.incoming'), join(directory, 'away'))
  expect(() => removeRubbish(directory, seen, messages())).toThrow('ENOENT')
  expect(names(directory)).toEqual([`.abc@${OTHER}~${X(1)}`, 'away'])
})
