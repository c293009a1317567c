/** Command lines that `softsim station` refuses before it opens anything; stations/ has the others. */
import { expect, test } from 'vitest'
import { StationCommand } from '../../src/cli/commands/station-command.ts'
import { Report } from '../../src/cli/report.ts'
import { parse } from '../../src/cli/run.ts'
import { UsageError } from '../../src/failure.ts'

const PROGRAM = ['--program', './program-device']

test.each<[string, string[], NodeJS.ProcessEnv?]>([
  ['a station has ports or a program, not both', [...PROGRAM, '--port', '/dev/null']],
  ['--send needs %s once, for the profile', [...PROGRAM, '--send', 'AT+SOFTSIM']],
  ['--send needs %s once, for the profile', [...PROGRAM, '--send', '%s %s']],
  ['--pass, --fail and --baud are for ports', [...PROGRAM, '--pass', 'OK']],
  ['--pass, --fail and --baud are for ports', [...PROGRAM, '--baud', '9600']],
  ['--panel is for a program', ['--port', '/dev/ttyUSB0', '--panel', '2']],
  ['standard input is for serial numbers', [...PROGRAM, '-k', '-']],
  ['SOFTSIM_DEVICE_FORMAT is not a regular expression', PROGRAM, { SOFTSIM_DEVICE_FORMAT: '(' }],
])('%s: %j', async (expected, options, env = {}) => {
  const context = {
    report: new Report(() => {}),
    version: '1.2.3',
    commands: [StationCommand],
    env,
    umask: 0o022,
  }
  const call = () => parse(['station', ...options], context).validateAndExecute()
  await expect(call()).rejects.toThrow(UsageError)
  await expect(call()).rejects.toThrow(expected)
})
