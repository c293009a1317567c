/** The exit codes, by which a script can branch. The help and the manual show this table. */
import type { Outcome } from '../failure.ts'

export const EXIT_CODES: Readonly<Record<Outcome, readonly [code: number, words: string]>> = {
  done: [0, 'success'],
  bug: [1, 'internal error in softsim; the hint says how to report it'],
  usage: [2, 'invalid command line or environment variable'],
  'no-profiles': [
    3,
    'not enough profiles: none unused, fewer than requested, no such ICCID or directory, or none left at the service',
  ],
  key: [4, "the private key can't be used, or does not decrypt the profiles"],
  unusable: [5, 'there are profiles, but none of them can be used; or receipts contradict the directory'],
  'api-key': [6, 'the service does not accept the API key'],
  service: [7, 'the service or the network failed; temporary failures are retried first'],
  partial: [8, 'fetch stored not all of the requested profiles, or a device of the station has not passed'],
  disk: [9, "disk or standard output: can't read, write, flush or rename"],
  copy: [10, 'the directory of profiles is a copy, or came back from a backup'],
  'has-profile': [11, 'the device has a profile already, with --new, or another one than --iccid names'],
  interrupted: [130, 'interrupted'],
}

export const exitCode = (outcome: Outcome): number => EXIT_CODES[outcome][0]
