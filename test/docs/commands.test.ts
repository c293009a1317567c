/** Runs the commands of the manual as they stand there: the program is softsim on the PATH, the service is the sandbox. */
import '../support/after-file.ts'
import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as read } from 'node:stream/consumers'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { API_KEY, startSandbox } from '../support/sandbox.ts'
import { program } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'
import { type Block, blocksOf, PAGES } from './pages.ts'

interface Command extends Block {
  /** The block of text after it, which shows what it prints. */
  readonly shown?: string | undefined
}

const commandsOf = (text: string): Command[] => {
  const blocks = blocksOf(text)
  return blocks
    .map((block, at) => ({
      ...block,
      shown: blocks[at + 1]?.language === 'text' ? blocks[at + 1]?.text : undefined,
    }))
    .filter(({ language }) => language === 'sh')
}

const ALL = PAGES.flatMap(({ path, text }) =>
  commandsOf(text).map((command) => [`${path}:${command.line}`, command] as const),
)

test('a block that is not run says why', () => {
  expect(ALL.length).toBeGreaterThan(20)
  for (const [where, { notRun = 'a reason' }] of ALL) expect(notRun, where).toMatch(/^\w.{5,}$/)
})

describe.skipIf(process.platform !== 'linux' || !hasProgram('bash'))('commands of the manual', async () => {
  const { url } = await startSandbox()
  const profiles = directoryOf(someProfiles(30))
  const bin = binWith(url)

  test.each(ALL.filter(([, { notRun }]) => notRun === undefined))('%s', async (_, { text, shown }) => {
    const cwd = temporaryDirectory()
    copyFileSync(inject('keys').privateKeyPath, join(cwd, 'softsim.pem'))
    cpSync(profiles, join(cwd, 'profiles'), { recursive: true })
    mkdirSync(join(cwd, 'station-2'), { mode: 0o700 })
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, SOFTSIM_API_KEY: API_KEY }
    const { code, output } = await run(`exec 2>&1\n${text}`, { cwd, env })
    expect(code, output).toBe(0)
    if (shown !== undefined) expect(output).toBe(shown)
  })
})

async function run(script: string, options: SpawnOptions): Promise<{ code: number | null; output: string }> {
  const args = ['-e', '-o', 'pipefail', '-c', script]
  const child = spawn('bash', args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
  const [output, [code]] = await Promise.all([child.stdout ? read(child.stdout) : '', once(child, 'close')])
  return { code, output }
}

/** A directory with softsim, whose fetch goes to the sandbox. */
function binWith(url: string): string {
  const bin = join(temporaryDirectory(), 'bin')
  mkdirSync(bin)
  const words = program()
    .map((word) => `'${word}'`)
    .join(' ')
  const text = `#!/bin/sh\n[ "$1" != fetch ] || set -- "$@" -u '${url}'\nexec ${words} "$@"\n`
  writeFileSync(join(bin, 'softsim'), text)
  chmodSync(join(bin, 'softsim'), 0o755)
  return bin
}
