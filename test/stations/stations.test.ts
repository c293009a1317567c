/**
 * The scripts for stations, each with the one table of cases: bash here, cmd and PowerShell on Windows. With WINE, the
 * command that runs a Windows program, and dist/bin/softsim-win-x64.exe, cmd is tested on Linux, too.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, test } from 'vitest'
import { hostBinary } from '../../scripts/package/host.ts'
import { pageAt } from '../docs/pages.ts'
import { directoryOf, someProfiles } from '../support/directory.ts'
import { hasProgram, isWindows, tellsBirth } from '../support/system.ts'
import { CASES, type Case, type Run } from './cases.ts'

const WINE = process.env['WINE']
const SCRIPTS = ['softsim-station', 'softsim-station.ps1', 'softsim-station.cmd'] as const
type Script = (typeof SCRIPTS)[number]

const PROGRAM = {
  'program-device': `#!/bin/sh
cd "$(dirname "$0")"; read -r line
echo "$SLOT $DEVICE $line" >> programmed; echo "$SOFTSIM_KEY_PASSPHRASE" >> passphrases
[ ! -e "hang-$DEVICE" ] || sleep 60
cat "says-$DEVICE" 2> /dev/null
[ ! -e "remove-$DEVICE" ] || rm -r profiles
[ ! -e "restore-$DEVICE" ] || { rm -r profiles && mv backup profiles; }
[ ! -e "fail-$DEVICE" ]
`,
  'program-device.cmd': `@echo off
cd /d "%~dp0"
set /p line=
>> programmed echo %SLOT% %DEVICE% %line%
if defined SOFTSIM_KEY_PASSPHRASE >> passphrases echo %SOFTSIM_KEY_PASSPHRASE%
if exist says-%DEVICE% type says-%DEVICE%
if exist remove-%DEVICE% rmdir /s /q profiles
if exist restore-%DEVICE% (rmdir /s /q profiles & move backup profiles > nul)
if exist fail-%DEVICE% exit /b 1
exit /b 0
`.replaceAll('\n', '\r\n'),
}

const powershell = ['pwsh', 'powershell'].find(hasProgram)

/** The words that run a script; none where it can't be run. */
const COMMANDS: Record<Script, readonly string[] | undefined> = {
  'softsim-station': process.platform === 'linux' ? ['bash', 'softsim-station'] : undefined,
  'softsim-station.ps1':
    isWindows && powershell
      ? [powershell, '-NoProfile', '-ExecutionPolicy', 'Bypass', '-File', 'softsim-station.ps1']
      : undefined,
  'softsim-station.cmd':
    isWindows || WINE ? [...(WINE ? [WINE] : []), 'cmd', '/d', '/c', 'softsim-station.cmd'] : undefined,
}

function makePlace({ stock = 5 }: Case, script: Script): string {
  const place = dirname(directoryOf(someProfiles(stock)))
  const isUnix = script === 'softsim-station'
  const binary = isUnix || isWindows ? hostBinary : 'dist/bin/softsim-win-x64.exe'
  const name = isUnix ? 'softsim' : 'softsim.exe'
  if (isWindows) fs.copyFileSync(binary, join(place, name))
  else fs.symlinkSync(resolve(binary), join(place, name))
  for (const [file, text] of Object.entries(PROGRAM)) {
    fs.writeFileSync(join(place, file), text)
    fs.chmodSync(join(place, file), 0o755)
  }
  fs.copyFileSync(join('dist/stations', script), join(place, script))
  fs.copyFileSync(inject('keys').privateKeyPath, join(place, 'softsim.pem'))
  return place
}

/** Runs the station to its end. Its output is a file, because Node under Wine fails at pipes. */
async function start(script: Script, place: string, { settings, inCmd, args = [], typed = [], secret }: Run) {
  const [file = '', ...words] = COMMANDS[script] ?? []
  const isCmd = script === 'softsim-station.cmd'
  // softsim-station.cmd asks for Enter before each panel.
  const panels = [...typed, 'exit'].map((panel) => (isCmd ? `\n${panel}` : panel))
  const lines = [...(secret ? [secret] : []), ...panels].join('\n').split('\n')
  const output = join(place, 'shown')
  const stdout = fs.openSync(output, 'w')
  const settingsOfSoftsim = Object.keys(process.env).filter((name) => name.startsWith('SOFTSIM_'))
  const env = {
    ...process.env,
    ...Object.fromEntries(settingsOfSoftsim.map((name) => [name, undefined])),
    PATH: `${place}${delimiter}${process.env['PATH']}`,
    WINEPATH: `Z:${place.replaceAll('/', '\\')}`,
    ...settings,
    ...(isCmd && inCmd),
  }
  const child = spawn(file, [...words, ...args], { cwd: place, env, stdio: ['pipe', stdout, stdout] })
  const ended = once(child, 'close')
  // It may have ended before it reads what is typed.
  child.stdin?.on('error', () => {})
  if (!isCmd) child.stdin?.end(`${lines.join('\n')}\n`)
  // Under Wine, `set /p` takes all that is there: one line at each prompt.
  for (let answered = 0; isCmd && child.exitCode === null; await sleep(10)) {
    const shown = fs.readFileSync(output, 'latin1')
    if (shown.length === answered || !shown.endsWith(': ')) continue
    answered = shown.length
    child.stdin?.write(`${lines.shift() ?? 'exit'}\r\n`)
  }
  const [code] = await ended
  fs.closeSync(stdout)
  return { code, shown: fs.readFileSync(output, 'utf8').replaceAll('\r', '') }
}

/** The ICCIDs of the profiles, which are counted from 1. */
const NUMBERS = someProfiles(5).map(({ iccid }) => iccid)

const linesOf = (path: string) =>
  fs.existsSync(path) ? fs.readFileSync(path, 'utf8').split(/\r?\n/).filter(Boolean) : []

/** `*` stands for anything in a line. */
const pattern = (words: string) => words.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')

async function check(script: Script, place: string, run: Run): Promise<void> {
  run.first?.(place)
  const { code, shown } = await start(script, place, run)
  expect(shown).toMatch(new RegExp((run.says ?? []).map(pattern).join('[^]*')))
  for (const words of run.never ?? []) expect(shown).not.toContain(words)
  expect(code, shown).toBe(run.code ?? 0)
  const received = linesOf(join(place, 'programmed'))
  for (const line of received) {
    const profile = /[0-9a-f]{200,}/.exec(line)?.[0]
    expect(profile).toBeDefined()
    for (const file of ['shown', 'log.txt'])
      expect(linesOf(join(place, file)).join('\n')).not.toContain(profile)
  }
  expect(linesOf(join(place, 'passphrases'))).toEqual([])
  if (run.programmed)
    expect(received.map((line) => line.trim().replace(/[0-9a-f]{200,}/, '#')).sort()).toEqual(run.programmed)
  const rows = linesOf(join(place, 'results.csv')).slice(1)
  const results = rows.flatMap((line) => /^[^,]*,[^,]*,"(.*)",(\w+)$/.exec(line)?.slice(1).join(' ') ?? [])
  if (run.results !== undefined) expect(results.join(', ')).toBe(run.results)
  const receipts = linesOf(join(place, 'receipt.jsonl')).map((line) => JSON.parse(line))
  const given = receipts.map((receipt) => `${receipt.device} ${NUMBERS.indexOf(receipt.iccid) + 1}`)
  if (run.station !== undefined) {
    expect(rows.map((line) => line.split(',')[1])).toEqual(rows.map(() => run.station))
    expect(receipts.map((receipt) => receipt.station)).toEqual(receipts.map(() => run.station))
    expect(rows.length * receipts.length).toBeGreaterThan(0)
  }
  if (run.given !== undefined) expect(given.join(', ')).toBe(run.given)
}

describe.each(SCRIPTS)('%s', (script) => {
  const isCmd = script === 'softsim-station.cmd'
  // The others read a passphrase from a terminal only.
  const cases = CASES.filter(({ notInCmd, secret }) => (isCmd ? !notInCmd : !secret))

  describe.skipIf(COMMANDS[script] === undefined)('does what the table says', () => {
    const canRecognise = tellsBirth && !(isCmd && WINE)
    test.each(cases.filter(({ birth }) => canRecognise || !birth))('$name', async (each) => {
      const place = makePlace(each, script)
      fs.copyFileSync(lockedKey(), join(place, 'locked.pem'))
      await check(script, place, each)
      if (each.again) await check(script, place, each.again)
    })
  })

  const text = fs.readFileSync(join('dist/stations', script), 'latin1')

  test('has all words of the table', () => {
    const words = cases.flatMap(({ says = [], again }) => [...says, ...(again?.says ?? [])])
    // Names and numbers are variables there.
    const phrases = words
      .filter((said) => !said.startsWith('softsim:'))
      .flatMap((said) => said.match(/(?<![\w/=-])[A-Z]?[a-z']+(?: [a-z]+)+\b/g) ?? [])
    expect(phrases.length).toBeGreaterThan(50)
    const said = isCmd ? text.replaceAll('%%', '%') : text
    expect([...new Set(phrases)].filter((phrase) => !said.includes(phrase))).toEqual([])
  })

  test('the page to print quotes it', () => {
    const page = pageAt('scripts/stations/at-the-line.md')
    expect(page.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(300)
    const quoted = [...page.matchAll(/^- `([^`]+)`/gm)].flatMap(([, words = '']) => words.split(/\s*…\s*/))
    expect(quoted.length).toBeGreaterThan(8)
    const isAbsent = (words: string) => !text.includes(words) && !(isCmd && words.startsWith('No answer'))
    expect(quoted.filter(isAbsent)).toEqual([])
  })

  test('--help has the settings of the script for Linux', () => {
    const bash = fs.readFileSync('scripts/stations/softsim-station', 'latin1')
    const [help = ''] = /^ {2}PROFILES[\s\S]*?(?=\n\n)/m.exec(bash) ?? []
    expect(help).toContain('PROFILES')
    const said = isCmd ? text.replaceAll('\r', '').replaceAll(/^::: ?/gm, '') : text
    expect(said).toContain(help)
  })

  // Windows PowerShell 5.1 and cmd read other characters in the code page of the machine.
  test('is in ASCII', () => expect(text).toMatch(/^[\t\r\n -~]+$/))

  // cmd misses labels where lines end with LF alone; bash fails where they do not.
  test('has the line ends of its system', () => {
    expect([...new Set(text.match(/\r?\n/g))]).toEqual([isCmd ? '\r\n' : '\n'])
  })

  // cmd under Wine, the only one that the script was run with, looks for a variable of that name.
  test('has no variable whose name is that of a loop', () => expect(text).not.toMatch(/!%%\w!/))

  test.skipIf(!isCmd)('every label that it jumps to is there', () => {
    const labels = new Set([...text.matchAll(/^:(\w+)/gm)].map(([, label]) => label))
    const jumps = [...text.matchAll(/\b(?:goto |call :)(\w+)/g)].map(([, label]) => label)
    expect(jumps.filter((label) => !labels.has(label))).toEqual([])
  })
})

let locked: string | undefined
/** The key of all tests, with a passphrase. */
function lockedKey(): string {
  const { privateKeyPath } = inject('keys')
  locked ??= `${privateKeyPath}.${process.pid}.locked`
  if (fs.existsSync(locked)) return locked
  fs.copyFileSync(privateKeyPath, `${locked}.new`)
  fs.chmodSync(`${locked}.new`, 0o600)
  execFileSync('ssh-keygen', ['-q', '-p', '-m', 'PEM', '-N', 'a secret', '-f', `${locked}.new`])
  fs.renameSync(`${locked}.new`, locked)
  return locked
}
