/** Named pipes (POSIX) with readers that are slow, or do not read. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { temporaryDirectory } from './directory.ts'

/** The most that a pipe holds on Linux and macOS, in bytes. */
export const LARGEST_PIPE = 64 * 1024

/** A named pipe that nobody has opened. */
export function makePipe(): string {
  const path = join(temporaryDirectory(), 'pipe')
  execFileSync('mkfifo', [path])
  return path
}

/** A pipe that takes no more, and has a reader who does not read until it is told to. */
export function fullPipe() {
  const path = makePipe()
  const file = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  let filling = 0
  try {
    for (;;) filling += writeSync(file, Buffer.alloc(4096, ' '))
  } catch {
    // It is full now.
  }
  return {
    path,
    /** All that is in it, without what it was filled with. */
    read(): string {
      const parts: Buffer[] = []
      try {
        for (;;) {
          const part = Buffer.alloc(LARGEST_PIPE)
          parts.push(part.subarray(0, readSync(file, part)))
        }
      } catch {
        // It is empty now.
      }
      const bytes = Buffer.concat(parts)
      const rest = bytes.subarray(filling)
      filling -= bytes.length - rest.length
      return rest.toString()
    },
    close: () => closeSync(file),
  }
}

/**
 * A pipe that does not block: a write into it takes what there is room for, and fails with EAGAIN where there is none.
 * Programs that share a pipe bring that about for each other.
 */
export function nonBlockingPipe() {
  const path = makePipe()
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  return {
    /** For the process that writes. */
    writer,
    /** Reads all that it writes until it ends. Nothing is read before. */
    async readAll(): Promise<string> {
      closeSync(writer)
      return text(new Socket({ fd: reader, readable: true, writable: false }))
    },
  }
}
