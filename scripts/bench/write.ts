/**
 * Writes profiles and prints how many seconds that took. Arguments: the file of the public key, the new directory, how
 * many profiles, and `plain`, one after the other, or `flushed`, as many at once as there are threads.
 */
import { createPublicKey } from 'node:crypto'
import { closeSync, fsync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { alike } from '../stock.ts'

const [publicKey = '', directory = '', count = '', way = ''] = process.argv.slice(2)
const flush = promisify(fsync)
const { nthFile } = alike(createPublicKey(readFileSync(publicKey)))
const files = Array.from({ length: Number(count) }, (_, n) => nthFile(n))
mkdirSync(directory)

const began = performance.now()
const rest = files.values()
const work = async () => {
  for (const { name, text } of rest) {
    const file = openSync(join(directory, name), 'wx')
    writeFileSync(file, text)
    if (way === 'flushed') await flush(file)
    closeSync(file)
  }
}
await Promise.all(Array.from({ length: Number(process.env['UV_THREADPOOL_SIZE']) }, work))
console.log((performance.now() - began) / 1000)
