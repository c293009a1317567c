/**
 * Runs the real code of the calls step by step, in an order that a schedule says:
 *
 *     node scripts/torture/schedule.ts --replay 'links fresh/2 next+next: A12 B A'
 *
 * `--src` names the source of another version of the program.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { install } from './schedule/hooks.ts'
import { replay } from './schedule/replay.ts'
import { setSource, source } from './schedule/run.ts'
import { parse } from './schedule/text.ts'

const { values } = parseArgs({
  options: {
    src: { type: 'string' },
    replay: { type: 'string' },
  },
})

Error.stackTraceLimit = 3
if (values.src !== undefined) setSource(`${pathToFileURL(resolve(values.src)).href}/`)
install(source)
if (values.replay !== undefined) await replay(parse(values.replay))
