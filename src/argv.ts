/** The short options that take a value, of any command. */
export const WITH_VALUE = 'aiknou'

const GLUED = new RegExp(`^-[${WITH_VALUE}][^=]`)

/**
 * Brings what people type into the forms Clipanion reads: `-n5` as `-n=5`, and `--format json` as `--format=json`.
 */
export function normalize(argv: readonly string[]): string[] {
  const result: string[] = []
  for (const argument of argv) {
    if (result.at(-1) === '--format' && isFormat(argument)) result[result.length - 1] = `--format=${argument}`
    else if (GLUED.test(argument)) result.push(`${argument.slice(0, 2)}=${argument.slice(2)}`)
    else result.push(argument)
  }
  return result
}

/** Behind a bare `--format` may come another option, or the command. */
const isFormat = (word: string) => !word.startsWith('-') && !['fetch', 'next', 'help'].includes(word)
