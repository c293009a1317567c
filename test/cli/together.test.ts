/** Options that do not go together, and those that are missing: each is said with what helps, and nothing is opened. */
import { expect, test } from 'vitest'
import { Report } from '../../src/cli/report.ts'
import { commandsFor, parse } from '../../src/cli/run.ts'
import { UsageError } from '../../src/failure.ts'

const commands = await commandsFor()

async function refusal(line: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const context = { report: new Report(() => {}), version: '1.2.3', commands, env, umask: 0o022 }
  const error = await parse(line.split(' '), context)
    .validateAndExecute()
    .catch((thrown: unknown) => thrown)
  if (error instanceof UsageError) return `${error.message} | ${error.hint}`
  throw new Error(`taken: ${line}, ${error}`)
}

const ICCID = '89880000000000000017'
const SEE = 'see softsim help status'
const MOVE = 'for example: softsim move -n 500 -i profiles -o /media/stick/profiles'
const BACK = MOVE.replace('-n 500', '--back')
const RESTORE = 'for example: softsim restore -i profiles --receipts receipts'
const TWICE =
  '--device names the same device twice | give each serial number once; if two of them differ only in case or zeros, add --new'
const KEY = 'next needs the private key | give its file, such as -k softsim.pem'

test.each<[line: string, said: string, NodeJS.ProcessEnv?]>([
  ['fetch', 'fetch needs an API key | set SOFTSIM_API_KEY to it'],
  // Without a key, nothing else is said.
  ['fetch --stock 5 -n 5', 'fetch needs an API key | set SOFTSIM_API_KEY to it'],
  ['fetch -a key1 --stock 5 -n 5', "--stock and -n can't be used together | give one of them"],
  ['next', KEY],
  ['next --device A --device A-1', KEY],
  ['next --new --device A --device a', KEY],
  ['next --device A --device a', TWICE],
  ['next --device 42 --device 0042', TWICE],
  ['next --new --device A --device A', TWICE],
  ['next --new', '--new needs --device | such as --device SN-0042 --new'],
  [`next --new --iccid ${ICCID}`, '--new needs --device | such as --device SN-0042 --new'],
  [`next --iccid ${ICCID} -n 1`, "--iccid and -n can't be used together | give one of them"],
  [`next --iccid ${ICCID} --device A -n 1`, "--iccid and -n can't be used together | give one of them"],
  ['next --device A -n 1', "--device and -n can't be used together | repeat --device"],
  [`next --iccid ${ICCID} --device A --device A`, '--iccid is for one device | give --device once'],
  [`next --iccid ${ICCID} --device A`, KEY],
  [
    'next --device NOREAD -n 1',
    'NOREAD is no serial number: the scanner has read nothing | scan the device again',
  ],
  [
    'next --device SN-1',
    'SN-1 is no serial number: not what SOFTSIM_DEVICE_FORMAT describes | scan the device again, or correct the variable',
    { SOFTSIM_DEVICE_FORMAT: 'X.*' },
  ],
  ['status --device A --devices', `--device or --iccid can't be used together with --devices | ${SEE}`],
  [`status --iccid ${ICCID} --passed`, `--device or --iccid can't be used together with --devices | ${SEE}`],
  [`status --iccid ${ICCID} -n 5`, `--device or --iccid can't be used together with -k or -n | ${SEE}`],
  ['status --not-passed -k a.pem', `--devices can't be used together with -k or -n | ${SEE}`],
  ['status --devices -n 1', `--devices can't be used together with -k or -n | ${SEE}`],
  ['status --passed --not-passed', `--passed and --not-passed can't be used together | ${SEE}`],
  ['status -n 5', `-n needs -k | ${SEE}`],
  ['status -n 5', `-n needs -k | ${SEE}`, { SOFTSIM_KEY_FILE: '' }],
  [`move -n 5 -o b`, `move needs -i | ${MOVE}`],
  [`move -n 5 -i a`, `move needs -o | ${MOVE}`],
  [`move`, `move needs -i | ${MOVE}`],
  [`move --back`, `move needs -i | ${BACK}`],
  [`move -i a -o b`, `move needs -n, --all, --back or --lost | ${MOVE}`],
  [`move -i a -o b -n 5 --all`, `-n and --all can't be used together | ${MOVE}`],
  [`move -i a -o b --all --back`, `--all and --back can't be used together | ${BACK}`],
  [`move -i a -o b --lost --back`, `--back and --lost can't be used together | ${BACK}`],
  [`move -i a -o b --lost --all`, `--all and --lost can't be used together | ${MOVE}`],
  // Neither comes from a variable: which directory is which must be said.
  [`move --all`, `move needs -i | ${MOVE}`, { SOFTSIM_DIR: 'a' }],
  ['restore --receipts r', `restore needs -i | ${RESTORE}`, { SOFTSIM_DIR: 'a' }],
  [
    'restore -i a',
    `restore needs --receipts | ${RESTORE}; only if nothing was handed out or moved since: --without-receipts`,
    { SOFTSIM_RECEIPT: 'r' },
  ],
  [
    'restore -i a --receipts r --without-receipts',
    `--receipts and --without-receipts can't be used together | ${RESTORE}`,
  ],
])('%s: %s', async (line, said, env) => expect(await refusal(line, env)).toBe(said))
