/**
 * Looks at what this version makes of the states of `test/fixtures/`: `node scripts/torture/earlier/check.ts <fixture>`.
 * It prints one line of JSON for each state with which something is wrong, and at last how many it has tried. `--src`
 * names the source of another version; `--only` chooses states by their schedules and prints all calls, and `--all`
 * tries every order on every kind of disk.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { install } from '../schedule/hooks.ts'
import { loadProgram } from '../schedule/program.ts'
import { ask, ORDERS, wrongIn } from './judge.ts'
import { statesOf, worldOf } from './state.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    src: { type: 'string', default: 'src' },
    only: { type: 'string' },
    all: { type: 'boolean', default: false },
  },
})
const source = `${pathToFileURL(resolve(values.src)).href}/`
install(source)
Error.stackTraceLimit = 3
const program = await loadProgram(source, 'linux')
let count = 0
for (const state of statesOf(readFileSync(positionals[0] ?? '', 'utf8'))) {
  if (!state.after.includes(values.only ?? '')) continue
  for (const [at, kind] of state.kinds.entries()) {
    for (const order of at === 0 || values.all ? ORDERS : ORDERS.slice(0, 1)) {
      if (order.includes('back') && state.move === undefined) continue
      const all = await ask(program, worldOf(state, kind), state.move, order)
      count++
      const wrong = [...wrongIn(state, all)]
      if (values.only !== undefined) console.log(JSON.stringify({ ...state, order, all }, undefined, 1))
      if (wrong.length > 0) console.log(JSON.stringify({ after: state.after, kind, order, wrong }))
    }
  }
}
console.log(JSON.stringify({ count }))
