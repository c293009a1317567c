/** The exit code of each outcome, and its description in the help and the README. */
export const OUTCOMES = {
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
  partial: [8, 'fetch stored some of the requested profiles, but not all'],
  disk: [9, "disk or standard output: can't read, write, flush or rename"],
  copy: [10, 'the directory of profiles is a copy, or came back from a backup'],
  interrupted: [130, 'interrupted'],
} as const satisfies Record<string, readonly [code: number, meaning: string]>

export type Outcome = keyof typeof OUTCOMES

export const exitCode = (outcome: Outcome): number => OUTCOMES[outcome][0]
