/** A directory that was copied, or came back from a backup, is not handed out of. */
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { API_KEY, startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'
import { tellsBirth } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')

const nextOf = (directory: string, ...more: string[]) =>
  softsim(['next', '-k', KEY, '-i', directory, ...more])

const identityOf = async (directory: string) => {
  const { stdout } = await softsim(['status', '-i', directory, '--format=json'])
  return JSON.parse(stdout).identity
}

const copyOf = (directory: string, name = 'copy') => {
  const copy = join(dirname(directory), name)
  cpSync(directory, copy, { recursive: true, preserveTimestamps: true })
  return copy
}

describe.skipIf(!tellsBirth)('a directory that was used', () => {
  test('and copied: the copy is left as it is, and the original goes on', async () => {
    const directory = directoryOf(someProfiles(5))
    expect(await nextOf(directory, '--device', 'SN-1')).toMatchObject({ code: 0, stderr: '' })
    const copy = copyOf(directory)
    const before = readdirSync(copy, { recursive: true })
    const refused = failure(
      10,
      new RegExp(
        `${copy} is a copy, or came back from a backup: devices may have profiles that are unused in it`,
      ),
      new RegExp(`nothing was claimed; .+: softsim restore -i ${copy} --receipts FILE.+`),
    )
    for (const how of [[], ['--device', 'SN-1'], ['--iccid', iccid(2)], ['-n', '2']])
      expect(await nextOf(copy, ...how)).toEqual(refused)
    const [out, target] = [['move', '-n', '1', '-i'], join(dirname(directory), 'target')]
    expect(await softsim([...out, copy, '-o', target])).toEqual(refused)
    expect(await softsim([...out, directory, '-o', copy])).toEqual(refused)
    expect(await softsim(['move', '--back', '-i', copy, '-o', target])).toEqual(refused)
    expect(readdirSync(copy, { recursive: true })).toEqual(before)
    expect(await nextOf(directory)).toMatchObject({ code: 0, stderr: '' })
    expect([await identityOf(directory), await identityOf(copy)]).toEqual(['original', 'copy'])
  })

  test('as status shows it, before the shift', async () => {
    const directory = directoryOf(someProfiles(2))
    await nextOf(directory)
    const copy = copyOf(directory)
    const status = await softsim(['status', '-k', KEY, '-i', copy])
    expect(status.stdout).toContain(`${copy}\n  identity           copy\n  unused                1\n`)
    expect(status.code).toBe(10)
    expect((await softsim(['status', '-k', KEY, '-i', directory])).code).toBe(0)
  })

  test('and came back to its place from a backup', async () => {
    const directory = directoryOf(someProfiles(3))
    await nextOf(directory)
    const backup = copyOf(directory)
    await nextOf(directory)
    rmSync(directory, { recursive: true })
    cpSync(backup, directory, { recursive: true, preserveTimestamps: true })
    expect(await nextOf(directory)).toMatchObject({ code: 10, stdout: '' })
  })

  test('by a move, too', async () => {
    const directory = directoryOf(someProfiles(3))
    const target = join(temporaryDirectory(), 'target')
    expect((await softsim(['move', '-n', '1', '-i', directory, '-o', target])).code).toBe(0)
    expect([await identityOf(directory), await identityOf(target)]).toEqual(['original', 'new'])
    expect(await nextOf(copyOf(directory))).toMatchObject({ code: 10, stdout: '' })
  })

  test('under another name, or by a link, is still itself', async () => {
    const directory = directoryOf(someProfiles(3))
    await nextOf(directory)
    const renamed = join(dirname(directory), 'renamed')
    renameSync(directory, renamed)
    symlinkSync(renamed, directory)
    expect(await nextOf(renamed)).toMatchObject({ code: 0, stderr: '' })
    expect(await nextOf(directory)).toMatchObject({ code: 0, stderr: '' })
  })

  test('by an earlier version is recognised from its next claim on', async () => {
    const directory = directoryOf(someProfiles(4))
    await nextOf(directory, '--device', 'SN-1')
    rmSync(join(directory, '.identity'))
    const before = copyOf(directory, 'before')
    expect(await nextOf(before)).toMatchObject({ code: 0, stderr: '' })
    expect(await nextOf(directory, '--device', 'SN-1')).toMatchObject({ code: 0 })
    expect(await nextOf(copyOf(directory, 'after'))).toMatchObject({ code: 10, stdout: '' })
  })
})

describe.skipIf(!tellsBirth)('a directory that was fetched, carried and never used', () => {
  test('works, and says once that the other one must not be used', async () => {
    const { url } = await startSandbox()
    const directory = join(temporaryDirectory(), 'fetched')
    await softsim(['fetch', '-a', API_KEY, '-u', url, '-n', '3', '-o', directory])
    const carried = copyOf(directory, 'carried')
    expect([await identityOf(directory), await identityOf(carried)]).toEqual(['new', 'carried'])
    // A call that claims nothing has not said it.
    expect(await nextOf(carried, '-n', '9')).toMatchObject({ code: 3 })
    const status = await softsim(['status', '-i', carried])
    expect([status.code, status.stdout]).toEqual([
      0,
      `${carried}\n  identity        carried\n  unused                3\n`,
    ])
    expect(namesIn(carried)).toHaveLength(3)
    expect(await softsim(['status', '-k', KEY, '-i', carried])).toMatchObject({ code: 0 })
    const warning = `softsim: warning: ${carried} is a copy: do not use the directory that it was copied from\n`
    expect(await nextOf(carried)).toMatchObject({ code: 0, stderr: warning })
    expect(await nextOf(carried)).toMatchObject({ code: 0, stderr: '' })
    expect([await identityOf(carried), usedIn(carried).length]).toEqual(['original', 2])
  })

  test('a directory that a fetch made for nothing is gone', async () => {
    const { url } = await startSandbox()
    const parent = temporaryDirectory()
    mkdirSync(join(parent, 'there'))
    for (const name of ['new', 'there'])
      await softsim(['fetch', '-a', 'wrong', '-u', url, '-n', '3', '-o', join(parent, name)])
    expect(readdirSync(parent, { recursive: true })).toEqual(['there', 'there/.incoming'])
  })
})
