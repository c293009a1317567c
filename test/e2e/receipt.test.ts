/** What a file of receipts may look like before a call, and who may read it after. */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory, unusedIn, usedIn } from '../support/directory.ts'
import { hasSmallDisks, smallDisk } from '../support/disk.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { type Options, softsim } from '../support/softsim.ts'
import { hasPosix, isRunByNode } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')
const RECEIPT = '{"time":"2026-11-21T18:08:20.856Z","station":"line-1","again":false}\n'

/** As on a quota: how much can be written is not known before. The Node that runs the program is spoilt for that. */
const NO_STATFS = { NODE_OPTIONS: `--require=${JSON.stringify(spoiler())}` }

function spoiler(): string {
  const path = join(temporaryDirectory(), 'spoiler.cjs')
  writeFileSync(path, "require('node:fs').statfsSync = () => { throw new Error('not known') }\n")
  return path
}

const next = (directory: string, receipt: string, args: readonly string[] = [], options?: Options) =>
  softsim(['next', '-k', KEY, '-i', directory, '--receipt', receipt, ...args], options)

/** The ICCIDs of the receipts that are complete. */
const receiptsIn = (path: string) =>
  lines(readFileSync(path, 'utf8'))
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line).iccid)

describe('a torn line', () => {
  test.each([
    ['at the end', `${RECEIPT}{"time":"2026-11-21T18:`],
    ['without its end only', RECEIPT.trimEnd()],
    ['that is all there is', '{"ti'],
    ['padded with zeros', `${RECEIPT}{"time":"2026`.padEnd(512, '\0')],
  ])('%s stays, and the next receipt is on a line of its own', async (_, before) => {
    const directory = directoryOf(someProfiles(2))
    const path = join(temporaryDirectory(), 'receipt.jsonl')
    writeFileSync(path, before)
    for (const n of [1, 2]) {
      expect(await next(directory, path)).toMatchObject({ code: 0, stderr: '' })
      expect(usedIn(directory)).toHaveLength(n)
    }
    const text = readFileSync(path, 'utf8')
    expect(text.startsWith(`${before}\n{"time":"`)).toBe(true)
    expect(receiptsIn(path).slice(-2)).toEqual([iccid(1), iccid(2)])
  })

  test.skipIf(!hasSmallDisks || !isRunByNode)(
    'that a full disk leaves does not stop the calls after it',
    async () => {
      const disk = await smallDisk(1)
      const directory = directoryOf(someProfiles(41))
      const path = join(disk.path, 'receipt.jsonl')
      disk.fill(1)
      const full = await next(directory, path, ['-n', '40'], { env: NO_STATFS })
      expect(full).toMatchObject({ code: 9, stdout: '' })
      expect(full.stderr).toMatch(/can't write the receipt .*: no space left on the disk/)
      expect(readFileSync(path, 'utf8')).toMatch(/^\{"time":.*[^\n]$/s)
      disk.clear()
      expect(await next(directory, path)).toMatchObject({ code: 0 })
      expect(receiptsIn(path).at(-1)).toBe(iccid(41))
      await disk.close()
    },
  )
})

test('in the directory of profiles, it is written with a warning, once a call', async () => {
  const directory = directoryOf(someProfiles(4))
  const path = join(directory, 'receipts', 'line-1.jsonl')
  mkdirSync(join(directory, 'receipts'))
  const warning = `softsim: warning: the receipt ${path} is in a directory of profiles: keep it where it is not lost with them\n`
  expect(await next(directory, path, ['-n', '3'])).toMatchObject({ code: 0, stderr: warning })
  expect(receiptsIn(path)).toHaveLength(3)
  const beside = `${directory}.jsonl`
  expect(await next(directory, beside)).toMatchObject({ code: 0, stderr: '' })
  const relative = ['move', '--all', '-i', '.', '-o', '../moved', '--receipt', 'moves.jsonl']
  const move = await softsim(relative, { cwd: directory })
  expect(move.stderr).toContain('warning: the receipt moves.jsonl is in a directory of profiles')
})

describe.skipIf(!hasSmallDisks)('a full disk', () => {
  test('is noticed before the claim', async () => {
    const disk = await smallDisk(1)
    const directory = directoryOf(someProfiles(2))
    const path = join(disk.path, 'receipt.jsonl')
    disk.fill()
    for (const args of [[], ['-n', '2'], ['--device', 'SN-1']]) {
      const hint = /free disk space, or name a file on another disk; nothing was claimed/
      expect(await next(directory, path, args)).toEqual(
        failure(9, /not enough disk space for the receipt .+/, hint),
      )
      expect(usedIn(directory)).toEqual([])
    }
    disk.clear()
    expect(await next(directory, path)).toMatchObject({ code: 0 })
    expect(receiptsIn(path)).toEqual([iccid(1)])
    await disk.close()
  })

  test('is no obstacle if the last block of the file has room', async () => {
    const disk = await smallDisk(1)
    const directory = directoryOf(someProfiles(1))
    const path = join(disk.path, 'receipt.jsonl')
    writeFileSync(path, RECEIPT)
    disk.fill()
    expect(await next(directory, path)).toMatchObject({ code: 0 })
    expect(receiptsIn(path).at(-1)).toBe(iccid(1))
    await disk.close()
  })

  test.skipIf(!isRunByNode)('after the claim: the hint says what to run, and what not', async () => {
    const disk = await smallDisk(1)
    const directory = directoryOf(someProfiles(4))
    const path = join(disk.path, 'receipt.jsonl')
    disk.fill()
    const say = async (...args: string[]) => (await next(directory, path, args, { env: NO_STATFS })).stderr
    const claimed = `softsim: error: claimed but not delivered: ${iccid(1)} (`
    const again = (text: string) => `--iccid ${text} --receipt ${path}\n`
    const one = await say()
    expect(one).toContain(claimed)
    expect(one).toMatch(
      /hint: free disk space; do not run the same command again: it takes another profile; to /,
    )
    expect(one.endsWith(again(iccid(1)))).toBe(true)
    const panel = await say('-n', '2')
    expect(panel).toContain('do not run the same command again: it takes other profiles; to ')
    expect(panel.endsWith(again('<ICCID>'))).toBe(true)
    // These take no other profile.
    const same = await say('--iccid', iccid(1))
    expect(
      same.endsWith(`hint: free disk space; to print it again: ${commandFor(directory)} ${again(iccid(1))}`),
    ).toBe(true)
    expect(await say('--device', 'SN-1')).toMatch(/hint: free disk space; run the same command again: each /)
    expect(usedIn(directory)).toHaveLength(4)
    disk.clear()
    expect(await next(directory, path, ['--iccid', iccid(1)])).toMatchObject({ code: 0 })
    expect(receiptsIn(path)).toEqual([iccid(1)])
    await disk.close()
  })
})

const commandFor = (directory: string) => `softsim next -k ${KEY} -i ${directory}`

test('a file that begins with anything else is refused, whatever its end', async () => {
  const directory = directoryOf(someProfiles(1))
  const path = join(temporaryDirectory(), 'receipt.jsonl')
  for (const before of ['{"timestamp":1}\n', `log\n${RECEIPT}`, `\n${RECEIPT}`, 'time', '{"iccid":"1"}']) {
    writeFileSync(path, before)
    expect(await next(directory, path)).toEqual(failure(2, /.* is not a file of receipts/, /.+/))
    expect(readFileSync(path, 'utf8')).toBe(before)
  }
  expect(usedIn(directory)).toEqual([])
})

describe.skipIf(!hasPosix)('rights', () => {
  test.each([0o700, 0o750, 0o770])('a new file is as private as the profiles: %o', async (mode) => {
    const directory = directoryOf(someProfiles(1))
    chmodSync(directory, mode)
    const path = join(temporaryDirectory(), 'receipt.jsonl')
    expect(await next(directory, path, [], { shell: 'umask 0; "$@"' })).toMatchObject({ code: 0 })
    expect((statSync(path).mode & 0o777).toString(8)).toBe((mode & 0o660).toString(8))
  })

  test('a file that is there keeps its own', async () => {
    const directory = directoryOf(someProfiles(1))
    const path = join(temporaryDirectory(), 'receipt.jsonl')
    writeFileSync(path, RECEIPT)
    chmodSync(path, 0o664)
    expect(await next(directory, path)).toMatchObject({ code: 0 })
    expect(statSync(path).mode & 0o777).toBe(0o664)
  })
})

test.skipIf(!hasPosix)('in a current directory that was deleted, nothing is claimed', async () => {
  const directory = directoryOf(someProfiles(2))
  const cwd = join(directory, '..')
  const relative = `../${basename(directory)}`
  const shell = 'mkdir gone && cd gone && rmdir ../gone && "$@"'
  for (const device of [[], ['--device', 'SN-1']]) {
    const run = await next(relative, join(cwd, 'receipt.jsonl'), device, { cwd, shell })
    expect(run).toMatchObject({ code: 9, stdout: '' })
    expect(run.stderr).toMatch(
      /^softsim: error: the current directory is gone\nsoftsim: hint: change to a directory .+\n$/,
    )
    expect([usedIn(directory), existsSync(join(cwd, 'receipt.jsonl'))]).toEqual([[], false])
  }
  expect(await next(directory, 'receipt.jsonl', [], { cwd, shell })).toMatchObject({
    code: 9,
    stderr: expect.stringMatching(/hint: change to a directory that exists: .+; nothing was claimed\n$/),
  })
  expect(usedIn(directory)).toEqual([])
  // With absolute names, nothing depends on it.
  expect(await next(directory, join(cwd, 'receipt.jsonl'), [], { cwd, shell })).toMatchObject({ code: 0 })
})

describe('next --receipt', () => {
  const nextOf = (directory: string, ...more: string[]) =>
    softsim(['next', '-k', KEY, '-i', directory, '--format=raw', ...more])
  const receiptIn = (path: string) => lines(readFileSync(path, 'utf8')).map((line) => JSON.parse(line))

  test('appends a line for each profile, with or without a device, and no secret', async () => {
    const directory = directoryOf(someProfiles(4))
    const path = join(temporaryDirectory(), 'receipt.jsonl')
    const before = '{"time":"2026-11-21T18:08:20.856Z","again":false}\n'
    appendFileSync(path, before)
    const runs = [
      await nextOf(directory, '--receipt', path, '--device', 'A'),
      await nextOf(directory, '--receipt', path, '--device', 'A'),
      await nextOf(directory, '--receipt', path, '-n', '2'),
      await nextOf(directory, '--receipt', path, '--iccid', iccid(1)),
    ]
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    const [earlier, ...told] = receiptIn(path)
    expect(`${JSON.stringify(earlier)}\n`).toBe(before)
    const line = {
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      station: expect.stringMatching(/./),
      directory,
    }
    expect(told).toEqual(
      [
        { device: 'A', iccid: iccid(1), again: false },
        { device: 'A', iccid: iccid(1), again: true },
        { device: null, iccid: iccid(2), again: false },
        { device: null, iccid: iccid(3), again: false },
        { device: 'A', iccid: iccid(1), again: true },
      ].map((each) => ({ ...line, ...each, file: `__${each.iccid}.json` })),
    )
    const { k } = JSON.parse(runs[0]?.stdout ?? '')
    expect(readFileSync(path, 'utf8')).not.toContain(k)
  })

  test.skipIf(!hasPosix)(
    'a new file is as private as the profiles, and another one keeps its mode',
    async () => {
      const directory = directoryOf(someProfiles(3))
      const path = join(temporaryDirectory(), 'receipt.jsonl')
      const modeAfter = async (receipt: string) => {
        expect(await nextOf(directory, '--receipt', receipt)).toMatchObject({ code: 0 })
        return (statSync(receipt).mode & 0o777).toString(8)
      }
      expect(await modeAfter(path)).toBe('600')
      chmodSync(path, 0o644)
      expect(await modeAfter(path)).toBe('644')
      chmodSync(directory, 0o770)
      expect(await modeAfter(`${path}.2`)).toBe('660')
    },
  )

  test('a file of something else is not spoiled: a key, a profile', async () => {
    const directory = directoryOf(someProfiles(2))
    for (const path of [KEY, join(directory, `${iccid(2)}.json`), directory, '/dev/null', '/dev/stdout']) {
      const isFile = existsSync(path) && statSync(path).isFile()
      const before = isFile ? readFileSync(path, 'utf8') : ''
      const why =
        / (is not a file of receipts|a receipt can't have the name of a profile)\nsoftsim: hint: .+\n$/
      const stderr = expect.stringMatching(why)
      expect(await nextOf(directory, '--receipt', path)).toMatchObject({ code: 2, stdout: '', stderr })
      if (isFile) expect(readFileSync(path, 'utf8')).toBe(before)
    }
    expect(usedIn(directory)).toEqual([])
  })

  test.skipIf(!hasPosix)('standard output, or a pipe without a reader, is refused at once', async () => {
    const directory = directoryOf(someProfiles(2))
    const path = join(temporaryDirectory(), 'out')
    const args = ['next', '-k', KEY, '-i', directory, '--receipt', path]
    expect(await softsim(args, { shell: `"$@" > '${path}'` })).toMatchObject({ code: 2 })
    execFileSync('mkfifo', [`${path}.pipe`])
    expect(await nextOf(directory, '--receipt', `${path}.pipe`)).toMatchObject({ code: 2 })
    expect(usedIn(directory)).toEqual([])
  })

  test('a file that can not be written is found out before the claim', async () => {
    const directory = directoryOf(someProfiles(1))
    const path = join(temporaryDirectory(), 'missing', 'receipt.jsonl')
    expect(await nextOf(directory, '--receipt', path)).toEqual(failure(9, /can't write the receipt .*/, /.+/))
    expect([unusedIn(directory).length, existsSync(path)]).toEqual([1, false])
  })
})
