/** A call that was killed may have stored a profile and not flushed it; then the answer with it is all that is durable. */
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { add } from '../../../src/store/incoming/add.ts'
import { toFile } from '../../../src/store/incoming/answers.ts'
import { openTarget } from '../../../src/store/incoming/target.ts'
import { bury, cutPower, events, format, fs, live, ROOT } from '../disk.ts'
import { diskSync } from '../disk-fs.ts'

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../disk-fs.ts')
  return { ...diskSync, default: diskSync }
})

afterEach(bury)

const directory = join(ROOT, 'profiles')
const known = { iccid: '89881', profile: 'AAAA' }

function flushDirectory(path: string): void {
  const file = diskSync.openSync(path, 'r')
  diskSync.fsyncSync(file)
  diskSync.closeSync(file)
}

/** The disk in memory has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32').each([
  ['with hard links', {}],
  ['on FAT', { fat: true }],
])('%s', (_, disk) => {
  test.each(['89881.json', '__89881.json', '89881F.json'])(
    'a profile that is there already as %s is flushed before its answer goes',
    async (name) => {
      format(disk)
      live()
      diskSync.mkdirSync(directory)
      diskSync.writeFileSync(join(directory, name), toFile(known))
      for (const path of [directory, ROOT]) flushDirectory(path)
      const target = await openTarget(directory)
      expect(await add(target, [known])).toEqual({ stored: [], known: ['89881'] })
      const gone = events.findIndex(({ step, path }) => step === 'unlink' && path.endsWith('.answer'))
      expect(events.slice(0, gone)).toContainEqual({ step: 'flush', path: join(directory, name) })
      bury()
      cutPower(() => 0)
      expect(String(fs.readFileSync(join(directory, name)))).toBe(toFile(known))
    },
  )
})
