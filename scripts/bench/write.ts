/**
 * Writes profiles and prints what that cost, as JSON. Arguments: the file of the public key, the new directory, how many
 * profiles, and the way: `plain`, one after the other; `each` flushed, as many at once as there are threads; or `at once`,
 * all of the file system after each thousand.
 */
import { execFileSync } from 'node:child_process'
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

const [began, used] = [performance.now(), process.cpuUsage()]
const rest = files.entries()
const work = async () => {
  for (const [at, { name, text }] of rest) {
    const file = openSync(join(directory, name), 'wx')
    writeFileSync(file, text)
    if (way === 'each') await flush(file)
    closeSync(file)
    if (way === 'at once' && (at + 1) % 1000 === 0) execFileSync('sync', ['-f', directory])
  }
}
await Promise.all(Array.from({ length: Number(process.env['UV_THREADPOOL_SIZE']) }, work))
const wall = (performance.now() - began) / 1000
const { user, system } = process.cpuUsage(used)
console.log(JSON.stringify({ wall, cpu: (user + system) / 1e6 }))
