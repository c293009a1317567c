import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { countsOf, oddNames, readNames } from '../../src/status/count.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'

/** What other calls do after each pass. */
const others = vi.hoisted(() => ({ next: (): void => {} }))

vi.mock('../../src/store/directory.ts', async (load) => {
  const store = await load<typeof import('../../src/store/directory.ts')>()
  const look: typeof store.look = (directory) => {
    const listing = store.look(directory)
    others.next()
    return listing
  }
  return { ...store, look }
})

function directoryWithOne(): { directory: string; unused: string; used: string } {
  const directory = temporaryDirectory()
  const name = `${iccid(1)}.json`
  const [unused, used] = [join(directory, name), join(directory, `__${name}`)]
  writeFileSync(unused, '{}')
  return { directory, unused, used }
}

test('names that change during a pass are read again', () => {
  const { directory, unused, used } = directoryWithOne()
  others.next = () => {
    renameSync(unused, used)
    others.next = () => {}
  }
  const said: string[] = []
  const messages = { warn: (text: string) => said.push(text), tell: () => {} }
  expect(countsOf(readNames(directory, messages))).toMatchObject({ unused: 0, used: 1 })
  expect(said).toEqual([])
})

test('if no two passes agree, the counts are said not to be exact', () => {
  const { directory, unused, used } = directoryWithOne()
  let [from, to] = [unused, used]
  let passes = 0
  others.next = () => {
    passes++
    renameSync(from, to)
    ;[from, to] = [to, from]
  }
  const said: string[] = []
  const names = readNames(directory, { warn: (text: string) => said.push(text), tell: () => {} })
  expect(names.unused.length + names.used.length).toBe(1)
  expect(said).toEqual([`other calls change ${directory} all the time: the counts are not exact`])
  expect(passes).toBe(10)
})

test('a file is named unlike a profile if it ends like one, and is not hidden or a list', () => {
  const odd = ['b.json', '_.JSON', 'my profiles.json', 'a\nb.json', '__x.json']
  const others = ['.x.json', 'x.json.tmp', 'profiles.json', 'profiles (1).json', 'json', ...odd]
  expect(oddNames({ others })).toEqual([...odd].sort())
})

test('a profile that comes during a pass is counted where it is at the end', () => {
  const directory = temporaryDirectory()
  const [id, name] = ['0e.0f', `${iccid(1)}.json`]
  const order = join(directory, '.incoming', id)
  mkdirSync(order, { recursive: true })
  writeFileSync(join(order, 'order'), JSON.stringify({ source: 's', from: '/s', names: [name] }))
  const staged = join(directory, `.${id}@a~${name}`)
  writeFileSync(staged, '{}')
  let passes = 0
  others.next = () => {
    // Between the names and the orders of the second pass, it gets its name, and its order is closed.
    if (++passes !== 2) return
    renameSync(staged, join(directory, name))
    rmSync(order, { recursive: true })
  }
  const counts = countsOf(readNames(directory, { warn: () => {}, tell: () => {} }))
  expect(counts).toMatchObject({ unused: 1, coming: 0 })
})
