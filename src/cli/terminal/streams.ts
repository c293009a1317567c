import { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { writeStandardError } from './standard-error.ts'

/**
 * Replaces process.stdout and process.stderr with stand-ins if they are not terminals. Node opens such a stream as
 * soon as code reads the property, as `node:assert` does while undici loads it. Not every pipe can be opened that
 * way: under Wine, it ended the program.
 */
export function standInForStreams(): void {
  const streams = [
    ['stdout', 1, () => {}],
    ['stderr', 2, writeStandardError],
  ] as const
  for (const [name, descriptor, write] of streams) {
    if (isatty(descriptor) && canBeOpened(name)) continue
    const standIn = new Writable({
      write(chunk, _encoding, done) {
        write(String(chunk))
        done()
      },
    })
    Object.defineProperty(process, name, { value: standIn, configurable: true })
  }
}

function canBeOpened(name: 'stdout' | 'stderr'): boolean {
  try {
    return process[name] !== undefined
  } catch {
    return false
  }
}

/** Whether the user wants colour (https://no-color.org) and the terminal has it. */
export const hasColour = (env: NodeJS.ProcessEnv = process.env) => !env['NO_COLOR'] && env['TERM'] !== 'dumb'
