import { readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pause } from '../../src/pause.ts'
import { adopt, areDifferent, enter, identify, introduce } from '../../src/store/identity.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasSymlinks, tellsBirth } from '../support/system.ts'

const [EXT4, XFS, NFS, FUSE, SMB, FAT] = [0xef53, 0x58465342, 0x6969, 0x65735546, 0xfe534d42, 0x4d44]
const EXFAT = 0x2011bab0
const SECOND = 1_000_000_000n
const HOUR_MS = 3_600_000
const BIRTH = 1_795_419_055_481_622_626n
const MS = 1_000_000n

type Seen = readonly [inode: bigint, birth: bigint, fileSystem: number | undefined]

const areOthers = (one: Seen, other: Seen) => {
  const [a, b] = [one, other].map(([inode, birth, fileSystem]) => ({ inode, birth, fileSystem }))
  return a !== undefined && b !== undefined && areDifferent(a, b)
}

/** Or nobody can tell. */
const SAME: [string, Seen, Seen][] = [
  ['nothing has changed', [1n, BIRTH, EXT4], [1n, BIRTH, EXT4]],
  ['ext4, seen over NFS, which tells no time', [1n, BIRTH, EXT4], [1n, 0n, NFS]],
  ['over NFS, seen on the server', [1n, 0n, NFS], [1n, BIRTH, EXT4]],
  ['over SMB, with fewer digits', [1n, BIRTH, EXT4], [1n, BIRTH - 26n, SMB]],
  ['over SMB with numbers of its own', [1n, BIRTH - 26n, SMB], [2n, BIRTH, EXT4]],
  ['another number after a remount', [1n, BIRTH, undefined], [2n, BIRTH, undefined]],
  ['sshfs, mounted again', [1n, 0n, FUSE], [2n, 0n, FUSE]],
  ['sshfs, seen on the server', [1n, 0n, FUSE], [2n, BIRTH, EXT4]],
  ['on the server, seen over sshfs', [1n, BIRTH, EXT4], [2n, 0n, FUSE]],
  ['FAT in another time zone', [1n, 1_795_419_050_000_000_000n, FAT], [2n, 1_795_422_650_010_000_000n, FAT]],
  ['FAT in another time zone, by a system that rounds', [1n, 999n * SECOND, FAT], [2n, 4598n * SECOND, FAT]],
  ['exFAT, mounted again', [1n, 999n * SECOND, EXFAT], [2n, 999n * SECOND, EXFAT]],
  ['FAT, by a system that rounds', [1n, 999n * SECOND, FAT], [2n, 998n * SECOND, FAT]],
  ['FAT, as its server shows it', [1n, 999n * SECOND, FAT], [2n, BIRTH, SMB]],
  ['no numbers', [0n, BIRTH, undefined], [0n, BIRTH + 5n * MS, undefined]],
  ['no number now', [7n, BIRTH, undefined], [0n, BIRTH + 5n * MS, undefined]],
  ['an unknown file system that changes times', [1n, BIRTH, undefined], [1n, BIRTH + 5n * MS, undefined]],
]

const OTHERS: [string, Seen, Seen][] = [
  ['both differ', [1n, BIRTH, EXT4], [2n, BIRTH + 5n * MS, XFS]],
  ['also where nothing is known', [1n, BIRTH, undefined], [2n, BIRTH + 5n * MS, undefined]],
  ['the number of a removed file on ext4', [1n, BIRTH, EXT4], [1n, BIRTH + 5n * MS, EXT4]],
  ['NFS has only numbers', [1n, 0n, NFS], [2n, 0n, NFS]],
  ['FAT', [1n, 999n * SECOND, FAT], [2n, 1004n * SECOND, FAT]],
  ['exFAT', [1n, 999n * SECOND, EXFAT], [2n, 1004n * SECOND, EXFAT]],
  ['exFAT, carried to another disk', [1n, 999n * SECOND, EXFAT], [2n, BIRTH, EXT4]],
  ['FAT, carried to another disk', [1n, 999n * SECOND, FAT], [2n, BIRTH, EXT4]],
  ['ext4 without times', [1n, 0n, EXT4], [2n, 0n, EXT4]],
]

const ROWS = [...SAME.map((row) => [false, ...row] as const), ...OTHERS.map((row) => [true, ...row] as const)]

test.each(ROWS)('two looks are at different files (%s): %s', (areOther, _, one, other) => {
  expect([areOthers(one, other), areOthers(other, one)]).toEqual([areOther, areOther])
})

const messages = { warn: () => {}, tell: () => {} }
const identityIn = (directory: string) => readFileSync(join(directory, '.identity'), 'utf8')

describe('a directory', () => {
  test('that an earlier version used is used when it gets to know itself', () => {
    const [directory, other] = [temporaryDirectory(), temporaryDirectory()]
    writeFileSync(join(directory, '__8988.json'), '{}')
    for (const each of [directory, other]) introduce(each)
    expect([directory, other].map(identify)).toEqual(['original', 'new'])
  })

  test('is used only from a claim on, and then written once', async () => {
    const directory = temporaryDirectory()
    const begin = await enter(directory, messages)
    expect(identify(directory)).toBe('none')
    begin()
    const before = identityIn(directory)
    begin()
    const again = await enter(directory, messages)
    again()
    expect(identityIn(directory)).toBe(before)
  })

  test.skipIf(!tellsBirth)(
    'is written anew an hour later: so a backup that is put over it is a copy',
    async () => {
      const directory = temporaryDirectory()
      adopt(directory)
      const backup = identityIn(directory)
      const file = join(directory, '.identity')
      const earlier = (Date.now() - HOUR_MS) / 1000
      utimesSync(file, earlier, earlier)
      const begin = await enter(directory, messages)
      expect(identityIn(directory)).toBe(backup)
      // Births within a millisecond count as one.
      pause(5)
      begin()
      expect([identify(directory), identityIn(directory) === backup]).toEqual(['original', false])
      writeFileSync(file, backup)
      expect(identify(directory)).toBe('copy')
    },
  )

  test('whose file is missing is a copy, whatever an earlier version has used before', () => {
    const directory = temporaryDirectory()
    for (let n = 100; n <= 200; n++)
      writeFileSync(join(directory, `__8988${n}.json`), n === 200 ? '{"claim":"x"}' : '{}')
    expect(identify(directory)).toBe('copy')
  })

  const NONE = ['', '{"directory":"7e8', '[]', '{"used":true,"inode":"x","birth":"1"}']
  test.each(NONE)('whose file says %j has none, and gets one', async (text) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, '.identity'), text)
    expect(identify(directory)).toBe('none')
    const again = await enter(directory, messages)
    again()
    expect(identify(directory)).toBe('original')
  })

  test.skipIf(!hasSymlinks)('whose file is a link is left alone', async () => {
    const directory = temporaryDirectory()
    symlinkSync('elsewhere', join(directory, '.identity'))
    expect(identify(directory)).toBe('unknown')
    const again = await enter(directory, messages)
    again()
    expect(identify(directory)).toBe('unknown')
  })
})
