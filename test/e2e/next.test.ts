import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, inject, test } from 'vitest'
import {
  addProfile,
  directoryOf,
  namesIn,
  someProfiles,
  temporaryDirectory,
  unusedIn,
  usedIn,
} from '../support/directory.ts'
import { iccid, plainProfile } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'
import { hasPosix } from '../support/system.ts'
import { dataOf, readTlv } from '../support/tlv.ts'

const { privateKeyPath: KEY } = inject('keys')
const next = (directory: string, ...more: string[]) => softsim(['next', '-k', KEY, '-i', directory, ...more])

const swapped = (text: string) => text.replace(/(.)(.)/g, '$2$1')
const ascii = (text: string | undefined) => Buffer.from(text ?? '', 'hex').toString()
/** The digits of the ICCID in a line of hex. */
const iccidOf = (line: string) => swapped(dataOf(line, '02') ?? '').replace(/f$/, '')

describe('formats', () => {
  test('hex contains the plaintext', async () => {
    const directory = directoryOf(someProfiles(1))
    const { stdout, code } = await next(directory)
    expect(code).toBe(0)
    expect(lines(stdout)).toHaveLength(1)
    const text = stdout.trimEnd()
    const plain = plainProfile(1)
    expect(iccidOf(text)).toBe(plain.iccid)
    expect(swapped((dataOf(text, '01') ?? '').slice(2)).slice(1)).toBe(plain.imsi)
    expect(['03', '04', '05', '06'].map((tag) => dataOf(text, tag))).toEqual(
      [plain.opc, plain.k, plain.kic, plain.kid].map((key) => key.toLowerCase()),
    )
    expect(['08', '0b', '0a'].map((tag) => ascii(dataOf(text, tag)))).toEqual([
      plain.pin,
      plain.puk,
      plain.adm,
    ])
    expect(dataOf(text, '0c')).toBe('0791447779078484ffffffff')
    expect(dataOf(text, '07')).toBeUndefined()
    expect(dataOf(text, 'fe')).toBe(crc32(text.slice(0, -12)).toString(16).padStart(8, '0'))
  })

  test.each(['--format=json', '--format=raw'])('%s contains the plaintext', async (format) => {
    const { stdout } = await next(directoryOf(someProfiles(1)), format)
    expect(lines(stdout)).toHaveLength(1)
    const printed = JSON.parse(stdout)
    expect(format === '--format=raw' ? printed : printed.profile).toEqual(plainProfile(1))
  })

  test.each([['--no-crc', '--smsp', '--no-smsc'], ['--smsp']])(
    'the hex in json is the output of hex with the same flags: %s %s %s',
    async (...flags) => {
      const { stdout: json } = await next(directoryOf(someProfiles(1)), '--format=json', ...flags)
      const { stdout: hex } = await next(directoryOf(someProfiles(1)), ...flags)
      const entries: { name: string; content: string }[] = JSON.parse(json).additional_fields
      expect(entries.find(({ name }) => name === 'Hex encoded profile')?.content).toBe(hex.trimEnd())
    },
  )

  test('--smsp and --no-smsc', async () => {
    const { stdout } = await next(directoryOf(someProfiles(1)), '--smsp', '--no-smsc')
    const records = readTlv(stdout.trimEnd())
    expect(records.find(({ tag }) => tag === '07')?.data).toBe(plainProfile(1).smsp.toLowerCase())
    expect(records.map(({ tag }) => tag)).not.toContain('0c')
  })

  test('--no-crc leaves out the CRC, and --crc, which older scripts use, has no effect', async () => {
    const [usual, without, old] = await Promise.all(
      [[], ['--no-crc'], ['--crc']].map((flags) => next(directoryOf(someProfiles(1)), ...flags)),
    )
    expect(usual?.stdout).toMatch(/^[0-9a-f]*fe08[0-9a-f]{8}\n$/)
    expect(without?.stdout).toBe(usual?.stdout.replace(/.{12}\n$/, '\n'))
    expect(old?.stdout).toBe(usual?.stdout)
  })

  test('an ADM of 16 hex digits is handed out', async () => {
    const directory = directoryOf([])
    addProfile(directory, plainProfile(1), { adm: '00112233AABBCCDD' })
    const { code, stdout, stderr } = await next(directory)
    expect([code, stderr]).toEqual([0, ''])
    expect(dataOf(stdout.trimEnd(), '0a')).toBe(Buffer.from('00112233AABBCCDD').toString('hex'))
  })

  test('fields that are missing in the plaintext are missing in the hex', async () => {
    const directory = directoryOf([])
    const absent = { pin: undefined, puk: null, adm: '', smsp: null, smsc: null }
    addProfile(directory, plainProfile(1), absent)
    const { stdout } = await next(directory, '--smsp')
    expect(readTlv(stdout.trimEnd()).map(({ tag }) => tag)).toEqual('01 02 03 04 05 06 fe'.split(' '))
  })
})

describe('order', () => {
  test('the lowest name first, each profile once, until none is left', async () => {
    const directory = directoryOf(someProfiles(4))
    const printed: string[] = []
    for (let run = await next(directory); run.code === 0; run = await next(directory)) {
      printed.push(iccidOf(run.stdout.trimEnd()))
      expect(usedIn(directory)).toHaveLength(printed.length)
    }
    expect(printed).toEqual([1, 2, 3, 4].map((n) => iccid(n)))
    expect(unusedIn(directory)).toEqual([])
  })

  test('the lowest first, also where ICCIDs do not begin with 89', async () => {
    const iccids = ['88000000000000000001', '89000000000000000002', '90000000000000000003']
    const directory = directoryOf(iccids.toReversed().map((each) => ({ ...plainProfile(1), iccid: each })))
    const { stdout } = await next(directory, '-n', '3')
    expect(lines(stdout).map(iccidOf)).toEqual(iccids)
  })

  test('the used file has the profile, who claimed it, and when', async () => {
    const directory = directoryOf(someProfiles(2))
    const [first = '', second] = unusedIn(directory)
    const before = JSON.parse(readFileSync(join(directory, first), 'utf8'))
    await next(directory)
    expect(namesIn(directory)).toEqual([`__${first}`, second].sort())
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    const who = { station: hostname(), claimed: time, file: first, claim: expect.stringMatching(/./) }
    expect(JSON.parse(readFileSync(join(directory, `__${first}`), 'utf8'))).toEqual({ ...before, ...who })
  })

  test('profiles that are added later are handed out too', async () => {
    const directory = directoryOf(someProfiles(1))
    await next(directory)
    addProfile(directory, plainProfile(2))
    const { code, stdout } = await next(directory)
    expect([code, iccidOf(stdout.trimEnd())]).toEqual([0, iccid(2)])
  })

  test('a profile that is put back by hand is handed out again', async () => {
    const directory = directoryOf(someProfiles(2))
    const [first = ''] = unusedIn(directory)
    await next(directory)
    renameSync(join(directory, `__${first}`), join(directory, first))
    const again = [await next(directory), await next(directory)].map(({ stdout }) =>
      iccidOf(stdout.trimEnd()),
    )
    expect(again.sort()).toEqual([iccid(1), iccid(2)])
  })

  test('a profile with both an unused and a used file counts as used', async () => {
    const directory = directoryOf(someProfiles(2))
    const [first = ''] = unusedIn(directory)
    copyFileSync(join(directory, first), join(directory, `__${first}`))
    expect(iccidOf((await next(directory)).stdout.trimEnd())).toBe(iccid(2))
    expect(await next(directory)).toEqual(failure(3, /no unused profile .*/))
    expect(unusedIn(directory)).toEqual([])
  })

  test('a profile that is used under another spelling of its ICCID counts as used', async () => {
    const directory = directoryOf([])
    const plain = plainProfile(1, 19)
    const name = addProfile(directory, plain)
    copyFileSync(join(directory, name), join(directory, `${plain.iccid}F.json`))
    expect(await next(directory)).toMatchObject({ code: 0 })
    expect(await next(directory)).toMatchObject({ code: 3 })
  })
})

test('the lists and notes of another tool in the directory are ignored', async () => {
  const directory = directoryOf(someProfiles(1))
  for (const name of ['profiles.json', 'profiles-old.json', '.hidden.json', 'notes.txt', '8988.json.bak']) {
    writeFileSync(join(directory, name), '[{"iccid":"8988"}]')
  }
  expect(await next(directory)).toMatchObject({ code: 0, stderr: '' })
  expect(await next(directory)).toEqual(failure(3, /no unused profile .*/))
})

test('-v reports the ICCID, the file and how many profiles are left', async () => {
  const directory = directoryOf(someProfiles(3))
  const [first = ''] = unusedIn(directory)
  const { stdout, stderr } = await next(directory, '-v')
  expect(lines(stdout)).toHaveLength(1)
  expect(stderr).toContain(iccid(1))
  expect(stderr).toContain(`__${first}`)
  expect(stderr).toMatch(/\b2 .*left/)
})

test('without -i the directory is ./profiles', async () => {
  const directory = directoryOf(someProfiles(1))
  expect(await softsim(['next', '-k', KEY], { cwd: join(directory, '..') })).toMatchObject({ code: 0 })
  expect(usedIn(directory)).toHaveLength(1)
})

test('a key with a passphrase', async () => {
  const directory = directoryOf(someProfiles(1))
  const locked = join(temporaryDirectory(), 'locked.pem')
  copyFileSync(KEY, locked)
  execFileSync('ssh-keygen', ['-q', '-p', '-m', 'PEM', '-f', locked, '-N', 'correct horse'])
  const args = ['next', '-k', locked, '-i', directory]
  expect(await softsim(args)).toEqual(failure(4, /.*passphrase.*/, /.*SOFTSIM_KEY_PASSPHRASE.*/))
  const wrong = await softsim(args, { env: { SOFTSIM_KEY_PASSPHRASE: 'wrong horse' } })
  expect(wrong).toEqual(failure(4, /the passphrase does not decrypt .*/))
  expect(usedIn(directory)).toEqual([])
  expect(await softsim(args, { env: { SOFTSIM_KEY_PASSPHRASE: 'correct horse' } })).toMatchObject({ code: 0 })
})

describe('--count', () => {
  test('takes that many, one per line', async () => {
    const directory = directoryOf(someProfiles(5))
    const { code, stdout } = await next(directory, '-n', '3')
    expect([code, lines(stdout).map(iccidOf)]).toEqual([0, [iccid(1), iccid(2), iccid(3)]])
    expect(usedIn(directory)).toHaveLength(3)
  })

  test('takes all of them or none', async () => {
    const directory = directoryOf(someProfiles(2))
    expect(await next(directory, '-n', '3')).toEqual(failure(3, /.*2 of 3 .*/))
    expect(usedIn(directory)).toEqual([])
    expect(await next(directory, '-n', '2')).toMatchObject({ code: 0 })
  })
})

describe('--iccid', () => {
  test('takes that profile, and prints it again with a warning', async () => {
    const directory = directoryOf(someProfiles(3))
    const first = await next(directory, '--iccid', iccid(2))
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(iccidOf(first.stdout.trimEnd())).toBe(iccid(2))
    expect(usedIn(directory)).toEqual([`__${iccid(2)}.json`])

    const again = await next(directory, '--iccid', iccid(2))
    expect(again.stdout).toBe(first.stdout)
    expect(again.stderr).toMatch(/^softsim: warning: .*before.*\n$/)
    expect(usedIn(directory)).toHaveLength(1)
  })

  test.each(['F', 'f'])(
    'a filler %s in the option or in the file name means the same profile',
    async (filler) => {
      const plain = plainProfile(1, 19)
      const filled = plain.iccid + filler
      const directory = directoryOf([])
      const name = addProfile(directory, plain)
      const first = await next(directory, '--iccid', filled)
      expect(first).toMatchObject({ code: 0, stderr: '' })
      expect(iccidOf(first.stdout.trimEnd())).toBe(plain.iccid)
      expect(usedIn(directory)).toEqual([`__${name}`])

      const other = directoryOf([])
      renameSync(join(directory, `__${name}`), join(other, `${filled}.json`))
      const second = await next(other, '--iccid', plain.iccid)
      expect(second).toEqual(first)
      expect(namesIn(other)).toEqual([`__${filled}.json`])
      const again = await next(other, '--iccid', plain.iccid)
      expect([again.code, again.stdout]).toEqual([0, first.stdout])
      expect(again.stderr).toMatch(/^softsim: warning: .*before.*\n$/)
    },
  )

  test('that does not exist', async () => {
    expect(await next(directoryOf(someProfiles(1)), '--iccid', iccid(9))).toEqual(
      failure(3, RegExp(`.*${iccid(9)}.*`)),
    )
  })
})

test.skipIf(process.platform !== 'linux')(
  'an IPC channel of a parent Node that is closed: never a profile and a failure',
  async () => {
    const directory = directoryOf(someProfiles(12))
    // Node opens files of its own under these numbers.
    for (const descriptor of ['3', '4', '5', '6', '7', '8', '9', '10', '11']) {
      const run = await softsim(['next', '-k', KEY, '-i', directory], {
        env: { NODE_CHANNEL_FD: descriptor },
        shell: '"$@" 3<&-',
      })
      expect([0, 2], descriptor).toContain(run.code)
      if (run.code === 2) expect(run).toEqual(failure(2, /NODE_CHANNEL_FD .*/, /unset NODE_CHANNEL_FD/))
    }
  },
)

test.skipIf(!hasPosix)(
  'does not wait for the IPC channel of a parent Node whose descriptor is now another file',
  async () => {
    const directory = directoryOf(someProfiles(1))
    const run = await softsim(['next', '-k', KEY, '-i', directory], {
      env: { NODE_CHANNEL_FD: '3' },
      shell: '"$@" 3< /dev/null',
    })
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(lines(run.stdout)).toHaveLength(1)
  },
)
