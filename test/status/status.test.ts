import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { Report } from '../../src/cli/report.ts'
import { showStatus } from '../../src/status/status.ts'
import { directoryOf, someProfiles, unusedIn } from '../support/directory.ts'

test('if stations take all profiles after they were counted, none is unused', async () => {
  const directory = directoryOf(someProfiles(2))
  /** Called when they are counted and none is opened yet. */
  const follow = () => {
    for (const name of unusedIn(directory)) renameSync(join(directory, name), join(directory, `__${name}`))
  }
  const inquiry = {
    ...{ directory, keyPath: inject('keys').privateKeyPath, passphrase: undefined, count: 9, devices: false },
    ...({
      format: 'json',
      messages: new Report(() => {}),
      progress: { follow },
      print: async () => {},
    } as const),
  }
  await expect(showStatus(inquiry)).rejects.toEqual(
    expect.objectContaining({ facts: { kind: 'no-profiles', below: undefined } }),
  )
})
