import { expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, usedIn } from '../support/directory.ts'
import { fullPipe, LARGEST_PIPE, nonBlockingPipe } from '../support/pipe.ts'
import { lines } from '../support/promises.ts'
import { softsim, startSoftsim, until } from '../support/softsim.ts'
import { hasPosix, hasProc, writesOf } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')

/** In JSON they are more than a pipe holds: the first write takes only some of them. */
const PROFILES = 60

/** So many attempts are more than it makes where there is room. */
const ATTEMPTS = 50

const inJson = ['-n', String(PROFILES), '--format=json']
const next = (directory: string) => ['next', '-k', KEY, '-i', directory, ...inJson]

test.skipIf(!hasPosix)('a pipe that takes a part, then nothing, then the rest gets every line', async () => {
  const profiles = someProfiles(PROFILES)
  const { stdout } = await softsim(next(directoryOf(profiles)))
  expect(stdout.length).toBeGreaterThan(LARGEST_PIPE)

  const directory = directoryOf(profiles)
  const pipe = nonBlockingPipe()
  const options = { shell: 'exec "$@" >&3 3>&-', descriptor: pipe.writer }
  const { child, ended } = startSoftsim(next(directory), options)
  await until(() => child.exitCode !== null || usedIn(directory).length === PROFILES)
  if (hasProc) await fullFor(child.pid ?? 0, () => child.exitCode === null)
  const text = await pipe.readAll()
  // On a busy machine, filling the pipe may have taken two seconds.
  const stderr = expect.stringMatching(/^(softsim: warning: the reader of standard output .*\n)?$/)
  expect(await ended).toEqual({ code: 0, signal: null, stdout: '', stderr })
  expect(lines(text)).toEqual(lines(stdout))
})

test.skipIf(!hasPosix)('a reader that does not read is named once, and waited for', async () => {
  const directory = directoryOf(someProfiles(1))
  const pipe = fullPipe()
  const argv = ['next', '-k', KEY, '-i', directory]
  const { child, ended, says } = startSoftsim(argv, { shell: `exec "$@" > ${pipe.path}` })
  await says('\n')
  expect(child.exitCode).toBe(null)
  expect(usedIn(directory)).toHaveLength(1)
  let text = ''
  await until(() => {
    text += pipe.read()
    return text.endsWith('\n') || child.exitCode !== null
  })
  const { code, stderr } = await ended
  pipe.close()
  expect(code).toBe(0)
  expect(lines(stderr)).toEqual([
    'softsim: warning: the reader of standard output is slow or does not read: still waiting after 2 s; press Ctrl-C to stop',
  ])
  expect(text).toMatch(/^[0-9a-f]+\n$/)
})

test.skipIf(!hasProc)(
  'a pipe that takes nothing more: a signal ends the call, which names what it claimed',
  async () => {
    const directory = directoryOf(someProfiles(PROFILES))
    const pipe = nonBlockingPipe()
    const options = { shell: 'exec "$@" >&3 3>&-', descriptor: pipe.writer }
    const { child, ended } = startSoftsim(next(directory), options)
    await until(() => child.exitCode !== null || usedIn(directory).length === PROFILES)
    await fullFor(child.pid ?? 0, () => child.exitCode === null)
    child.kill('SIGINT')
    const { code, signal, stderr } = await ended
    expect(signal ?? code).toBe(signal === null ? 130 : 'SIGINT')
    for (const { iccid } of someProfiles(PROFILES)) expect(stderr).toMatch(mayHave(iccid))
  },
)

/** What a call says about a profile that it has claimed. */
const mayHave = (iccid: string) => RegExp(`^softsim: warning: used, and perhaps printed: ${iccid} \\(`, 'm')

test.skipIf(!hasPosix)('Ctrl-C, and then the reader goes on: it may have been printed', async () => {
  const directory = directoryOf(someProfiles(2))
  const pipe = fullPipe()
  const argv = ['next', '-k', KEY, '-i', directory]
  const { child, ended, says } = startSoftsim(argv, { shell: `exec "$@" > ${pipe.path}` })
  await until(() => usedIn(directory).length === 1)
  child.kill('SIGINT')
  await says('softsim: hint: ')
  pipe.read()
  const { code, signal, stderr } = await ended
  pipe.close()
  expect(signal ?? code).toBe(signal === null ? 130 : 'SIGINT')
  expect(stderr).toMatch(
    /^softsim: error: used, and perhaps printed: \d+ \(.*\): interrupted\n.*--iccid \d+ prints it again.*\n$/,
  )
})

test.skipIf(!hasPosix)('a reader that goes away after three lines may have what it read', async () => {
  const directory = directoryOf(someProfiles(PROFILES))
  const reader = 'read -r a; read -r b; read -r c; printf "%s\\n%s\\n%s\\n" "$a" "$b" "$c"'
  const { stdout, stderr } = await softsim(next(directory), { shell: `"$@" | { ${reader}; }` })
  for (const { iccid } of someProfiles(PROFILES)) expect(stderr).toMatch(mayHave(iccid))
  const actual = lines(stdout).map((line) => JSON.parse(line).profile.iccid)
  expect(actual).toEqual(someProfiles(3).map(({ iccid }) => iccid))
  expect(stderr).toContain(`error: used, and perhaps printed: ${PROFILES} profiles, listed above`)
})

/** Waits until a process has tried again and again to write into a pipe that takes nothing. */
async function fullFor(pid: number, isRunning: () => boolean): Promise<void> {
  const before = writesOf(pid)
  await until(() => !isRunning() || writesOf(pid) > before + ATTEMPTS)
}
