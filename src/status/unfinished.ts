import { UnusableProfile } from '../failure.ts'
import { type Use, useAt, useOf } from '../store/profile-state.ts'
import { directoryFailure } from '../store/read.ts'
import { deviceIn, fieldsOf } from '../store/used-file.ts'
import type { Messages } from '../words.ts'
import { warnOfEach } from './warn.ts'

/**
 * What the names of one profile say.
 * @param iccid its digits
 * @returns undefined if its used file can't be read: then the profile is used
 * @throws {Failure} `disk` if nobody can tell; `no-profiles` if there is no such directory
 */
export function lookAt(directory: string, iccid: string): Use | undefined {
  try {
    return useOf(directory, iccid)
  } catch (error) {
    if (error instanceof UnusableProfile) return undefined
    throw directoryFailure(directory, error)
  }
}

/**
 * A killed call leaves both files. Moved apart, they would give one profile to two devices.
 * @param names unused files that have a used file beside them
 */
export const warnOfUnfinished = (directory: string, names: readonly string[], messages: Messages): void =>
  warnOfEach(messages, names, {
    words: (name) => claimOf(directory, name),
    more: (others) => `${others} more claims are not finished`,
  })

function claimOf(directory: string, name: string): string {
  const text = textOf(directory, name)
  const device = deviceIn(text)
  const { station, claimed } = fieldsOf(text)
  const known = [station, claimed].filter((each) => typeof each === 'string')
  const whose = known.length > 0 ? ` (${known.join(', ')})` : ''
  return device === undefined
    ? `${name}: a call${whose} is claiming it, or was killed while it did; do not move it`
    : `${name}: a call is claiming it for device ${device}, or was killed while it did: scan the device again; do not move it`
}

/** Empty also if nobody can tell: the warning says enough. */
function textOf(directory: string, name: string): string {
  try {
    const use = useAt(directory, name)
    return use.state === 'used' || use.state === 'claimed' ? use.text : ''
  } catch {
    return ''
  }
}

/** @param inTransit where the profiles go that interrupted moves have claimed, by their unused names */
export function warnOfTransit(inTransit: ReadonlyMap<string, string>, messages: Messages): void {
  for (const to of new Set(inTransit.values()))
    messages.warn(`a move to ${to} is not finished: run the same command again`)
  for (const [name, to] of inTransit) messages.tell(1, `${name} is in transit to ${to}`)
}
