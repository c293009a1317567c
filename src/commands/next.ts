import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Option } from 'clipanion'
import { Failure, reasonOf } from '../errors.ts'
import { isOutputClosed, writeOutput } from '../output.ts'
import { encodeHex } from '../profile/hex.ts'
import { encodeJson, encodeRaw } from '../profile/json.ts'
import { parsePrivateKey } from '../profile/key.ts'
import type { HexOptions, Profile } from '../profile/profile.ts'
import type { Report } from '../report.ts'
import { listUnused } from '../store/claim.ts'
import { flushDirectorySync } from '../store/flush.ts'
import { hasIncoming } from '../store/incoming.ts'
import { usedName } from '../store/names.ts'
import { take } from '../take.ts'
import { BaseCommand } from './base.ts'

export class NextCommand extends BaseCommand {
  static override paths = [['next']]
  static override usage = {
    description: 'hand out the next unused profile',
    details: [
      'Takes the unused profile with the lowest name, decrypts it, marks its file used by renaming it to __<name>, and only then prints it: one line on standard output, and nothing else. Any number of calls may work on one directory at once; no profile is handed out twice.',
      'A file that is damaged, or that a device would refuse, stays as it is, is named on standard error and passed over.',
      'The passphrase of a protected key is read from the environment variable SOFTSIM_KEY_PASSPHRASE.',
    ].join('\n\n'),
    examples: [
      ['The next profile as a device programmer takes it', 'softsim next -k softsim.pem -i profiles'],
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
    const key = readKey(this.key, env['SOFTSIM_KEY_PASSPHRASE'])
    if (isOutputClosed())
      throw new Failure('disk', 'standard output is closed: there is nowhere to print a profile')

    if (hasIncoming(this.directory)) await finishFetch(this.directory, report)
    const { name, iccid, profile } = take(this.directory, key, options, report)
    const file = join(this.directory, usedName(name))
    try {
      flushDirectorySync(this.directory)
      await writeOutput(`${encode(profile)}\n`)
    } catch (error) {
      throw new Failure('disk', `${iccid} is claimed and was not delivered: ${reasonOf(error)}`, {
        hint: `no call will hand it out again; its file is ${file}`,
        cause: error,
      })
    }
    if (report.level > 0)
      report.tell(1, `handed out ${iccid}, now ${file}; ${listUnused(this.directory).length} left`)
  }
}

/** Profiles that an interrupted fetch received and could not store any more are unused profiles too. */
async function finishFetch(directory: string, report: Report): Promise<void> {
  try {
    const { recover } = await import('../store/recover.ts')
    const recovered = await recover(directory)
    if (recovered) report.tell(0, `finished an interrupted fetch: ${recovered.stored} profiles stored`)
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

function readKey(path: string | undefined, passphrase: string | undefined): KeyObject {
  if (path === undefined) {
    throw new Failure('usage', 'next needs the private key', {
      hint: 'name its file: softsim next -k softsim.pem',
    })
  }
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw new Failure('key', `can't read the private key ${path}: ${reasonOf(error)}`, { cause: error })
  }
  return parsePrivateKey(bytes, path, passphrase)
}
