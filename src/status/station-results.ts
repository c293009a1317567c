import { readFileSync } from 'node:fs'
import { Failure, reasonOf } from '../failure.ts'

/** As the scripts of the stations write them: time, station, device, result. A field may stand in double quotes. */
const CELL = /("(?:[^"]|"")*"|[^,"]*)(?:,|$)/g

const RESULTS = ['pass', 'fail', 'unfinished']

interface Attempt {
  readonly time: string
  readonly result: string
}

/**
 * The last result of each device, of all stations.
 * @throws {Failure} `disk` if a file can't be read, `usage` if it has no results
 */
export function lastResults(paths: readonly string[]): Map<string, string> {
  const last = new Map<string, Attempt>()
  for (const path of new Set(paths))
    for (const [device, attempt] of attemptsIn(path))
      if (attempt.time >= (last.get(device)?.time ?? '')) last.set(device, attempt)
  return new Map([...last].map(([device, { result }]) => [device, result]))
}

/** The last line of each device: within a file, no clock decides. */
function attemptsIn(path: string): Map<string, Attempt> {
  const attempts = new Map<string, Attempt>()
  const text = textOf(path)
  let isAny = text.trim() === ''
  for (const line of text.split('\n')) {
    const [time = '', , device = '', result = ''] = cellsOf(line.trim())
    if (RESULTS.includes(result)) attempts.set(device, { time, result })
    isAny ||= RESULTS.includes(result) || result === 'result'
  }
  if (!isAny) throw new Failure('not-results', `${path} is not a file of results`)
  return attempts
}

const cellsOf = (line: string) =>
  [...line.matchAll(CELL)].map(([, cell = '']) =>
    cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
  )

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Failure('unread-results', `can't read the results ${path}: ${reasonOf(error)}`, error)
  }
}
