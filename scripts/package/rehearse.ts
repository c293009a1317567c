/**
 * Runs a program in this process, and stores what V8 compiled for that: `rehearse.ts <program> <compiled> <directory>
 * <argument> …`, in a directory made for it. `node --predictable` makes the result always the same, and V8 does not
 * ask for that flag when it reads it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { Script } from 'node:vm'

const [program = '', compiled = '', directory = '', ...args] = process.argv.slice(2)
const output = resolve(compiled)
const script = new Script(readFileSync(program, 'utf8'), { filename: 'softsim.cjs' })
process.on('exit', () => writeFileSync(output, script.createCachedData()))

process.chdir(directory)
process.argv.splice(2, Number.POSITIVE_INFINITY, ...args)
const module = { exports: {} }
script.runInThisContext()(module.exports, createRequire(import.meta.url), module, '', '')
