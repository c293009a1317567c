import { Writable } from 'node:stream'
import { isatty } from 'node:tty'

/**
 * Puts stand-ins in the place of process.stdout and process.stderr where they are no terminals. Node opens such a stream
 * when somebody looks at it, as `node:assert` does while undici loads it, and not every pipe can be opened so: in Wine
 * that ended the program.
 * @param writeError writes a text to standard error
 */
export function standInForStreams(writeError: (text: string) => void): void {
  const streams = [
    ['stdout', 1, () => {}],
    ['stderr', 2, writeError],
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
