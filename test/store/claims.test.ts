import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { claimOf } from '../../src/status/count.ts'
import { begin, clear, commit, giveBack, perhapsNotPrinted, settle } from '../../src/store/claims.ts'
import { makeRecords, recordOf } from '../../src/store/devices.ts'
import { listHeld } from '../../src/store/listing.ts'
import { hasSmallDisks, smallDisk } from '../support/disk.ts'
import { BY, fieldsIn, lot, messages, names, profile, put, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'

const TAG = '0123456789abcdef0123'
const MOVE = `${TAG}.${TAG}`

/** A claim that is not decided. */
const hold = (directory: string, n: number, device?: string) => {
  const claim = begin(directory, X(n), { ...BY, device })
  if (claim === undefined) throw new Error('nothing to hold')
  return claim
}

async function use(directory: string, n: number, device?: string) {
  const used: ReturnType<typeof hold>[] = []
  const claim = hold(directory, n, device)
  await commit(directory, [claim], used)
  return { claim, used }
}

describe('a claim', () => {
  test('goes from X by its hold and its decision to __X, and leaves nothing else', async () => {
    const directory = lot(1)
    const claim = hold(directory, 1)
    expect(names(directory)).toEqual([`.${X(1)}~${claim.tag}`, `.~${claim.tag}`].sort())
    const used: (typeof claim)[] = []
    await commit(directory, [claim], used)
    expect(used).toEqual([claim])
    expect(names(directory)).toEqual([`.${X(1)}~${claim.tag}`, `__${X(1)}`])
    clear(used)
    expect(names(directory)).toEqual([`__${X(1)}`])
    expect(fieldsIn(directory, `__${X(1)}`)).toEqual({
      ...{ iccid: iccid(1), profile: 'QUJD', station: 'A' },
      ...{ claimed: '2026-11-26T10:00:00.000Z', claim: claim.tag },
    })
  })

  test('of what somebody has made unused again says who claims it now', async () => {
    const directory = lot(0)
    put(directory, 1, X(1), { station: 'B', claimed: '2025-01-01T00:00:00.000Z', claim: 'other' })
    const { claim } = await use(directory, 1)
    expect(fieldsIn(directory, `__${X(1)}`)).toEqual({ ...profile(1), ...BY, claim: claim.tag })
  })

  test('of what somebody else holds is none', () => {
    const directory = lot(1)
    hold(directory, 1)
    expect(begin(directory, X(1), BY)).toBeUndefined()
    expect(names(directory)).toHaveLength(2)
  })

  test('removes an unused file beside a used one, and claims nothing', () => {
    const directory = lot(1)
    put(directory, 1, `__${X(1)}`)
    expect(begin(directory, X(1), BY)).toBeUndefined()
    expect(names(directory)).toEqual([`__${X(1)}`])
  })

  test.each([
    ['{', 'not contain'],
    [JSON.stringify({ iccid: iccid(2), profile: 'QUJD' }), 'does not match'],
    [JSON.stringify({ iccid: iccid(1), profile: 'QUJ' }), 'base64'],
    [JSON.stringify({ iccid: iccid(1), profile: 'QUJD', device: 'D' }), 'device D has it'],
  ])('leaves a damaged file where it is: %s', (text, why) => {
    const directory = lot(0)
    writeFileSync(join(directory, X(1)), text)
    expect(() => begin(directory, X(1), BY)).toThrow(why)
    expect(names(directory)).toEqual([X(1)])
  })

  test('does not follow a link, nor open a directory with the name of a profile', () => {
    const directory = lot(0)
    symlinkSync('/etc/hostname', join(directory, X(1)))
    mkdirSync(join(directory, X(2)))
    for (const n of [1, 2]) expect(() => begin(directory, X(n), BY)).toThrow('it ')
    expect(names(directory)).toEqual([X(1), X(2)])
  })

  test('that was voided before its decision uses nothing', async () => {
    const directory = lot(2)
    const [one, two] = [hold(directory, 1), hold(directory, 2)]
    await giveBack(directory, one)
    expect(names(directory)).toContain(X(1))
    const used: (typeof one)[] = []
    await commit(directory, [one, two], used)
    expect(used).toEqual([two])
    expect(names(directory)).toEqual([`.${X(2)}~${two.tag}`, `__${X(2)}`, X(1)].sort())
  })

  test('that somebody else is voiding uses nothing, and comes back', async () => {
    const directory = lot(1)
    const claim = hold(directory, 1)
    mkdirSync(claim.places.decision)
    const used: (typeof claim)[] = []
    await commit(directory, [claim], used)
    expect(used).toEqual([])
    expect(names(directory)).toEqual([X(1)])
  })

  test('whose used file says another claim is not used, and the others are', async () => {
    const directory = lot(3)
    const [one, two, three] = [hold(directory, 1), hold(directory, 2), hold(directory, 3)]
    const { decision, used: place } = two.places
    // Between the decision and its rename, somebody gives it back, and somebody else uses the profile.
    const places = {
      ...two.places,
      get used() {
        rmSync(decision, { force: true })
        writeFileSync(place, JSON.stringify({ ...profile(2), claim: 'other' }))
        return place
      },
    }
    const used: (typeof one)[] = []
    await commit(directory, [one, { ...two, places }, three], used)
    expect(used).toEqual([one, three])
  })

  test('is not used where two renames can succeed, and another one has its own there', async () => {
    const directory = lot(1)
    const { platform } = process
    Object.defineProperty(process, 'platform', { value: 'darwin' })
    try {
      const claim = hold(directory, 1)
      let times = 0
      const places = {
        ...claim.places,
        // It is asked for its rename, and for its flush.
        get used() {
          if (++times === 2) writeFileSync(claim.places.used, JSON.stringify(profile(1)))
          return claim.places.used
        },
      }
      const used: (typeof claim)[] = []
      await commit(directory, [{ ...claim, places }], used)
      expect([used, names(directory).includes(X(1))]).toEqual([[], true])
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })

  test('is used where two renames can succeed, and nobody else was there', async () => {
    const directory = lot(2)
    const { platform } = process
    Object.defineProperty(process, 'platform', { value: 'darwin' })
    try {
      const both = [hold(directory, 1), hold(directory, 2)]
      const used: typeof both = []
      await commit(directory, both, used)
      expect(used).toEqual(both)
      expect(names(directory).filter((name) => name.startsWith('__'))).toEqual([`__${X(1)}`, `__${X(2)}`])
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })

  test('is used if the disk has carried out its decision, and reported an error', async () => {
    const directory = lot(1)
    const claim = hold(directory, 1)
    renameSync(claim.places.draft, claim.places.decision)
    const used: (typeof claim)[] = []
    await commit(directory, [claim], used)
    expect(used).toEqual([claim])
    expect(fieldsIn(directory, `__${X(1)}`).claim).toBe(claim.tag)
  })

  test('that the disk refuses to decide is an error, and uses nothing', async () => {
    const directory = lot(1)
    const claim = hold(directory, 1)
    const places = { ...claim.places, decision: join(claim.places.draft, 'none') }
    const used: (typeof claim)[] = []
    await expect(commit(directory, [{ ...claim, places }], used)).rejects.toThrow('ENOTDIR')
    expect(used).toEqual([])
    expect(await giveBack(directory, claim)).toBe(false)
    expect(names(directory)).toEqual([X(1)])
  })

  test('that was decided can not be voided: it is finished', async () => {
    const directory = lot(1)
    const claim = hold(directory, 1)
    renameSync(claim.places.draft, claim.places.decision)
    expect(await giveBack(directory, claim)).toBe(true)
    expect(fieldsIn(directory, `__${X(1)}`).claim).toBe(claim.tag)
    expect(names(directory)).toContain(`__${X(1)}`)
    expect(names(directory)).not.toContain(X(1))
  })

  test('that is used by the time somebody voids it stays used, and nothing is left of the void', async () => {
    const directory = lot(1)
    const { claim } = await use(directory, 1)
    expect(await giveBack(directory, { name: X(1), tag: claim.tag })).toBe(true)
    expect(names(directory)).toEqual([`.${X(1)}~${claim.tag}`, `__${X(1)}`])
  })

  test('of a void that was killed in the middle is voided by the next one', async () => {
    const directory = lot(1)
    const claim = hold(directory, 1)
    mkdirSync(claim.places.decision)
    await giveBack(directory, claim)
    expect(names(directory)).toEqual([X(1)])
  })
})

describe('a claim for a device', () => {
  test('records what the device holds, and names it', async () => {
    const directory = lot(1)
    await use(directory, 1, 'SN-1')
    expect(recordOf(directory, 'SN-1')).toMatchObject({ device: 'SN-1', iccid: iccid(1) })
    expect(fieldsIn(directory, `__${X(1)}`)).toMatchObject({ device: 'SN-1' })
  })

  test('gives its profile back if the device has another one', async () => {
    const directory = lot(2)
    const claim = hold(directory, 2, 'D')
    await use(directory, 1, 'D')
    const used: (typeof claim)[] = []
    await commit(directory, [claim], used)
    expect(used).toEqual([])
    expect(names(directory)).toContain(X(2))
    expect(recordOf(directory, 'D')?.iccid).toBe(iccid(1))
  })

  test('takes what is unused and says that the device has it', () => {
    const directory = lot(0)
    put(directory, 1, X(1), { device: 'D' })
    expect(begin(directory, X(1), { ...BY, device: 'D' })).toMatchObject({ device: 'D', iccid: iccid(1) })
  })

  test('that was decided is given back, and not used, if the device has another profile', async () => {
    const directory = lot(2)
    const claim = hold(directory, 2, 'D')
    renameSync(claim.places.draft, claim.places.decision)
    await makeRecords(directory, [{ device: 'D', iccid: iccid(1) }])
    expect(await giveBack(directory, claim)).toBe(false)
    expect(names(directory)).toEqual([X(1), X(2)])
  })

  test('that was killed when it was decided is still that of another device, if somebody had said so', async () => {
    const directory = lot(2)
    await use(directory, 1, 'SN-1')
    const claim = begin(directory, X(2), { ...BY, device: 'sn-01', isNew: true })
    renameSync(claim?.places.draft ?? '', claim?.places.decision ?? '')
    expect(await giveBack(directory, { name: X(2), tag: claim?.tag ?? '' })).toBe(true)
    expect(recordOf(directory, 'sn-01')?.iccid).toBe(iccid(2))
    expect(recordOf(directory, 'SN-1')?.iccid).toBe(iccid(1))
  })

  test('that was killed when it was decided is finished with its record', async () => {
    const directory = lot(1)
    const claim = hold(directory, 1, 'D')
    renameSync(claim.places.draft, claim.places.decision)
    const { said, ...sink } = messages()
    await settle(directory, sink)
    expect(recordOf(directory, 'D')?.iccid).toBe(iccid(1))
    expect(names(directory)).toEqual([`__${X(1)}`])
    expect(said).toEqual([
      `${iccid(1)} was claimed for device D by station A at ${BY.claimed}, and perhaps not printed: softsim next -k KEY -i ${directory} --device D prints it again`,
    ])
  })

  test('that was killed when it was decided gives back what the device does not need', async () => {
    const directory = lot(2)
    const claim = hold(directory, 2, 'D')
    renameSync(claim.places.draft, claim.places.decision)
    await makeRecords(directory, [{ device: 'D', iccid: iccid(1) }])
    await settle(directory, messages())
    expect(names(directory)).toEqual([X(1), X(2)])
  })
})

describe('settle', () => {
  test('voids what killed calls hold, and leaves what moves hold', async () => {
    const directory = lot(3)
    hold(directory, 1)
    hold(directory, 2)
    put(directory, 4, `.${X(4)}~${MOVE}+${TAG}`)
    await settle(directory, messages())
    expect(names(directory).filter((name) => !name.includes('+'))).toEqual([X(1), X(2), X(3)])
    expect(listHeld(directory).map(({ name, move }) => [name, move])).toEqual([[X(4), MOVE]])
  })

  test('names what is used and perhaps not printed, once', async () => {
    const directory = lot(1)
    await use(directory, 1)
    const said: [string, number][] = []
    // Whoever is killed before it has said that leaves it to the next one.
    const warn = (text: string) => void said.push([text, listHeld(directory).length])
    await settle(directory, { warn })
    await settle(directory, { warn })
    const text = `${iccid(1)} was claimed by station A at ${BY.claimed}, and perhaps not printed: if no call is running and no device has it, softsim next -k KEY -i ${directory} --iccid ${iccid(1)} prints it again`
    expect(said).toEqual([[text, 1]])
  })

  test('leaves what this call has used, and no other claim of the same profile', async () => {
    const directory = lot(1)
    const { claim } = await use(directory, 1)
    put(directory, 1, `.${X(1)}~${TAG}`)
    const { said, ...sink } = messages()
    await settle(directory, sink, [claim])
    expect([said, listHeld(directory).map(({ tag }) => tag)]).toEqual([[], [claim.tag]])
  })

  test('names nobody where another call uses what a killed one held', async () => {
    const directory = lot(0)
    put(directory, 1, `__${X(1)}`, { claim: 'other' })
    put(directory, 1, `.${X(1)}~${TAG}`)
    expect(perhapsNotPrinted(directory, { name: X(1), tag: TAG })).toBeUndefined()
    writeFileSync(join(directory, `__${X(2)}`), '{')
    expect(perhapsNotPrinted(directory, { name: X(2), tag: TAG })).toBeUndefined()
    const { said, ...sink } = messages()
    await settle(directory, sink)
    expect([said, listHeld(directory)]).toEqual([[], []])
  })

  test('says what a call that holds a profile has written', () => {
    const directory = lot(1)
    const claim = hold(directory, 1, 'D')
    expect(claimOf(directory, claim)).toMatchObject({ device: 'D', station: 'A' })
    renameSync(claim.places.draft, claim.places.decision)
    expect(claimOf(directory, claim)).toMatchObject({ device: 'D' })
  })
})

test.runIf(hasSmallDisks)('what a call gives back itself needs no room on the disk', async () => {
  const { path, close } = await smallDisk(1, 20)
  try {
    for (const n of [1, 2]) put(path, n)
    const both = [hold(path, 1), hold(path, 2)]
    const fill = () => {
      for (let n = 0; ; n++) mkdirSync(join(path, `${n}`))
    }
    expect(fill).toThrow('ENOSPC')
    for (const each of both) expect(await giveBack(path, each)).toBe(false)
    expect(names(path).filter((name) => name.includes('898'))).toEqual([X(1), X(2)])
  } finally {
    await close()
  }
})

test('no name is left when everything is given back, and every profile says what it said', async () => {
  const directory = lot(5)
  const before = [1, 2, 3, 4, 5].map((n) => readFileSync(join(directory, X(n)), 'utf8'))
  for (const each of [1, 2, 3, 4, 5].map((n) => hold(directory, n))) await giveBack(directory, each)
  expect(readdirSync(directory).sort()).toEqual([1, 2, 3, 4, 5].map(X))
  expect([1, 2, 3, 4, 5].map((n) => readFileSync(join(directory, X(n)), 'utf8'))).toEqual(before)
})
