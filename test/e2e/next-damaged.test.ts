import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { addProfile, directoryOf, namesIn, temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'
import { hasPosix, hasSymlinks, isWindows, modesCount } from '../support/system.ts'

const { privateKeyPath: KEY, publicKey } = inject('keys')
const next = (directory: string, ...more: string[]) => softsim(['next', '-k', KEY, '-i', directory, ...more])

/** The name of the file that is tried first. */
const FIRST = `${iccid(1)}.json`
const otherKey = inject('otherKeys')

/** One flipped bit in the ciphertext. */
function flipped(text: string): string {
  const stored = JSON.parse(text)
  const bytes = Buffer.from(stored.profile, 'base64')
  bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100)
  return JSON.stringify({ ...stored, profile: bytes.toString('base64') })
}

const whole = storedFile(plainProfile(1), publicKey)
const unfit = (changes: object) => storedFile({ ...plainProfile(1), ...changes }, publicKey)

/** In each of these directories the first file is spoilt, and the second and third are good. */
async function expectSkipped(directory: string): Promise<void> {
  addProfile(directory, plainProfile(2))
  addProfile(directory, plainProfile(3))
  const { code, stdout, stderr } = await next(directory, '--format=raw')
  expect([code, JSON.parse(stdout).iccid]).toEqual([0, iccid(2)])
  expect(lines(stderr)).toEqual([expect.stringMatching(RegExp(`^softsim: warning: ${FIRST} .+`))])
  expect(namesIn(directory)).toEqual([FIRST, `${iccid(3)}.json`, `__${iccid(2)}.json`])
}

describe('a file that can’t be handed out is named and left unchanged, and the next one is taken', () => {
  test.each([
    ['is empty', ''],
    ['is torn', whole.slice(0, 300)],
    ['is not JSON', 'garbage'],
    ['holds something else', '{"name":"softsim"}'],
    ['is torn and padded with zeros', whole.slice(0, 300).padEnd(700, '\0')],
    ['has one flipped bit', flipped(whole)],
    ['is of another key', storedFile(plainProfile(1), otherKey.publicKey)],
    ['has a profile without K', unfit({ k: null })],
    ['has a profile with a short OPc', unfit({ opc: 'ABCD' })],
    ['has the profile of another ICCID inside', unfit({ iccid: iccid(1) }).replace(iccid(1), iccid(9))],
    [
      'has another ICCID encrypted in it',
      JSON.stringify({ ...JSON.parse(storedFile(plainProfile(4), publicKey)), iccid: iccid(1) }),
    ],
    ['is larger than any profile', `${whole}${' '.repeat(10_000_000)}`],
  ])('a file that %s', async (_, text) => {
    const directory = directoryOf([])
    writeFileSync(join(directory, FIRST), text)
    await expectSkipped(directory)
    expect(readFileSync(join(directory, FIRST), 'utf8')).toBe(text)
  })

  test('a directory with the name of a profile', async () => {
    const directory = directoryOf([])
    mkdirSync(join(directory, FIRST))
    await expectSkipped(directory)
    expect(statSync(join(directory, FIRST)).isDirectory()).toBe(true)
  })

  test.skipIf(!hasPosix)('a named pipe', async () => {
    const directory = directoryOf([])
    execFileSync('mkfifo', [join(directory, FIRST)])
    await expectSkipped(directory)
    expect(statSync(join(directory, FIRST)).isFIFO()).toBe(true)
  })

  test.skipIf(!hasPosix)('a named pipe with a good profile in it, which its reader still gets', async () => {
    const directory = directoryOf([])
    const path = join(directory, FIRST)
    execFileSync('mkfifo', [path])
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    writeSync(pipe, whole)
    await expectSkipped(directory)
    const bytes = Buffer.alloc(whole.length)
    expect(bytes.toString('utf8', 0, readSync(pipe, bytes))).toBe(whole)
    closeSync(pipe)
  })

  test.skipIf(!hasSymlinks)('a link to nowhere', async () => {
    const directory = directoryOf([])
    symlinkSync('nowhere', join(directory, FIRST))
    await expectSkipped(directory)
  })

  test.skipIf(!hasSymlinks || isWindows)('a link to a good profile outside the directory', async () => {
    const directory = directoryOf([])
    const outside = join(temporaryDirectory(), FIRST)
    writeFileSync(outside, whole)
    symlinkSync(outside, join(directory, FIRST))
    await expectSkipped(directory)
    expect(readFileSync(outside, 'utf8')).toBe(whole)
  })

  test.skipIf(!modesCount)('a file without read permission', async () => {
    const directory = directoryOf([plainProfile(1)])
    chmodSync(join(directory, FIRST), 0)
    await expectSkipped(directory)
  })
})

test('a name that is not an ICCID is reported when nothing else is left', async () => {
  const directory = directoryOf([])
  writeFileSync(join(directory, 'backup.json'), whole)
  const { code, stderr } = await next(directory)
  expect(code).toBe(3)
  expect(stderr).toMatch(/^softsim: warning: backup\.json .+/m)
  // status does not count it as a profile either.
  expect(await softsim(['status', '-i', directory])).toMatchObject({ code })
})

test.skipIf(isWindows)('control characters in a name do not reach the terminal', async () => {
  const directory = directoryOf([])
  writeFileSync(join(directory, 'a\u001b[2J\nb.json'), whole)
  const { code, stderr } = await next(directory)
  expect(code).toBe(3)
  expect(stderr).toContain('a\\u{1b}[2J\\u{a}b.json')
})

test('many bad files give few warnings, and the good file after them is found', async () => {
  const directory = directoryOf([plainProfile(200)])
  for (let n = 1; n <= 150; n++) writeFileSync(join(directory, `${iccid(n)}.json`), 'garbage')
  const { code, stdout, stderr } = await next(directory, '--format=raw')
  expect([code, JSON.parse(stdout).iccid]).toEqual([0, iccid(200)])
  expect(lines(stderr).length).toBeLessThan(50)
  expect(stderr).toMatch(/\d+ more/)
})

test('a repaired file is handed out', async () => {
  const directory = directoryOf([plainProfile(2)])
  writeFileSync(join(directory, FIRST), 'garbage')
  expect(await next(directory)).toMatchObject({ code: 0 })
  rmSync(join(directory, FIRST))
  addProfile(directory, plainProfile(1))
  expect(await next(directory)).toMatchObject({ code: 0, stderr: '' })
  expect(usedIn(directory)).toHaveLength(2)
})

test('all files of another key: the key is wrong, and nothing is claimed', async () => {
  const directory = directoryOf([])
  for (let n = 1; n <= 8; n++) {
    writeFileSync(join(directory, `${iccid(n)}.json`), storedFile(plainProfile(n), otherKey.publicKey))
  }
  const { code, stdout, stderr } = await next(directory)
  expect([code, stdout]).toEqual([4, ''])
  expect(stderr).toMatch(/^softsim: error: the private key does not decrypt these profiles/m)
  expect(usedIn(directory)).toEqual([])
})

describe('files in a row that the key does not decrypt', () => {
  const KINDS = {
    good: (n: number) => storedFile(plainProfile(n), publicKey),
    locked: (n: number) => storedFile(plainProfile(n), otherKey.publicKey),
    unfit: (n: number) => storedFile({ ...plainProfile(n), k: null }, publicKey),
  }
  type Kind = keyof typeof KINDS

  /** A directory of these files, in this order. */
  function directoryOfKinds(kinds: readonly Kind[]): string {
    const directory = directoryOf([])
    for (const [at, kind] of kinds.entries())
      writeFileSync(join(directory, `${iccid(at + 1)}.json`), KINDS[kind](at + 1))
    return directory
  }

  const four: Kind[] = ['locked', 'locked', 'locked', 'locked']

  test('five mean that the key is wrong, whatever follows them', async () => {
    const directory = directoryOfKinds([...four, 'locked', 'good'])
    const { code, stdout, stderr } = await next(directory)
    expect([code, stdout]).toEqual([4, ''])
    expect(stderr).toMatch(/^softsim: error: the private key does not decrypt these profiles \(5 tried\)$/m)
    expect(usedIn(directory)).toEqual([])
  })

  test('four do not mean that', async () => {
    const directory = directoryOfKinds([...four, 'good'])
    expect(await next(directory)).toMatchObject({ code: 0 })
    expect(usedIn(directory)).toEqual([`__${iccid(5)}.json`])
  })

  test.each<Kind>(['good', 'unfit'])(
    'four, then a file that is %s, then four do not mean that',
    async (between) => {
      const directory = directoryOfKinds([...four, between, ...four, 'good', 'good'])
      const { code, stdout } = await next(directory, '-n', '2')
      expect([code, lines(stdout).length]).toEqual([0, 2])
    },
  )
})

test('a byte order mark is no damage: in an unused file, a used one and a moved one', async () => {
  const directory = directoryOf([])
  for (const n of [1, 2, 3])
    writeFileSync(join(directory, `${iccid(n)}.json`), `\ufeff${storedFile(plainProfile(n), publicKey)}`)
  const status = await softsim(['status', '-i', directory, '-k', KEY, '--format=json'])
  expect(JSON.parse(status.stdout)).toMatchObject({ usable: 3, damaged: 0 })
  const first = await next(directory)
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(await next(directory, '--iccid', iccid(1))).toMatchObject({ code: 0, stdout: first.stdout })
  const second = await next(directory, '--device', 'SN-1')
  expect(second).toMatchObject({ code: 0, stderr: '' })
  expect(await next(directory, '--device', 'SN-1')).toMatchObject({ code: 0, stdout: second.stdout })
  const moved = join(temporaryDirectory(), 'moved')
  await softsim(['move', '--all', '-i', directory, '-o', moved])
  expect(await next(moved)).toMatchObject({ code: 0, stderr: '' })
})

test('the key does not decrypt the only file: it is named, and the key may be wrong', async () => {
  const directory = directoryOf([])
  writeFileSync(join(directory, FIRST), flipped(whole))
  writeFileSync(join(directory, `${iccid(2)}.json`), 'garbage')
  const { code, stdout, stderr } = await next(directory)
  expect([code, stdout]).toEqual([4, ''])
  for (const n of [1, 2]) expect(stderr).toMatch(RegExp(`^softsim: warning: ${iccid(n)}\\.json .+`, 'm'))
  expect(stderr).toMatch(/^softsim: error: the private key does not decrypt these profiles \(1 tried\)$/m)
})
