import type { FactsOf } from './hint.ts'
import { quote } from './shell.ts'

/** What to do with profiles that are marked used and were not printed. */
export function printingAgain({ iccids, begun, isForDevices, call }: FactsOf<'undelivered'>): string {
  if (isForDevices)
    return `run the same command again${call.isNew ? ', without --new' : ''}: each device gets the same profile`
  const isOne = iccids.length === 1
  const which = isOne ? iccids[0] : '<ICCID>'
  const receipt = call.receipt === undefined ? '' : ` --receipt ${quote(call.receipt)}`
  const again = `softsim next -k ${quote(call.keyPath)} -i ${quote(call.directory)} --iccid ${which}${receipt}`
  // Without an ICCID, the same command would use up one profile after the other.
  const not = call.isNamed
    ? ''
    : `do not run the same command again: it takes ${isOne ? 'another profile' : 'other profiles'}; `
  if (begun === 0) return `${not}to print ${isOne ? 'it' : 'each of them'} again: ${again}`
  if (isOne) return `${not}find out whether a device has it; if none has it, print it again: ${again}`
  return begun < iccids.length
    ? `${not}to print each that was not delivered again: ${again}; the first ${begun} only if no device has them`
    : `${not}find out which of them a device has; to print each of the others again: ${again}`
}
