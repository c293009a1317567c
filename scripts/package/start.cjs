/**
 * What a binary runs first: the program, with the code V8 compiled for it in advance. Node can store compiled code of
 * its own accord (`useCodeCache`), but only of what it compiles before the program runs, half of the gain, and
 * complains on standard error where V8 does not take it; here V8 then compiles as it always does.
 */
const { getRawAsset } = require('node:sea')
const { Script } = require('node:vm')

const asset = (name) => Buffer.from(getRawAsset(name))
// Most calls are `next`, and start sooner with a program that has nothing of the other commands.
const name = process.argv[2] === 'next' ? 'next' : 'softsim'
// esbuild writes ASCII, which latin1 reads without a copy of two bytes per character.
const program = new Script(asset(name).latin1Slice(), {
  filename: 'softsim.cjs',
  cachedData: asset(`${name}.compiled`),
})
program.runInThisContext()(exports, require, module, __filename, __dirname)
