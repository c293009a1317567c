/** `softsim status --device` and `--iccid`: who has which profile. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

let directory: string

beforeEach(async () => {
  directory = directoryOf(someProfiles(5))
  const devices = ['next', '-k', KEY, '-i', directory, '--device', 'SN-1', '--device', 'SN 2, é "x"']
  await softsim(devices, { env: { SOFTSIM_DEVICE_FORMAT: 'SN.+' } })
  await next()
})

const next = (...args: string[]) => softsim(['next', '-k', KEY, '-i', directory, ...args])
const status = (...args: string[]) => softsim(['status', '-i', directory, ...args])

async function found(...args: string[]): Promise<unknown[]> {
  const { stdout } = await status('--format=json', ...args)
  return lines(stdout).map((line) => JSON.parse(line))
}

const ofDevice = (device: string, n: number) => ({
  ...{ claimed: TIME, station: expect.stringMatching(/./), device, changed: TIME },
  ...{ iccid: iccid(n), file: `__${iccid(n)}.json`, state: 'used', movedTo: null, directory, version: 1 },
})
const ofNobody = (n: number, file: string) => ({
  ...{ claimed: null, station: null, device: null, changed: TIME },
  ...{ iccid: iccid(n), file, state: file.startsWith('__') ? 'used' : 'unused' },
  ...{ movedTo: null, directory, version: 1 },
})

test('devices and ICCIDs, in the order in which they are asked for', async () => {
  const asked = ['--device', 'SN 2, é "x"', '--device', ' SN-1\n', '--device', 'SN-1']
  expect(await found(...asked)).toEqual([ofDevice('SN 2, é "x"', 2), ofDevice('SN-1', 1)])
  const iccids = [4, 3, 1, 4].flatMap((n) => ['--iccid', iccid(n)])
  expect(await found(...iccids)).toEqual([
    ofNobody(4, `${iccid(4)}.json`),
    { ...ofDevice('', 3), device: null },
    ofDevice('SN-1', 1),
  ])
})

test('each format has the same fields', async () => {
  const text = await status('--iccid', `${iccid(1)}F`)
  expect(text).toMatchObject({ code: 0, stderr: '' })
  expect(text.stdout).toMatch(
    /^claimed +station +device +iccid +file +changed +state\n\S+Z +\S+ +SN-1 .+Z +used\n$/,
  )
  const csv = await status('--device', 'SN 2, é "x"', '--format=csv')
  expect(csv.stdout).toMatch(
    /^claimed,station,device,iccid,file,changed,state,movedTo,directory,version\r\n.+,"SN 2, é ""x""",\d+,__\d+.json,.+Z,used,,.+,1\r\n$/,
  )
})

test('what is not there is named, after what is', async () => {
  const run = await status('--device', 'SN-1', '--device', 'sn-1', '--iccid', iccid(77), '--format=json')
  expect([run.code, lines(run.stdout)]).toEqual([3, [expect.stringContaining('"device":"SN-1"')]])
  expect(run.stderr).toContain(`error: no profile in ${directory} for device sn-1, ICCID ${iccid(77)}\n`)
  expect(await status('--iccid', iccid(77))).toEqual(
    failure(3, /no profile in .+/, /check the serial number.+/),
  )
  rmSync(directory, { recursive: true })
  expect(await status('--device', 'SN-1')).toEqual(failure(3, /directory .+ does not exist/, /.+/))
})

test('a device whose record is missing is found by its used file, and all of its profiles are', async () => {
  rmSync(join(directory, '.devices'), { recursive: true })
  await next('--device', 'SN-1')
  expect(await found('--device', 'SN-1')).toEqual([ofDevice('SN-1', 1), ofDevice('SN-1', 4)])
  expect((await status('--device', 'SN-1')).stderr).toBe(
    `softsim: warning: device SN-1 has 2 profiles: ${iccid(1)}, ${iccid(4)}; find out which one it uses\n`,
  )
})

test('a device whose used file is missing is found by its record', async () => {
  const warning = `softsim: warning: device SN-1 is recorded for ${iccid(1)}, but no used file names it\n`
  rmSync(join(directory, `__${iccid(1)}.json`))
  expect(await found('--device', 'SN-1')).toEqual([
    { ...ofDevice('SN-1', 1), file: null, changed: null, state: null },
  ])
  expect((await status('--device', 'SN-1')).stderr).toBe(warning)
  // Only the record survived a power cut.
  writeFileSync(join(directory, `${iccid(1)}.json`), '{}')
  expect(await found('--device', 'SN-1')).toEqual([
    { ...ofDevice('SN-1', 1), file: `${iccid(1)}.json`, state: 'unused' },
  ])
})

test('a torn record is left as it is', async () => {
  rmSync(join(directory, `__${iccid(1)}.json`))
  const records = join(directory, '.devices')
  for (const name of readdirSync(records)) writeFileSync(join(records, name), '{"iccid":')
  expect((await status('--device', 'SN-1')).code).toBe(3)
  for (const name of readdirSync(records)) expect(readFileSync(join(records, name), 'utf8')).toBe('{"iccid":')
})

test('a claim that is not finished is named with its device', async () => {
  const used = `__${iccid(1)}.json`
  writeFileSync(join(directory, `${iccid(1)}.json`), readFileSync(join(directory, used)))
  const warning = `softsim: warning: ${iccid(1)}.json: a call is claiming it for device SN-1, or was killed while it did: scan the device again; do not move it\n`
  for (const args of [[], ['--device', 'SN-1'], ['--iccid', iccid(1)]])
    expect(await status(...args)).toMatchObject({ code: 0, stderr: warning })
  // Without a device, the used file is empty.
  writeFileSync(join(directory, used), '')
  expect(await found('--iccid', iccid(1))).toEqual([{ ...ofNobody(1, used), state: 'claimed' }])
  expect((await status('--iccid', iccid(1))).stderr).toContain(
    `${iccid(1)}.json: a call is claiming it, or was killed`,
  )
})

test('a claim without a device has its station and its time, where the used file says so', async () => {
  const used = join(directory, `__${iccid(3)}.json`)
  const profile = JSON.parse(readFileSync(used, 'utf8'))
  writeFileSync(used, JSON.stringify({ ...profile, station: 'line-7', claimed: '2026-11-23T06:00:00.000Z' }))
  expect(await found('--iccid', iccid(3))).toMatchObject([
    { device: null, station: 'line-7', claimed: '2026-11-23T06:00:00.000Z', state: 'used' },
  ])
  writeFileSync(join(directory, `${iccid(3)}.json`), JSON.stringify(profile))
  const warning = `softsim: warning: ${iccid(3)}.json: a call (line-7, 2026-11-23T06:00:00.000Z) is claiming it, or was killed while it did; do not move it\n`
  expect((await status()).stderr).toBe(warning)
  expect(await found('--iccid', iccid(3))).toMatchObject([{ station: 'line-7', state: 'claimed' }])
})

test('a profile that was moved, in both directories', async () => {
  const target = join(directory, '..', 'elsewhere')
  await softsim(['move', '-i', directory, '-o', target, '-n', '1'])
  expect(await found('-i', target, '--iccid', iccid(4))).toMatchObject([
    { directory, file: `__${iccid(4)}.json`, state: 'moved', movedTo: target },
    { directory: target, file: `${iccid(4)}.json`, state: 'unused', movedTo: null },
  ])
})

test('a used file that can’t be read', async () => {
  const file = `__${iccid(1)}.json`
  rmSync(join(directory, file))
  mkdirSync(join(directory, file))
  expect(await found('--iccid', iccid(1))).toEqual([ofNobody(1, file)])
  const unknown = `softsim: warning: ${file} can't be read: who has the profile is not known\n`
  expect((await status('--iccid', iccid(1))).stderr).toBe(unknown)
})

test('a file with a filler in its name', async () => {
  renameSync(join(directory, `${iccid(4)}.json`), join(directory, `${iccid(4)}F.json`))
  expect(await found('--iccid', iccid(4))).toEqual([ofNobody(4, `${iccid(4)}F.json`)])
})

test('a wrong command line', async () => {
  for (const args of [
    ['--device', ''],
    ['--iccid', '12'],
    ['--device', 'a', '-n', '2'],
    ['--iccid', iccid(1), '--devices'],
  ])
    expect(await status(...args)).toEqual(failure(2, /.+/, /.+/))
})
