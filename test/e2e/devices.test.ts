import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import {
  directoryOf,
  namesIn,
  someProfiles,
  temporaryDirectory,
  unusedIn,
  usedIn,
} from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')

/** In a race, each is at two stations. */
const DEVICES = 24

const nextOf = (directory: string, ...more: string[]) =>
  softsim(['next', '-k', KEY, '-i', directory, '--format=raw', ...more])

/** The ICCIDs that a call printed. */
const printed = ({ stdout }: { stdout: string }) => lines(stdout).map((line) => JSON.parse(line).iccid)

describe('next --device', () => {
  test('prints the same profile for the same device, and says so', async () => {
    const directory = directoryOf(someProfiles(3))
    const first = await nextOf(directory, '--device', 'SN-1')
    expect([first.code, printed(first), first.stderr]).toEqual([0, [iccid(1)], ''])
    const again = await nextOf(directory, '--device', ' SN-1\r\n')
    expect([again.code, again.stdout]).toEqual([0, first.stdout])
    expect(again.stderr).toMatch(/^softsim: warning: device SN-1 .*\n$/)
    expect(usedIn(directory)).toHaveLength(1)
  })

  test('one that differs in upper and lower case only is another one, and a warning names both', async () => {
    const directory = directoryOf(someProfiles(3))
    const warning = (device: string, other: string) =>
      `softsim: warning: device ${device} differs from ${other}, which has a profile, in upper and lower case only\n`
    await nextOf(directory, '--device', 'SN-1')
    const other = await nextOf(directory, '--device', 'sn-1')
    expect([printed(other), other.stderr]).toEqual([[iccid(2)], warning('sn-1', 'SN-1')])
    const again = await nextOf(directory, '--device', 'SN-1')
    expect([printed(again), again.stderr]).toEqual([
      [iccid(1)],
      expect.stringContaining(warning('SN-1', 'sn-1')),
    ])
    const status = (...more: string[]) => softsim(['status', '-i', directory, ...more])
    expect((await status('--devices')).stderr).toBe(warning('sn-1', 'SN-1'))
    expect((await status('--device', 'Sn-1')).stderr).toContain(
      'device Sn-1 differs from SN-1 and sn-1, which have profiles, in upper and lower case only\n',
    )
  })

  test('a panel: one line per device, in that order, some of them again', async () => {
    const directory = directoryOf(someProfiles(4))
    await nextOf(directory, '--device', 'B')
    const run = await nextOf(directory, '--device=A', '--device', 'B', '--device', 'C')
    expect([run.code, printed(run)]).toEqual([0, [iccid(2), iccid(1), iccid(3)]])
  })

  test('too few profiles for a panel: nothing is printed, nothing is claimed', async () => {
    const directory = directoryOf(someProfiles(1))
    expect(await nextOf(directory, '--device', 'A', '--device', 'B')).toMatchObject({ code: 3, stdout: '' })
    expect([unusedIn(directory).length, usedIn(directory)]).toEqual([1, []])
  })

  test.each([
    [['--device', '']],
    [['--device', 'A\u0007']],
    [['--device', 'A\ufffd']],
    [['--device', 'x'.repeat(129)]],
    [['--device', 'A', '--device', 'A ']],
    [['--device', 'A', '-n', '1']],
    [['--device', 'A', '--device', 'B', '--iccid', iccid(1)]],
    [['--new']],
    [['--iccid', iccid(1), '-n', '1']],
    [['--receipt', '-']],
    [['--receipt', '']],
  ])('a wrong command line: %j', async (args) => {
    const directory = directoryOf(someProfiles(1))
    expect(await nextOf(directory, ...args)).toEqual(failure(2, /.+/, /.+/))
    expect(usedIn(directory)).toEqual([])
  })

  test('--iccid of a profile that a device has names the device', async () => {
    const directory = directoryOf(someProfiles(1))
    await nextOf(directory, '--device', 'SN-1')
    const { code, stderr } = await nextOf(directory, '--iccid', iccid(1))
    expect([code, stderr]).toEqual([0, expect.stringMatching(/warning: .*device SN-1\n/)])
  })

  test('other calls, and tools that know nothing of devices, leave a device’s profile alone', async () => {
    const directory = directoryOf(someProfiles(3))
    await nextOf(directory, '--device', 'A')
    const record = readFileSync(join(directory, `__${iccid(1)}.json`), 'utf8')
    expect(printed(await nextOf(directory))).toEqual([iccid(2)])
    // As the vendor's tool claims.
    renameSync(join(directory, `${iccid(3)}.json`), join(directory, `__${iccid(3)}.json`))
    expect(await nextOf(directory)).toMatchObject({ code: 3 })
    expect(readFileSync(join(directory, `__${iccid(1)}.json`), 'utf8')).toBe(record)
    expect(namesIn(directory).filter((name) => !name.startsWith('__'))).toEqual([])
  })

  test('a device’s profile that is renamed back by hand goes to no other device', async () => {
    const directory = directoryOf(someProfiles(2))
    const [used, unused] = [`__${iccid(1)}.json`, `${iccid(1)}.json`].map((name) => join(directory, name))
    await nextOf(directory, '--device', 'A')
    renameSync(used ?? '', unused ?? '')
    rmSync(join(directory, '.unused'), { force: true })
    const run = await nextOf(directory)
    expect(printed(run)).toEqual([iccid(2)])
    expect(run.stderr).toContain(`${iccid(1)}.json is skipped: device A has it`)
    expect(await nextOf(directory, '--device', 'B')).toMatchObject({ code: 5, stdout: '' })
    expect(await softsim(['status', '-i', directory, '-k', KEY])).toMatchObject({ code: 5 })
    expect(printed(await nextOf(directory, '--device', 'A'))).toEqual([iccid(1)])
  })

  test('a device’s profile that is renamed back by hand and asked for by its ICCID is still that device’s', async () => {
    const directory = directoryOf(someProfiles(2))
    await nextOf(directory, '--device', 'A')
    renameSync(join(directory, `__${iccid(1)}.json`), join(directory, `${iccid(1)}.json`))
    const path = join(temporaryDirectory(), 'receipt.jsonl')
    const run = await nextOf(directory, '--iccid', iccid(1), '--receipt', path)
    expect(printed(run)).toEqual([iccid(1)])
    expect(run.stderr).toContain(`${iccid(1)} was handed out before: use it only for device A`)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ device: 'A', again: true })
  })

  test('a file of almost 64 KiB and the fields of its device are not too large', async () => {
    const directory = directoryOf(someProfiles(2))
    const path = join(directory, `${iccid(1)}.json`)
    const stored = { ...JSON.parse(readFileSync(path, 'utf8')), more: '', numbers: Array(5000).fill(0) }
    // Written again, each of these has 21 digits.
    const text = JSON.stringify(stored).replaceAll(/\b0\b(?=[,\]])/g, '1e20')
    writeFileSync(path, text.replace('"more":""', `"more":"${'x'.repeat(65_534 - text.length)}"`))
    const first = await nextOf(directory, '--device', 'SN-1')
    expect([first.code, printed(first), statSync(path, { throwIfNoEntry: false })]).toEqual([
      0,
      [iccid(1)],
      undefined,
    ])
    expect(printed(await nextOf(directory, '--device', 'SN-1'))).toEqual([iccid(1)])
    expect(printed(await nextOf(directory, '--iccid', iccid(1)))).toEqual([iccid(1)])
    expect(printed(await nextOf(directory, '--device', 'SN-2'))).toEqual([iccid(2)])
    const status = await softsim(['status', '-i', directory, '--devices', '--format=json'])
    expect(lines(status.stdout).map((line) => JSON.parse(line).device)).toEqual(['SN-1', 'SN-2'])
  })

  test('two calls at once for the same device: one of them says that it is again', async () => {
    const directory = directoryOf(someProfiles(3))
    const path = join(temporaryDirectory(), 'receipt.jsonl')
    const call = () => nextOf(directory, '--device', 'A', '--receipt', path)
    const runs = await Promise.all([call(), call(), call()])
    expect(new Set(runs.map(({ stdout }) => stdout)).size).toBe(1)
    expect(runs.filter(({ stderr }) => stderr.includes('again'))).toHaveLength(2)
    const again = lines(readFileSync(path, 'utf8')).map((line) => JSON.parse(line).again)
    expect(again.sort()).toEqual([false, true, true])
  })

  test('a used file that was moved away: the device gets no other profile unasked', async () => {
    const directory = directoryOf(someProfiles(3))
    await nextOf(directory, '--device', 'A')
    renameSync(join(directory, `__${iccid(1)}.json`), join(temporaryDirectory(), 'archived'))
    const run = await nextOf(directory, '--device', 'A')
    expect(run).toEqual(failure(3, /device A was assigned .* gone/, /put .* back/))
    expect(usedIn(directory)).toEqual([])
  })

  test('a used file under another spelling of its ICCID is still the device’s', async () => {
    const directory = directoryOf(someProfiles(3))
    await nextOf(directory, '--device', 'A')
    renameSync(join(directory, `__${iccid(1)}.json`), join(directory, `__${iccid(1)}F.json`))
    const run = await nextOf(directory, '--device', 'A')
    expect(run.code === 0 ? printed(run) : run.code).not.toEqual([iccid(2)])
  })

  test.each([
    '',
    '[]',
    '{"device":"B"}',
    '{"device":"A","file":"../x","iccid":"1"}',
    '{"device":"A","file":5}',
  ])(
    'a record that was changed: the used file counts, and nothing leads out of the directory: %s',
    async (text) => {
      const directory = directoryOf(someProfiles(3))
      await nextOf(directory, '--device', 'A')
      const place = join(directory, '.devices')
      const [record = ''] = readdirSync(place)
      rmSync(join(place, record))
      writeFileSync(join(place, record), text)
      const run = await nextOf(directory, '--device', 'A')
      expect([run.code, printed(run)]).toEqual([0, [iccid(1)]])
    },
  )

  test('a record that is torn while no used file names the device is named, and no profile is claimed', async () => {
    const directory = directoryOf(someProfiles(2))
    await nextOf(directory, '--device', 'A')
    const [record = ''] = readdirSync(join(directory, '.devices'))
    writeFileSync(join(directory, '.devices', record), '{"iccid":"8988')
    renameSync(join(directory, `__${iccid(1)}.json`), join(directory, 'elsewhere'))
    expect(await nextOf(directory, '--device', 'A')).toEqual(
      failure(9, RegExp(`.*${record}.*`), RegExp(`.*${record}`)),
    )
    expect(usedIn(directory)).toEqual([])
  })

  test('a device whose profile this key does not open gets no other one', async () => {
    const directory = directoryOf(someProfiles(2))
    await nextOf(directory, '--device', 'A')
    const { privateKeyPath } = inject('otherKeys')
    const run = await softsim(['next', '-k', privateKeyPath, '-i', directory, '--device', 'A'])
    expect(run).toEqual(failure(4, /the profile of device A can't be handed out: .*/, /.+/))
    expect(usedIn(directory)).toEqual([`__${iccid(1)}.json`])
  })

  test('8 stations, each device at two of them at once: one profile each', async () => {
    const profiles = someProfiles(DEVICES)
    const directory = directoryOf(profiles)
    const scans = profiles.flatMap((_, n) => [`SN ${n}`, `SN ${n}`])
    const got = new Map<string, Set<string>>()
    const station = async () => {
      for (let device = scans.shift(); device !== undefined; device = scans.shift()) {
        const run = await nextOf(directory, '--device', device)
        expect(run).toMatchObject({ code: 0 })
        got.set(device, (got.get(device) ?? new Set()).add(printed(run).join()))
      }
    }
    await Promise.all(Array.from({ length: 8 }, station))
    expect([...got.values()].every((each) => each.size === 1)).toBe(true)
    expect(new Set([...got.values()].flatMap((each) => [...each])).size).toBe(DEVICES)
    expect([usedIn(directory).length, unusedIn(directory)]).toEqual([DEVICES, []])
    for (const name of usedIn(directory)) {
      const { device, iccid } = JSON.parse(readFileSync(join(directory, name), 'utf8'))
      expect(got.get(device)).toEqual(new Set([iccid]))
    }
    expect(readdirSync(join(directory, '.devices')).filter((name) => name.startsWith('~'))).toEqual([])
  })
})
