import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { namesIn, temporaryDirectory, unusedIn, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { API_KEY, startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'
import { hasPosix } from '../support/system.ts'

/** What must not change in a file that is left alone. */
function fingerprint(directory: string, name: string) {
  const { ino, mtimeMs, mode } = statSync(join(directory, name))
  return { name, ino, mtimeMs, mode, text: readFileSync(join(directory, name), 'utf8') }
}

const filesOf = (iccids: Iterable<string>) => [...iccids].map((each) => `${each}.json`).sort()

test('it says how many profiles the directory has now, and whether it is a new one', async () => {
  const { fetch, directory } = await startSandbox()
  const last = async (...args: string[]) => lines((await fetch(args)).stderr).at(-1)
  expect(await last()).toBe(`softsim: ${directory} is new, and has 1 unused profile now`)
  expect(await last('-n', '4')).toBe(`softsim: ${directory} has 5 unused profiles now`)
  await softsim(['next', '-k', inject('keys').privateKeyPath, '-i', directory])
  expect(await last()).toBe(`softsim: ${directory} has 5 unused profiles now`)
  const other = join(temporaryDirectory(), 'proflies')
  expect(await last('-o', other)).toBe(`softsim: ${other} is new, and has 1 unused profile now`)
})

test('2345 profiles: it asks for few at first, then for more, and stores each in its own file', async () => {
  const { fetch, asked, delivered, directory, requests } = await startSandbox()
  const run = await fetch(['-n', '2345'])
  expect(run).toMatchObject({ code: 0, stdout: '' })
  expect(run.stderr).toMatch(
    /^softsim: stored 2345 profiles in .+ \(\d+ requests, [\d.]+ s\)\nsoftsim: .+ is new, and has 2345 unused profiles now\n$/,
  )

  // How much more depends on the time that the first one took.
  expect(asked()[0]).toBe(100)
  expect(asked()[1]).toBeGreaterThan(100)
  expect(asked().reduce((sum = 0, size = 0) => sum + size)).toBe(2345)
  expect(delivered.size).toBe(2345)
  expect(namesIn(directory)).toEqual(filesOf(delivered.keys()))
  for (const { headers, query } of requests) {
    expect(headers['authorization']).toBe(API_KEY)
    expect(query.get('version')).toMatch(/^\d+\.\d+\.\d+$/)
  }
})

test('nothing but the profiles and their list is left in the directory', async () => {
  const { fetch, directory } = await startSandbox()
  await fetch(['-n', '5'])
  expect(readdirSync(directory).filter((name) => !name.endsWith('.json'))).toEqual(['.identity', '.unused'])
  const [, ...list] = readFileSync(join(directory, '.unused'), 'latin1').split(/\s*\n/)
  expect(list).toEqual(['5', '0', ...unusedIn(directory).map((name) => name.slice(0, -5)), ''])
})

test('a file holds the profile as the service sent it', async () => {
  const { fetch, fault, directory } = await startSandbox()
  const sent = [{ iccid: iccid(7), profile: 'AAEC/w==' }]
  fault({ kind: 'replace', profiles: sent })
  await fetch()
  expect(JSON.parse(readFileSync(join(directory, `${iccid(7)}.json`), 'utf8'))).toEqual(sent[0])
})

test('another fetch adds profiles and changes no existing file', async () => {
  const { fetch, directory, delivered } = await startSandbox()
  await fetch(['-n', '20'])
  const [first = ''] = namesIn(directory)
  renameSync(join(directory, first), join(directory, `__${first}`))
  writeFileSync(join(directory, 'profiles.json'), '[]')
  const before = namesIn(directory).map((name) => fingerprint(directory, name))

  expect(await fetch(['-n', '30'])).toMatchObject({ code: 0 })
  expect(before.map(({ name }) => fingerprint(directory, name))).toEqual(before)
  const expected = filesOf(delivered.keys()).filter((name) => name !== first)
  expect(unusedIn(directory).filter((name) => name !== 'profiles.json')).toEqual(expected)
  expect(delivered.size).toBe(50)
})

test('a repeated response restores no profile, used or unused', async () => {
  const { fetch, fault, directory } = await startSandbox()
  await fetch(['-n', '4'])
  const [first = '', second = ''] = namesIn(directory)
  for (const name of [first, second]) renameSync(join(directory, name), join(directory, `__${name}`))
  const before = namesIn(directory).map((name) => fingerprint(directory, name))

  fault({ kind: 'repeat' })
  const run = await fetch(['-n', '4'])
  expect(run).toMatchObject({ code: 3, stdout: '' })
  expect(run.stderr).toMatch(/warning: (?=.*already)(?=.*4 profiles)/)
  expect(namesIn(directory).map((name) => fingerprint(directory, name))).toEqual(before)
})

test('profiles that already exist do not count: it asks for others instead', async () => {
  const { fetch, fault, directory, asked } = await startSandbox()
  mkdirSync(directory)
  writeFileSync(join(directory, `__${iccid(1)}.json`), 'used')
  const unused = JSON.stringify({ iccid: iccid(2), profile: 'BBBB' })
  writeFileSync(join(directory, `${iccid(2)}.json`), unused)
  const profiles = [1, 2, 3, 4].map((n) => ({ iccid: iccid(n), profile: 'AAAA' }))
  fault({ kind: 'replace', profiles: profiles.slice(0, 3) })
  fault({ kind: 'replace', profiles: profiles.slice(2) })

  const { code, stderr } = await fetch(['-n', '3'])
  expect([code, asked()]).toEqual([0, [3, 2, 1]])
  expect(stderr).toContain(`softsim: warning: left unchanged: 3 profiles already in ${directory}\n`)
  expect(usedIn(directory)).toEqual([`__${iccid(1)}.json`])
  expect(readFileSync(join(directory, `${iccid(2)}.json`), 'utf8')).toBe(unused)
  expect(unusedIn(directory)).toHaveLength(4)
})

test('a profile is not stored again under another spelling of its ICCID', async () => {
  const { fetch, fault, directory } = await startSandbox()
  mkdirSync(directory)
  const digits = iccid(1, 19)
  writeFileSync(join(directory, `__${digits}.json`), 'used')
  const profiles = [`${digits}F`, `${digits}f`].map((each) => ({ iccid: each, profile: 'AAAA' }))
  fault({ kind: 'replace', profiles })
  expect(await fetch()).toMatchObject({ code: 3 })
  expect(unusedIn(directory)).toEqual([])
})

test('a profile that is twice in one response is stored once', async () => {
  const { fetch, fault, directory } = await startSandbox()
  const profile = { iccid: iccid(1), profile: 'AAAA' }
  fault({ kind: 'replace', profiles: [profile, { ...profile, profile: 'BBBB' }] })
  await fetch()
  expect(namesIn(directory)).toEqual([`${iccid(1)}.json`])
  expect(JSON.parse(readFileSync(join(directory, `${iccid(1)}.json`), 'utf8'))).toEqual(profile)
})

test('each bad entry gets a warning, and all good entries are stored', async () => {
  const { fetch, fault, delivered, directory } = await startSandbox()
  const profile = 'AAAA'
  const entries = [null, { iccid: 'x', profile }, { iccid: '8988', profile: '***' }, { profile }]
  fault({ kind: 'bad-entries', entries })
  const { code, stderr } = await fetch(['-n', '10'])
  expect(code).toBe(0)
  expect(lines(stderr).filter((line) => line.startsWith('softsim: warning: entry '))).toHaveLength(4)
  expect(stderr).toContain('8988')
  expect(namesIn(directory)).toEqual(filesOf(delivered.keys()))
})

test.each(['../../x', '..', '/tmp/x', 'a/b', 'C:\\x', '8988\u0000', '.incoming', '__8988', 'profiles', ''])(
  'an ICCID %j never becomes a path',
  async (hostile) => {
    const { fetch, fault, directory } = await startSandbox()
    const around = temporaryDirectory()
    const out = join(around, 'deep', 'profiles')
    fault({ kind: 'replace', profiles: [{ iccid: hostile, profile: 'AAAA' }] })
    const { code, stderr } = await fetch(['-o', out])
    expect(code).not.toBe(0)
    expect(stderr).toContain('warning: entry 1')
    const everything = readdirSync(around, { recursive: true }).map(String).sort()
    const own = everything.filter((name) => !/\.incoming|\.identity/.test(name))
    expect(own).toEqual(['deep', join('deep', 'profiles')])
    expect(readdirSync(join(directory, '..'))).toEqual([])
  },
)

test.skipIf(!hasPosix)('new files and directories are private to the user', async () => {
  const { fetch } = await startSandbox()
  const above = temporaryDirectory()
  const out = join(above, 'made', 'profiles')
  await fetch(['-n', '2', '-o', out])
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
  expect([modeOf(join(above, 'made')), modeOf(out)]).toEqual(['700', '700'])
  expect(namesIn(out).map((name) => modeOf(join(out, name)))).toEqual(['600', '600'])
})

test('the default directory is profiles, and the default count is 1', async () => {
  const { url } = await startSandbox()
  const cwd = temporaryDirectory()
  const run = await softsim(['fetch', '-u', url, '-a', API_KEY], { cwd })
  expect(run).toMatchObject({ code: 0, stdout: '' })
  expect(namesIn(join(cwd, 'profiles'))).toHaveLength(1)
})

test('the option overrides the environment variable', async () => {
  const { fetch } = await startSandbox()
  expect(await fetch(['-a', API_KEY], { env: { SOFTSIM_API_KEY: 'another-key' } })).toMatchObject({ code: 0 })
})

test('the query of the given URL is kept', async () => {
  const { url, requests } = await startSandbox()
  await softsim(['fetch', '-u', `${url}?site=7`, '-a', API_KEY, '-o', temporaryDirectory()])
  expect([...(requests[0]?.query.keys() ?? [])]).toEqual(['site', 'version'])
})

test('two fetches into one directory at once', async () => {
  const { fetch, directory, delivered } = await startSandbox()
  const runs = await Promise.all([fetch(['-n', '1200']), fetch(['-n', '1200'])])
  expect(runs.map(({ code }) => code)).toEqual([0, 0])
  expect(namesIn(directory)).toEqual(filesOf(delivered.keys()))
  expect(delivered.size).toBe(2400)
})

test('on a busy machine, a process that has stored everything ends', async () => {
  const { fetch } = await startSandbox()
  const above = temporaryDirectory()
  const fetchInTurns = async (name: string) => {
    for (let turn = 0; turn < 5; turn++) {
      expect(await fetch(['-n', '500', '-o', join(above, name + turn)])).toMatchObject({ code: 0 })
    }
  }
  await Promise.all(['a', 'b', 'c', 'd'].map(fetchInTurns))
})

test('-v reports what is stored, -vv each request and each file', async () => {
  const { fetch, directory } = await startSandbox()
  expect((await fetch(['-n', '3', '-v'])).stderr).toMatch(/3 of 3 profiles stored/)
  const { stderr } = await fetch(['-n', '2', '-vv'])
  expect(stderr).toMatch(/asking http:\/\/127\.0\.0\.1:\d+\/sims\/profiles for 2 profiles/)
  expect(stderr).toMatch(/answered 200/)
  for (const name of unusedIn(directory).slice(-2)) expect(stderr).toContain(name.replace('.json', ''))
})

test('a response that the service cuts off is reported', async () => {
  const { fetch, directory } = await startSandbox({ supply: 7 })
  expect(await fetch(['-n', '10'])).toEqual(failure(8, /stored 7 of 10 .*/))
  expect(await fetch(['-n', '10'])).toEqual(failure(3, /.*no more profiles.*/))
  expect(namesIn(directory)).toHaveLength(7)
})

test.skipIf(!hasPosix).each([
  ['a group gets its rights', 0o770, 0o660],
  ['everybody gets those of its group only', 0o777, 0o660],
  ['a group that may only read does too', 0o755, 0o640],
])('every file in a directory of %s, whatever the umask is', async (_, ofDirectory, ofFile) => {
  const { fetch, directory } = await startSandbox()
  mkdirSync(directory)
  chmodSync(directory, ofDirectory)
  expect(await fetch(['-n', '2'], { shell: 'umask 077; exec "$@"' })).toMatchObject({ code: 0 })
  const files = readdirSync(directory).filter((name) => name !== '.incoming')
  const modes = files.map((name) => statSync(join(directory, name)).mode & 0o777)
  expect(modes).toEqual([ofFile, ofFile, ofFile])
})
