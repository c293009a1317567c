/** Two users of a group at the stations of one directory, as the manual makes it; only root can try that. */
import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { directoryOf, someProfiles } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { program } from '../support/softsim.ts'

/** Numbers are enough: the system need not know the users. */
const GROUP = 53_000
const [ANN, BOB] = [53_001, 53_002]

const [file = '', ...words] = program()
const as = (uid: number, ...args: string[]) =>
  spawnSync(file, [...words, ...args], { uid, gid: GROUP, encoding: 'utf8', cwd: '/' })

const canTry = process.platform === 'linux' && process.getuid?.() === 0 && as(ANN, '--version').status === 0

test.skipIf(!canTry)('each repeats the devices of the other, and takes new profiles', () => {
  const place = fs.mkdtempSync(join(tmpdir(), 'softsim-group-'))
  onTestFinished(() => fs.rmSync(place, { recursive: true }))
  fs.chmodSync(place, 0o755)
  const [directory, key] = [join(place, 'profiles'), join(place, 'softsim.pem')]
  execFileSync('install', ['-d', '-m', '2770', '-g', String(GROUP), directory])
  const stock = directoryOf(someProfiles(5))
  /** As a `fetch` of Ann leaves it. */
  const put = (from: string, to: string) => {
    fs.copyFileSync(from, to)
    fs.chownSync(to, ANN, GROUP)
    fs.chmodSync(to, 0o660)
  }
  put(inject('keys').privateKeyPath, key)
  for (const name of fs.readdirSync(stock)) put(join(stock, name), join(directory, name))
  const next = (uid: number, serial: string) => {
    const { status, stdout, stderr } = as(uid, 'next', '-k', key, '-i', directory, '--device', serial)
    expect(status, stderr).toBe(0)
    return stdout
  }

  const first = next(ANN, 'SN-1')
  expect(next(BOB, 'SN-1')).toBe(first)
  const second = next(BOB, 'SN-2')
  expect(next(ANN, 'SN-2')).toBe(second)

  // Ann's call is killed after it assigned a profile, before it claimed it. Bob must link a file that is hers.
  const third = next(ANN, 'SN-3')
  fs.rmSync(join(directory, `__${iccid(3)}.json`))
  put(join(stock, `${iccid(3)}.json`), join(directory, `${iccid(3)}.json`))
  expect(next(BOB, 'SN-3')).toBe(third)
  expect(fs.existsSync(join(directory, `${iccid(3)}.json`))).toBe(false)
  expect(JSON.parse(fs.readFileSync(join(directory, `__${iccid(3)}.json`), 'utf8')).device).toBe('SN-3')

  const fourth = next(BOB, 'SN-4')
  expect(new Set([first, second, third, fourth]).size).toBe(4)
  const open = fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => fs.statSync(join(each.parentPath, each.name)))
    .filter(({ gid, mode }) => gid !== GROUP || (mode & 0o777) !== 0o660)
  expect(open).toEqual([])
  expect(next(ANN, 'SN-5')).not.toBe('')

  // As root restores the directory of one user: its file can't be read then, and so nobody can tell that it is a copy.
  fs.chmodSync(join(directory, '.identity'), 0o600)
  fs.chownSync(join(directory, '.identity'), 0, 0)
  expect(as(ANN, 'next', '-k', key, '-i', directory).status).toBe(9)
})
