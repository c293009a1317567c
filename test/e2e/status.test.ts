import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { formatAnswer, newAnswerName } from '../../src/store/incoming/answers.ts'
import { addProfile, directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'
import { hasPosix } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')
const { privateKeyPath: OTHER_KEY, publicKey: OTHER_PUBLIC_KEY } = inject('otherKeys')

const status = (directory: string, ...args: string[]) => softsim(['status', '-i', directory, ...args])
const next = (directory: string, ...args: string[]) =>
  softsim(['next', '-k', KEY, '-i', directory, ...args], { env: { SOFTSIM_DEVICE_FORMAT: '.+' } })

/** Everything that a look must leave alone: names, times and contents. */
function everythingIn(directory: string): unknown[] {
  return readdirSync(directory, { recursive: true })
    .map(String)
    .sort()
    .map((name) => {
      const path = join(directory, name)
      const { mtimeMs, mode, ino } = lstatSync(path)
      return [name, mtimeMs, mode, ino, lstatSync(path).isFile() ? readFileSync(path, 'utf8') : '']
    })
}

/** Eight profiles: one used, one of a device, one damaged, one half claimed, one with a link; an answer of two. */
async function eventful(): Promise<string> {
  const directory = directoryOf(someProfiles(8))
  await next(directory)
  await next(directory, '--device', 'SN "1", a')
  writeFileSync(join(directory, `${iccid(3)}.json`), '{"iccid":')
  writeFileSync(join(directory, `__${iccid(4)}.json`), '')
  renameSync(join(directory, `${iccid(5)}.json`), join(directory, 'elsewhere'))
  symlinkSync('elsewhere', join(directory, `${iccid(5)}.json`))
  writeFileSync(join(directory, 'hello.json'), '{}')
  mkdirSync(join(directory, '.incoming'))
  const answer = formatAnswer([11, 12].map((n) => ({ iccid: iccid(n), profile: 'AAAA' })))
  const name = newAnswerName().replace(`~${process.pid}~`, '~4194999~')
  writeFileSync(join(directory, '.incoming', `${name}.answer`), answer)
  return directory
}

const COUNTS = { unused: 5, used: 3, unfinished: 1, notProfiles: 1, received: 2 }
const UNFINISHED = `softsim: warning: ${iccid(4)}.json: a call is claiming it, or was killed while it did; do not move it\n`
const FOREIGN = 'softsim: warning: hello.json is no profile: its name is not an ICCID and .json\n'
const NONE_MOVED = { moved: 0, inTransit: 0 }
const UNCHECKED = {
  checked: null,
  usable: null,
  damaged: null,
  locked: null,
  unfit: null,
  held: null,
  ...NONE_MOVED,
  unreadable: null,
  identity: 'original',
  unanswered: 0,
  version: 1,
}
const CHECKED = {
  checked: 5,
  usable: 3,
  damaged: 2,
  locked: 0,
  unfit: 0,
  held: 0,
  ...NONE_MOVED,
  unreadable: 0,
  identity: 'original',
  unanswered: 0,
  version: 1,
}

describe('status', () => {
  test.each(['text', 'json', 'csv'])('counts, and changes nothing (%s)', async (format) => {
    const directory = await eventful()
    const before = everythingIn(directory)
    const run = await status(directory, `--format=${format}`)
    expect(run).toMatchObject({ code: 0, stderr: UNFINISHED + FOREIGN })
    if (format === 'json') expect(JSON.parse(run.stdout)).toEqual({ directory, ...COUNTS, ...UNCHECKED })
    if (format === 'csv') {
      const header = Object.keys({ directory, ...COUNTS, ...UNCHECKED }).join()
      expect(run.stdout).toBe(`${header}\r\n${directory},5,3,1,1,2,,,,,,,0,0,,original,0,1\r\n`)
    }
    if (format === 'text') {
      expect(lines(run.stdout)[0]).toBe(directory)
      expect(run.stdout).toMatch(/^ +unused +5$/m)
      expect(run.stdout).toMatch(/^ +used +3$/m)
    }
    expect(everythingIn(directory)).toEqual(before)
  })

  test('with the key it opens the unused profiles, and takes none', async () => {
    const directory = await eventful()
    const before = everythingIn(directory)
    const run = await status(directory, '-k', KEY, '--format=json')
    expect([run.code, JSON.parse(run.stdout)]).toEqual([0, { directory, ...COUNTS, ...CHECKED }])
    expect(lines(run.stderr)).toEqual([
      expect.stringMatching(`^softsim: warning: ${iccid(3)}\\.json: `),
      expect.stringMatching(`^softsim: warning: ${iccid(5)}\\.json: `),
      UNFINISHED.trimEnd(),
      FOREIGN.trimEnd(),
      expect.stringMatching('^softsim: warning: 2 files damaged: move '),
    ])
    expect(everythingIn(directory)).toEqual(before)
  })

  test('-n checks that many at most', async () => {
    const directory = directoryOf(someProfiles(4))
    const { stdout } = await status(directory, '-k', KEY, '-n', '3', '--format=json')
    expect(JSON.parse(stdout)).toMatchObject({ unused: 4, checked: 3, usable: 3 })
  })

  test('more than are checked at once', async () => {
    const directory = directoryOf(someProfiles(130))
    const { stdout } = await status(directory, '-k', KEY, '--format=json')
    expect(JSON.parse(stdout)).toMatchObject({ unused: 130, checked: 130, usable: 130 })
  })

  test('the wrong key: it prints the counts and fails', async () => {
    const directory = directoryOf(someProfiles(7))
    const run = await status(directory, '-k', OTHER_KEY, '--format=json')
    expect([run.code, JSON.parse(run.stdout)]).toMatchObject([4, { checked: 7, usable: 0, locked: 7 }])
    expect(run.stderr).toMatch(/^softsim: error: the private key does not decrypt .*\(7 tried\)$/m)
  })

  test('what is no profile is named, and not counted as one', async () => {
    const directory = directoryOf(someProfiles(2))
    const copy = `${iccid(1)} (1).json`
    for (const name of ['package.json', '{}.json', copy, `__${copy}`])
      writeFileSync(join(directory, name), '{}')
    const { code, stdout, stderr } = await status(directory, '--format=json')
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { unused: 2, used: 0, notProfiles: 4 }])
    expect(lines(stderr)).toEqual([
      `softsim: warning: ${copy} is no profile: its name is that of a copy of ${iccid(1)}.json`,
      `softsim: warning: __${copy} is no profile: its name is that of a copy of __${iccid(1)}.json`,
      'softsim: warning: package.json is no profile: its name is not an ICCID and .json',
      'softsim: warning: {}.json is no profile: its name is not an ICCID and .json',
    ])
  })

  test('the wrong key for many: it says so at the beginning', async () => {
    const directory = directoryOf(someProfiles(66))
    const { code, stderr } = await status(directory, '-k', OTHER_KEY)
    expect([code, lines(stderr)[0]]).toEqual([
      4,
      expect.stringMatching(/^softsim: warning: the key does not decrypt the first profiles: /),
    ])
    expect(stderr).toContain("warning: 46 more can't be used; -v names them")
    const all = await status(directory, '-k', OTHER_KEY, '-v')
    for (const { iccid } of someProfiles(66)) expect(all.stderr).toContain(`${iccid}.json: `)
  })

  test('every kind is counted and named, whatever comes first, and the exit code is 0', async () => {
    const directory = directoryOf(someProfiles(6).slice(5))
    for (const each of someProfiles(5))
      writeFileSync(join(directory, `${each.iccid}.json`), storedFile(each, OTHER_PUBLIC_KEY))
    addProfile(directory, plainProfile(7), { k: null })
    writeFileSync(join(directory, `${iccid(8)}.json`), '{}')
    const { code, stdout, stderr } = await status(directory, '-k', KEY, '--format=json')
    const counts = { checked: 8, usable: 1, locked: 5, unfit: 1, damaged: 1, held: 0 }
    expect([code, JSON.parse(stdout)]).toMatchObject([0, counts])
    for (const n of [1, 2, 3, 4, 5, 7, 8]) expect(stderr).toContain(`warning: ${iccid(n)}.json: `)
    expect(lines(stderr).slice(7)).toEqual([
      expect.stringMatching(/: warning: 1 file damaged: move .*ask the service provider/),
      expect.stringMatching(/: warning: 5 files not decrypted by the key: move .*directory of their own/),
      expect.stringMatching(/: warning: 1 file rejected by a device: move .*tell the service provider/),
    ])
  })

  test('a profile that a device would reject shows that the key is right', async () => {
    const directory = directoryOf([])
    addProfile(directory, plainProfile(1), { k: 'short' })
    const other = storedFile(plainProfile(2), OTHER_PUBLIC_KEY)
    writeFileSync(join(directory, `${iccid(2)}.json`), other)
    const run = await status(directory, '-k', KEY, '--format=json')
    expect([run.code, JSON.parse(run.stdout)]).toMatchObject([5, { unfit: 1, locked: 1, usable: 0 }])
  })

  test('no unused profile, or none that can be used: it prints the counts and fails', async () => {
    const directory = directoryOf(someProfiles(1))
    await next(directory)
    const empty = await status(directory, '--format=json')
    expect([empty.code, JSON.parse(empty.stdout)]).toMatchObject([3, { unused: 0, used: 1 }])
    writeFileSync(join(directory, `${iccid(2)}.json`), '{}')
    const damaged = await status(directory, '-k', KEY, '--format=json')
    expect([damaged.code, JSON.parse(damaged.stdout)]).toMatchObject([5, { unused: 1, damaged: 1 }])
  })

  test('--devices lists who has what, in each format', async () => {
    const directory = await eventful()
    const record = { claimed: expect.stringMatching(/^\d{4}-/), station: expect.stringMatching(/./) }
    const { stdout } = await status(directory, '--devices', '--format=json')
    expect(lines(stdout).map((line) => JSON.parse(line))).toEqual([
      { ...record, device: 'SN "1", a', iccid: iccid(2), state: 'used', directory, version: 1 },
    ])
    const csv = await status(directory, '--devices', '--format=csv')
    expect(csv.stdout).toMatch(
      RegExp(
        `^claimed,station,device,iccid,state,directory,version\\r\\n[^\\r]*,"SN ""1"", a",${iccid(2)},used,${directory},1\\r\\n$`,
      ),
    )
    const text = await status(directory, '--devices')
    expect(text.stdout).toMatch(
      RegExp(
        `^claimed {19}station {2,}device {4,}iccid {17}state\\n\\d{4}-\\S+Z {2}\\S+ +SN "1", a {2}${iccid(2)} {2}used\\n$`,
      ),
    )
    expect(lines(text.stderr)).toEqual(['softsim: 2 used profiles without a device'])
  })

  /** A directory in which these devices have the profiles 1, 2, 3, …, each claimed at its time. */
  function claimedBy(...claims: [device: string, claimed: string][]): string {
    const directory = directoryOf([])
    for (const [at, [device, claimed]] of claims.entries()) {
      const record = { iccid: iccid(at + 1), profile: 'AAAA', device, station: 'line-1', claimed }
      writeFileSync(join(directory, `__${iccid(at + 1)}.json`), JSON.stringify(record))
    }
    return directory
  }

  test('--devices lists the oldest first, in columns', async () => {
    const directory = claimedBy(
      ['SN-1', '2026-03-02'],
      ['a longer name', '2026-03-01'],
      ['SN-3', '2026-03-03'],
    )
    const { stdout, stderr } = await status(directory, '--devices')
    expect([lines(stdout), stderr]).toEqual([
      [
        'claimed     station  device         iccid                 state',
        `2026-03-01  line-1   a longer name  ${iccid(2)}  used`,
        `2026-03-02  line-1   SN-1           ${iccid(1)}  used`,
        `2026-03-03  line-1   SN-3           ${iccid(3)}  used`,
      ],
      '',
    ])
  })

  test.each(['text', 'json', 'csv'])('--devices warns of a device with two profiles (%s)', async (format) => {
    const directory = claimedBy(['SN-1', '2026-03-02'], ['SN-2', '2026-03-01'], ['SN-1', '2026-03-01'])
    const { code, stderr } = await status(directory, '--devices', `--format=${format}`)
    expect([code, lines(stderr)]).toEqual([
      0,
      [`softsim: warning: device SN-1 has 2 profiles: ${iccid(3)}, ${iccid(1)}; find out which one it uses`],
    ])
  })

  describe('the devices of a shift', () => {
    /** The devices that are listed. */
    async function devicesIn(directories: string[], ...args: string[]): Promise<string[]> {
      const places = directories.flatMap((each) => ['-i', each])
      const { code, stdout } = await softsim(['status', ...places, '--format=json', ...args])
      expect(code).toBe(0)
      return lines(stdout).map((line) => JSON.parse(line).device)
    }

    const claims: [device: string, claimed: string][] = [
      ['SN-1', '2026-03-01T05:59:59.999Z'],
      ['SN-2', '2026-03-01T06:00:00.000Z'],
      ['SN-3', '2026-03-02T06:00:00.000Z'],
    ]

    test.each([
      ['2026-03-01T06:00Z', ['SN-2', 'SN-3']],
      ['2026-03-01T07:00:00+01:00', ['SN-2', 'SN-3']],
      ['2026-03-01 06:00:00.001Z', ['SN-3']],
      ['2026-02-27', ['SN-1', 'SN-2', 'SN-3']],
    ])('since %s', async (since, devices) => {
      expect(await devicesIn([claimedBy(...claims)], '--devices', '--since', since)).toEqual(devices)
    })

    test('of one station', async () => {
      const directory = claimedBy(...claims)
      const other = join(directory, `__${iccid(2)}.json`)
      writeFileSync(other, readFileSync(other, 'utf8').replace('line-1', 'line-2'))
      expect(await devicesIn([directory], '--devices', '--station=line-2')).toEqual(['SN-2'])
      expect(await devicesIn([directory], '--devices', '--station', 'line-3')).toEqual([])
    })

    test('of several directories: the oldest first, each with its directory', async () => {
      const [one, other] = [claimedBy(...claims), claimedBy(['SN-4', '2026-03-01T12:00:00.000Z'])]
      expect(await devicesIn([one, other], '--devices')).toEqual(['SN-1', 'SN-2', 'SN-4', 'SN-3'])
      const found = await softsim(['status', '-i', one, '-i', other, '--device', 'SN-4', '--device', 'SN-3'])
      expect(lines(found.stdout).map((line) => line.split(/ {2,}/).at(-1))).toEqual(['directory', one, other])
    })

    test('that did not pass last', async () => {
      const directory = claimedBy(...claims, ['SN "4", b', '2026-03-03'], ['SN-5', '2026-03-04'])
      const [one, other] = ['1.csv', '2.csv'].map((name) => join(temporaryDirectory(), name)) as [
        string,
        string,
      ]
      const header = 'time,station,device,result\n'
      const row = (time: string, device: string, result: string) =>
        `2026-03-${time},b,${device},${result}\r\n`
      writeFileSync(
        one,
        // Within a file, the last line counts: a clock was set back.
        `${header}${row('09', 'SN-1', 'fail')}${row('08', 'SN-1', 'pass')}${row('05', '"SN-2"', 'pass')}`,
      )
      const rows = [row('06', 'SN-2', 'unfinished'), row('05', 'SN-3', 'pass'), row('01', 'SN-9', 'fail')]
      writeFileSync(other, `${header}${rows.join('')}${row('07', '"SN ""4"", b"', 'fail')}2026-03-09,b,"SN-`)
      const failed = ['--failed', one, other]
      expect(await devicesIn([directory], ...failed)).toEqual(['SN-2', 'SN "4", b', 'SN-5'])
      expect(await devicesIn([directory], ...failed, '--since', '2026-03-04')).toEqual(['SN-5'])
      const { stdout } = await status(directory, ...failed)
      expect(lines(stdout).map((line) => line.split(/ {2,}/).slice(4))).toEqual([
        ['state', 'result'],
        ['used', 'unfinished'],
        ['used', 'fail'],
        ['used'],
      ])
      const receipts = join(temporaryDirectory(), 'receipts.jsonl')
      await next(directoryOf(someProfiles(1)), '--receipt', receipts)
      expect(await status(directory, '--failed', receipts)).toEqual(
        failure(2, /.+ is not a file of results/, /name the files .+/),
      )
      expect(await status(directory, '--failed', 'nope')).toEqual(
        failure(9, /can't read the results nope: .+/, /name each file, .+/),
      )
    })
  })

  test('several directories, and the total', async () => {
    const [one, other] = [directoryOf(someProfiles(3)), directoryOf(someProfiles(9).slice(7))]
    await next(one)
    const args = ['status', '-i', one, '-i', other, '-i', one, '-k', KEY]
    const { code, stdout, stderr } = await softsim([...args, '--format=json'])
    expect([code, stderr]).toEqual([0, ''])
    expect(lines(stdout).map((line) => JSON.parse(line))).toMatchObject([
      { directory: one, unused: 2, used: 1, checked: 2, usable: 2, damaged: 0 },
      { directory: other, unused: 2, used: 0, checked: 2, usable: 2, damaged: 0 },
      { directory: null, unused: 4, used: 1, checked: 4, usable: 4, damaged: 0 },
    ])
    expect((await softsim(args)).stdout).toMatch(/\ntotal\n {2}unused +4\n {2}used +1\n {2}checked +4\n/)
    const missing = join(temporaryDirectory(), 'nope')
    expect(await softsim(['status', '-i', one, '-i', missing])).toEqual(
      failure(3, /directory .*nope does not exist/, /.+/),
    )
    const empty = directoryOf([])
    expect(await softsim(['status', '-i', one, '-i', empty])).toMatchObject({ code: 0 })
    expect(await softsim(['status', '-i', empty, '-i', temporaryDirectory()])).toMatchObject({ code: 3 })
  })

  test('a serial number is no formula of a spreadsheet, and is unchanged in JSON', async () => {
    const serials = ['=1+1', '+1', '-1', '@SUM(A1)', '=cmd|"/c calc"!A0', '1-1=0', ' =1', 'a,=1']
    const directory = claimedBy(...serials.map((each, at): [string, string] => [each, `2026-03-0${at + 1}`]))
    const csv = await status(directory, '--devices', '--format=csv')
    expect(csv.stdout.split('\r\n').slice(1, -1)).toEqual(
      ["'=1+1", "'+1", "'-1", "'@SUM(A1)", `"'=cmd|""/c calc""!A0"`, '1-1=0', ' =1', '"a,=1"'].map(
        (cell, at) => `2026-03-0${at + 1},line-1,${cell},${iccid(at + 1)},used,${directory},1`,
      ),
    )
    const json = await status(directory, '--devices', '--format=json')
    expect(lines(json.stdout).map((line) => JSON.parse(line).device)).toEqual(serials)
  })

  test.skipIf(!hasPosix)(
    'what can’t be read as a record is left out: it neither hangs nor fails',
    async () => {
      const directory = await eventful()
      mkdirSync(join(directory, '__1.json'))
      symlinkSync('/dev/zero', join(directory, '__2.json'))
      execFileSync('mkfifo', [join(directory, '__3.json'), join(directory, '.incoming', 'a~1~b.answer')])
      writeFileSync(
        join(directory, '__4.json'),
        JSON.stringify({ device: '\u001b[2JB\u202e\n', iccid: 'x\ny', station: {} }),
      )
      const text = await status(directory, '--devices')
      expect([text.code, lines(text.stdout)]).toEqual([0, Array(3).fill(expect.anything())])
      for (const name of ['__1.json', '__2.json', '__3.json'])
        expect(text.stderr).toContain(`softsim: warning: ${name} is left out: `)
      const csv = await status(directory, '--devices', '--format=csv')
      const json = await status(directory, '--devices', '--format=json')
      // Of those that are left out, nobody knows.
      for (const { stderr } of [text, csv, json])
        expect(stderr).toContain('softsim: 2 used profiles without a device\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
      expect(text.stdout + csv.stdout).not.toMatch(/[\u001b\u202e]/)
      expect(await status(directory)).toMatchObject({ code: 0, stderr: UNFINISHED + FOREIGN })
    },
  )

  test.skipIf(!hasPosix)('a closed standard output is an error', async () => {
    const line = ['status', '-i', directoryOf(someProfiles(1))]
    expect(await softsim(line, { shell: '"$@" >&-' })).toMatchObject({ code: 9 })
  })

  test('no such directory', async () => {
    const directory = join(temporaryDirectory(), 'nope')
    expect(await status(directory)).toEqual(failure(3, /directory .* does not exist/, /.+/))
  })

  test.each([
    ...[[['-n', '3']], [['--format=xml']], [['-k', '']], [['-n', '0', '-k', KEY]], [['-i', '']]],
    ...[[['--devices', '--since', 'yesterday']], [['--since', '2026-11-23']], [['--station', 'line-1']]],
    ...[[['--failed', 'x', '--device', 'y']], [['--receipts', 'x', '-i', 'another']]],
  ])('a wrong command line: %j', async (args) => {
    expect(await status(directoryOf(someProfiles(1)), ...args)).toEqual(failure(2, /.+/, /.+/))
  })

  test('while stations and a fetch are at work, it never fails', async () => {
    const directory = directoryOf(someProfiles(24))
    let isOver = false
    const station = async () => {
      while ((await next(directory)).code === 0);
    }
    const stations = Promise.all([station(), station(), station()]).then(() => {
      isOver = true
    })
    let last = 24
    while (!isOver) {
      const run = await status(directory, '-k', KEY, '--format=json')
      if (run.code === 3) break
      const { unused, used } = JSON.parse(run.stdout)
      // A name that changes while the directory is read may be seen once, twice or not at all.
      expect([run.code, unused <= last, used <= 24]).toEqual([0, true, true])
      last = unused
    }
    await stations
    expect((await status(directory)).code).toBe(3)
  })
})

test('the list of the vendor’s tool: which of its profiles have no file', async () => {
  const [used, unused, torn, missing] = someProfiles(4).map(({ iccid }) => iccid)
  const directory = directoryOf(someProfiles(3))
  await next(directory)
  writeFileSync(join(directory, `${torn}.json`), '{"iccid":')
  const list = [used, unused, torn, missing].map((each) => ({ iccid: each, profile: 'AAAA' }))
  writeFileSync(join(directory, 'profiles.json'), JSON.stringify([...list, null]))
  const warning =
    /^softsim: warning: 2 profiles of profiles\.json not in .*: the vendor's tool did not store them/m
  const { code, stderr } = await status(directory, '-v')
  expect([code, stderr]).toEqual([0, expect.stringMatching(warning)])
  expect(stderr.match(/\d+ is only in profiles.json/g)).toEqual(
    [torn, missing].map((each) => `${each} is only in profiles.json`),
  )
  const { fetch, directory: target } = await startSandbox()
  mkdirSync(target)
  writeFileSync(join(target, 'profiles.json'), JSON.stringify(list.slice(2)))
  expect(await fetch()).toMatchObject({ code: 0, stderr: expect.stringMatching(warning) })
  writeFileSync(join(directory, 'profiles.json'), '[{"iccid":')
  expect((await status(directory)).stderr).not.toContain('profiles.json')
})
