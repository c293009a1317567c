import { join } from 'node:path'
import { Option } from 'clipanion'
import { Failure, reasonOf } from '../errors.ts'
import { onInterrupt } from '../interrupt.ts'
import { readKey } from '../key-file.ts'
import { takeNamed } from '../named.ts'
import { isOutputClosed, writeOutput } from '../output.ts'
import { THREADS } from '../profile/decrypt.ts'
import { encodeHex } from '../profile/hex.ts'
import { encodeJson, encodeRaw } from '../profile/json.ts'
import type { HexOptions, Profile } from '../profile/profile.ts'
import type { Report } from '../report.ts'
import { flushDirectorySync } from '../store/flush.ts'
import { hasIncoming } from '../store/incoming.ts'
import { usedName } from '../store/names.ts'
import { type Ready, type Source, take } from '../take.ts'
import { quote, several } from '../words.ts'
import { BaseCommand, notEmpty, parseCount } from './base.ts'

export class NextCommand extends BaseCommand {
  static override paths = [['next']]
  static override usage = {
    description: 'hand out the next unused profile',
    details: [
      'Takes the unused profile with the lowest name, decrypts it, marks its file used by renaming it to __<name>, and only then prints it: one line on standard output, and nothing else. Any number of calls may work on one directory at once; no profile is handed out twice.',
      'With --count it takes that many at once, for a panel of devices, one a line: all of them, or none and exit code 3.',
      'With --iccid it takes that one profile; if it is used already, it prints it again and warns. This is for a device whose programming failed half-way: the same device must get the same profile.',
      'A file that is damaged, or that a device would refuse, stays as it is, is named on standard error and passed over.',
      'The passphrase of a protected key is read from the environment variable SOFTSIM_KEY_PASSPHRASE.',
    ].join('\n\n'),
    examples: [
      ['The next profile, as a device programmer takes it', 'softsim next -k softsim.pem -i profiles'],
      ['Into a device at a serial port', 'softsim next -k softsim.pem --crc > /dev/ttyUSB0'],
      ['Everything there is to know about it', 'softsim next -k softsim.pem --format=json'],
    ] as [string, string][],
  }

  key = Option.String('-k,--key', {
    description: '<KEY>: the RSA private key, PKCS#1 or PKCS#8, PEM or DER (required)',
  })

  directory = Option.String('-i,--in', './profiles', {
    description: '<SET_OF_PROFILES>: the directory of profiles (default: ./profiles)',
  })

  count = Option.String('-n,--count', {
    description: '<NUM_OF_PROFILES>: how many profiles to take, all or none (default: 1)',
  })

  iccid = Option.String('--iccid', { description: '<ICCID>: take this profile, used or not' })

  format = Option.String('--format', 'hex', {
    tolerateBoolean: true,
    description: '[=<FORMAT>]: hex, json or raw (default: hex)',
  })

  smsp = Option.Boolean('--smsp', false, { description: 'include the SMSP record' })
  noSmsc = Option.Boolean('--no-smsc', false, { description: 'leave the SMSC record out' })
  crc = Option.Boolean('--crc', false, { description: 'end the hex with the CRC-32 record' })

  override async execute(): Promise<void> {
    const { report, env } = this.context
    const options = { smsp: this.smsp, smsc: !this.noSmsc, crc: this.crc }
    const encode = encoder(this.format, options)
    const count = parseCount(this.count ?? '1')
    if (this.iccid !== undefined && this.count !== undefined) {
      throw new Failure('usage', '--iccid and --count exclude each other', { hint: 'softsim help next' })
    }
    // Read by libuv when it first needs a thread.
    if (count > 1) env['UV_THREADPOOL_SIZE'] ??= String(THREADS)
    notEmpty('--in', this.directory)
    notEmpty('--key', this.key ?? '-')
    const key = readKey(this.key, env['SOFTSIM_KEY_PASSPHRASE'])
    // Released only where the call fails: from a delivered profile on, a signal changes nothing any more.
    const interrupt = onInterrupt(0, () => {})
    if (hasIncoming(this.directory)) await finishFetch(this.directory, report)

    const source = { directory: this.directory, key, options, report, beforeClaim: checks(interrupt.stop) }
    try {
      const { taken, left } =
        this.iccid === undefined ? await take(source, count) : await this.#takeNamed(source, this.iccid)
      await this.#deliver(taken, encode, interrupt.stop)
      for (const { iccid, name } of taken) report.tell(1, `handed out ${iccid}, now ${this.#usedFile(name)}`)
      if (left !== undefined) report.tell(1, `${several(left, 'unused profile')} left in ${this.directory}`)
    } catch (error) {
      interrupt.release()
      throw error
    }
  }

  async #takeNamed(source: Source, iccid: string): Promise<{ taken: Ready[]; left?: number }> {
    const { ready, isAgain } = await takeNamed(source, iccid)
    if (isAgain) source.report.warn(`${ready.iccid} was handed out before: it must go into the same device`)
    return { taken: [ready] }
  }

  /** From the claim on, whatever goes wrong must be told by name: the profiles are marked used. */
  async #deliver(
    taken: readonly Ready[],
    encode: (profile: Profile) => string,
    stop: AbortSignal,
  ): Promise<void> {
    try {
      flushDirectorySync(this.directory)
      await writeOutput(taken.map(({ profile }) => `${encode(profile)}\n`).join(''), stop)
    } catch (error) {
      throw this.#undelivered(taken, stop.aborted ? 'interrupted' : undefined, error)
    }
  }

  #undelivered(taken: readonly Ready[], interrupted: 'interrupted' | undefined, error: unknown): Failure {
    const reason = interrupted ?? reasonOf(error)
    const told = taken.map(({ iccid, name }) => `${iccid} (${this.#usedFile(name)})`)
    const [only] = told
    if (told.length > 1)
      for (const each of told) this.context.report.warn(`claimed and not delivered: ${each}`)
    const what = told.length > 1 ? `${told.length} profiles, see above` : only
    const again = `softsim next -k ${quote(this.key ?? '')} -i ${quote(this.directory)} --iccid`
    return new Failure(interrupted ?? 'disk', `claimed and not delivered: ${what}: ${reason}`, {
      hint: `to have it again: ${again} ${told.length > 1 ? 'and its ICCID' : taken[0]?.iccid}`,
      cause: error,
    })
  }

  #usedFile(name: string): string {
    return join(this.directory, usedName(name))
  }
}

/** What can stop a profile from being delivered and is known before it is claimed. */
function checks(stop: AbortSignal): Source['beforeClaim'] {
  return (ready) => {
    if (stop.aborted) throw new Failure('interrupted', 'interrupted; nothing was claimed')
    if (isOutputClosed()) {
      const which = ready.map(({ iccid }) => iccid).join(', ')
      throw new Failure('disk', `standard output is closed, so this was not claimed: ${which}`)
    }
  }
}

/** Profiles that an interrupted fetch received and could not store any more are unused profiles too. */
async function finishFetch(directory: string, report: Report): Promise<void> {
  try {
    const { finishFetches } = await import('../recovery.ts')
    await finishFetches(directory, report)
  } catch (error) {
    report.warn(`profiles that an interrupted fetch received can't be stored: ${reasonOf(error)}`)
  }
}

/** What turns a profile into one line of the format. */
function encoder(format: string | boolean, options: HexOptions): (profile: Profile) => string {
  switch (format) {
    case true:
    case 'hex':
      return (profile) => encodeHex(profile, options)
    case 'json':
      return (profile) => encodeJson(profile, options)
    case 'raw':
      return encodeRaw
    default:
      throw new Failure('usage', '--format is hex, json or raw', { hint: 'softsim help next' })
  }
}
