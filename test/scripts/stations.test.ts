import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

describe.each(['station.sh', 'station.ps1', 'station.cmd'])('%s', (name) => {
  const text = readFileSync(`scripts/stations/${name}`, 'latin1')

  // Windows PowerShell 5.1 and cmd read other characters in the code page of the machine.
  test('is in ASCII', () => expect(text).toMatch(/^[\t\r\n -~]+$/))

  // cmd misses labels where lines end with LF alone; bash fails where they do not.
  test('has the line ends of its system', () => {
    const ends = new Set(text.match(/\r?\n/g))
    expect([...ends]).toEqual([name === 'station.cmd' ? '\r\n' : '\n'])
  })
})
