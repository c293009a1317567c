import { expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, usedIn } from '../support/directory.ts'
import { LARGEST_PIPE, nonBlockingPipe } from '../support/pipe.ts'
import { hasProc, writesOf } from '../support/process.ts'
import { lines } from '../support/promises.ts'
import { startSoftsim, until } from '../support/softsim.ts'
import { hasPosix } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')

/** In JSON they are more than a pipe holds: the first write takes only some of them. */
const PROFILES = 60

/** So many attempts are more than it makes where there is room. */
const ATTEMPTS = 50

test.skipIf(!hasPosix)(
  'a pipe that takes a part, then nothing, then the rest: every line arrives',
  async () => {
    const profiles = someProfiles(PROFILES)
    const directory = directoryOf(profiles)
    const pipe = nonBlockingPipe()
    const { child, ended } = startSoftsim(
      ['next', '-k', KEY, '-i', directory, '-n', String(PROFILES), '--format=json'],
      { shell: 'exec "$@" >&3 3>&-', descriptor: pipe.writer },
    )
    await until(() => child.exitCode !== null || usedIn(directory).length === PROFILES)
    if (hasProc) await fullFor(child.pid ?? 0, () => child.exitCode === null)
    const text = await pipe.readAll()
    expect(await ended).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
    expect(text.length).toBeGreaterThan(LARGEST_PIPE)
    const printed = lines(text).map((line) => JSON.parse(line).profile.iccid)
    expect(printed).toEqual(profiles.map(({ iccid }) => iccid))
  },
)

/** Waits until a process has tried again and again to write into a pipe that takes nothing. */
async function fullFor(pid: number, isRunning: () => boolean): Promise<void> {
  const before = writesOf(pid)
  await until(() => !isRunning() || writesOf(pid) > before + ATTEMPTS)
}
