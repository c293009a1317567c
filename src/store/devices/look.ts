import { basename, dirname } from 'node:path'
import { iccidDigits } from '../../profile/iccid.ts'
import { deviceIn, fieldsOf } from '../claim/use.ts'
import { pathOf } from './file-names.ts'
import { textOf } from './history.ts'

/**
 * The texts of the records of a device, the last one first. It changes nothing: a torn record is left out, not restored.
 * @throws the system error
 */
export function recordsOf(directory: string, device: string): string[] {
  const texts: string[] = []
  for (let number = 1; ; number++) {
    const path = pathOf(directory, device, number)
    const text = textOf(dirname(path), basename(path))
    if (text === '') return texts.reverse()
    if (deviceIn(text) === device && iccidDigits(String(fieldsOf(text)['iccid'])) !== undefined)
      texts.push(text)
  }
}
