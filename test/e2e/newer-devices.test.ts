import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { addProfile, directoryOf, namesIn, unusedIn } from '../support/directory.ts'
import { iccid, plainProfile } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'
import { dataOf } from '../support/tlv.ts'

const { privateKeyPath: KEY } = inject('keys')
const next = (directory: string, ...more: string[]) => softsim(['next', '-k', KEY, '-i', directory, ...more])

/** A directory of three profiles, of which newer devices would reject the first. */
function outdated(changes: object): string {
  const directory = directoryOf([plainProfile(2), plainProfile(3)])
  addProfile(directory, plainProfile(1), changes)
  return directory
}

/** The digits of the ICCID in a line of hex. */
const iccidIn = (line: string) => dataOf(line.trim(), '02')?.replace(/(.)(.)/g, '$2$1')

describe.each([
  [{ pin: '123' }, 'the PIN has fewer than 4 digits'],
  [{ puk: '12' }, 'the PUK has fewer than 4 characters'],
  [{ adm: '1' }, 'the ADM has fewer than 4 characters'],
])('%j', (changes, reason) => {
  test('nobody has it: it is skipped, counted, and refused by name', async () => {
    const directory = outdated(changes)
    const before = namesIn(directory)
    const status = await softsim(['status', '-i', directory, '-k', KEY, '--format=json'])
    expect(JSON.parse(status.stdout)).toMatchObject({ usable: 2, unfit: 1 })
    const why = `newer devices would reject it: ${reason}`
    expect(status.stderr).toContain(`softsim: warning: ${iccid(1)}.json: ${why}\n`)
    expect(await next(directory, '--iccid', iccid(1))).toEqual(failure(5, RegExp(`.*${why}`), /.+/))
    expect(namesIn(directory)).toEqual(before)
    const { code, stdout, stderr } = await next(directory, '--device', 'SN-1')
    expect([code, iccidIn(stdout)]).toEqual([0, iccid(2)])
    expect(stderr).toBe(`softsim: warning: ${iccid(1)}.json is skipped: ${why}\n`)
    expect(iccidIn((await next(directory)).stdout)).toBe(iccid(3))
    expect(unusedIn(directory)).toEqual([`${iccid(1)}.json`])
  })

  test('it is used: it is printed again, with a warning', async () => {
    const directory = outdated(changes)
    renameSync(join(directory, `${iccid(1)}.json`), join(directory, `__${iccid(1)}.json`))
    const { code, stdout, stderr } = await next(directory, '--iccid', iccid(1))
    expect([code, iccidIn(stdout)]).toEqual([0, iccid(1)])
    expect(lines(stderr)).toHaveLength(2)
    expect(stderr).toContain(`softsim: warning: newer devices would reject ${iccid(1)}: ${reason}; `)
  })
})

describe('a device that has one gets it again, with a warning', () => {
  const handedOut = async () => {
    const directory = outdated({ puk: '123' })
    // As the version before did in hex.
    await next(directory, '--device', 'SN-1', '--format=raw')
    return directory
  }
  const WARNING = `softsim: warning: newer devices would reject ${iccid(1)}: the PUK has fewer than 4 characters; `

  test('alone, and in a panel', async () => {
    const directory = await handedOut()
    const again = await next(directory, '--device', 'SN-1')
    expect([again.code, iccidIn(again.stdout)]).toEqual([0, iccid(1)])
    expect(again.stderr).toContain(WARNING)
    const panel = await next(directory, '--device', 'SN-2', '--device', 'SN-1')
    expect([panel.code, lines(panel.stdout).map(iccidIn)]).toEqual([0, [iccid(2), iccid(1)]])
    expect(panel.stderr.split(WARNING)).toHaveLength(2)
  })

  test('also if its file was renamed back by hand', async () => {
    const directory = await handedOut()
    renameSync(join(directory, `__${iccid(1)}.json`), join(directory, `${iccid(1)}.json`))
    for (const args of [
      ['--device', 'SN-1'],
      ['--iccid', iccid(1)],
    ]) {
      const { code, stdout, stderr } = await next(directory, ...args)
      expect([code, iccidIn(stdout)]).toEqual([0, iccid(1)])
      expect(stderr).toContain(WARNING)
    }
  })
})

describe('without KIC or KID', () => {
  const REJECTS = 'nRF firmware rejects such a profile since the end of July 2026; other devices take it\n'

  test.each([
    [{ kic: null }, 'no KIC'],
    [{ kid: '' }, 'no KID'],
    [{ kic: null, kid: null }, 'no KIC and no KID'],
  ])('%j: it is printed, and the warning names the firmware', async (changes, what) => {
    const warning = `softsim: warning: ${iccid(1)} has ${what}: ${REJECTS}`
    for (const args of [[], ['--device', 'SN-1'], ['--iccid', iccid(1)]]) {
      const { code, stdout, stderr } = await next(outdated(changes), ...args)
      expect([code, iccidIn(stdout), stderr]).toEqual([0, iccid(1), warning])
    }
  })

  test('in a panel, each has its own', async () => {
    const directory = outdated({ kic: null })
    addProfile(directory, plainProfile(2), { kid: null })
    const { code, stderr } = await next(directory, '-n', '3')
    expect([code, lines(stderr).length]).toEqual([0, 2])
  })

  test('status -k counts it as usable, and says so', async () => {
    const { code, stdout, stderr } = await softsim(['status', '-i', outdated({ kic: null }), '-k', KEY])
    expect([code, stderr]).toEqual([0, `softsim: warning: 1 profile without KIC or KID: ${REJECTS}`])
    expect(stdout).toMatch(/usable +3\n/)
  })
})

test.each(['json', 'raw'])('%s is not for a device: nothing is skipped', async (format) => {
  const directory = outdated({ kic: null, kid: null, puk: '1', adm: '123' })
  const { code, stdout, stderr } = await next(directory, `--format=${format}`)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`"iccid":"${iccid(1)}"`)
})
