/** Packages for Linux, made of a few small files by the real tools, where these are installed. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { hostBinary } from '../../scripts/package/host.ts'
import { makeDeb, makeRpm, NEEDED } from '../../scripts/release/packages.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasProgram } from '../support/system.ts'

const isLinux = process.platform === 'linux'
const ABOUT = { version: '1.2.3-rc.1', description: 'Hand out', time: new Date('2026-11-21T12:00:00Z') }
const FILES = new Map([
  ['usr/bin/softsim', '#!/bin/sh\necho hello\n'],
  ['usr/share/doc/softsim/README.md', 'Read me\n'],
  ['usr/share/man/man1/softsim.1.gz', ''],
  ['usr/share/zsh/site-functions/_softsim', ''],
])

const run = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' })

interface Made {
  /** The first one's path. */
  package: string
  bytes: [Buffer, Buffer]
}

/** Makes a package twice, with another umask the second time. */
function twice(make: (output: string, work: string) => void): Made {
  const directory = temporaryDirectory()
  const outputs = ['first', 'second'].map((name) => join(directory, name))
  const [first = '', second = ''] = outputs
  make(first, `${first}.tree`)
  const umask = process.umask(0o077)
  try {
    make(second, `${second}.tree`)
  } finally {
    process.umask(umask)
  }
  return { package: first, bytes: [readFileSync(first), readFileSync(second)] }
}

describe.skipIf(!isLinux || !hasProgram('dpkg-deb'))('the package for Debian (needs dpkg-deb)', () => {
  let made: Made
  beforeAll(() => {
    made = twice((output, work) => makeDeb(output, 'arm64', FILES, ABOUT, work))
  })

  test('is the same when it is made again', () => expect(made.bytes[0].equals(made.bytes[1])).toBe(true))

  test('bears the time of the commit', () => {
    // In ar(5), the header of the first member begins after 8 bytes, and its time after 16 more, in 12 characters.
    expect(Number(made.bytes[0].toString('latin1', 24, 36))).toBe(ABOUT.time.getTime() / 1000)
  })

  test('has each file once, for root, with its mode and the time of the commit', () => {
    const lines = execFileSync('dpkg-deb', ['--contents', made.package], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    })
    const files = lines.split('\n').filter((line) => line.startsWith('-'))
    expect(files.map((line) => line.replaceAll(/ +/g, ' ').replace(/ \d+ /, ' '))).toEqual([
      '-rwxr-xr-x root/root 2026-11-21 12:00 ./usr/bin/softsim',
      '-rw-r--r-- root/root 2026-11-21 12:00 ./usr/share/doc/softsim/README.md',
      '-rw-r--r-- root/root 2026-11-21 12:00 ./usr/share/doc/softsim/changelog.gz',
      '-rw-r--r-- root/root 2026-11-21 12:00 ./usr/share/doc/softsim/copyright',
      '-rw-r--r-- root/root 2026-11-21 12:00 ./usr/share/lintian/overrides/softsim',
      '-rw-r--r-- root/root 2026-11-21 12:00 ./usr/share/man/man1/softsim.1.gz',
      '-rw-r--r-- root/root 2026-11-21 12:00 ./usr/share/zsh/site-functions/_softsim',
    ])
  })

  test('says what it is and needs', () => {
    const field = (name: string) => run('dpkg-deb', '--field', made.package, name).trim()
    expect(field('Version')).toBe('1.2.3~rc.1')
    expect(field('Architecture')).toBe('arm64')
    expect(field('Depends')).toBe('libc6 (>= 2.28), libstdc++6 (>= 7)')
    expect(field('Description').split('\n')[0]?.length).toBeLessThan(80)
  })
})

describe.skipIf(!isLinux || !hasProgram('rpmbuild'))('the package for Red Hat (needs rpmbuild)', () => {
  let made: Made
  beforeAll(() => {
    made = twice((output, work) => makeRpm(output, 'aarch64', FILES, ABOUT, work))
  })

  test('is the same when it is made again', () => expect(made.bytes[0].equals(made.bytes[1])).toBe(true))

  test('has each file once, for root, with its mode and the time of the commit', () => {
    const format = '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEMTIMES} %{FILENAMES}\\n]'
    const time = ABOUT.time.getTime() / 1000
    expect(run('rpm', '-qp', '--queryformat', format, made.package).match(/^-.*$/gm)).toEqual([
      `-rwxr-xr-x root ${time} /usr/bin/softsim`,
      `-rw-r--r-- root ${time} /usr/share/doc/softsim/README.md`,
      `-rw-r--r-- root ${time} /usr/share/man/man1/softsim.1.gz`,
      `-rw-r--r-- root ${time} /usr/share/zsh/site-functions/_softsim`,
    ])
  })

  test('owns the folders that may not be there without it, and no others', () => {
    const format = '[%{FILEMODES:perms} %{FILENAMES}\\n]'
    const folders = run('rpm', '-qp', '--queryformat', format, made.package).match(/^d.*$/gm) ?? []
    const actual = folders.filter((line) => !line.includes('/usr/share/doc/softsim'))
    expect(actual).toEqual(['drwxr-xr-x /usr/share/zsh', 'drwxr-xr-x /usr/share/zsh/site-functions'])
  })

  test('says what it is', () => {
    const format = '%{VERSION} %{ARCH} %{BUILDHOST} %{BUILDTIME}'
    const seen = run('rpm', '-qp', '--queryformat', format, made.package)
    expect(seen).toBe(`1.2.3~rc.1 aarch64 localhost ${ABOUT.time.getTime() / 1000}`)
  })
})

test.skipIf(!isLinux)('the executable has no symbols of Node', () =>
  expect(statSync(hostBinary).size).toBeLessThan(0.95 * statSync(process.execPath).size),
)

test.skipIf(!isLinux)('the package for Debian needs the libraries that the executable is linked with', () => {
  // The names of versions are plain text in an ELF file. GCC 7 brought CXXABI_1.3.11 and GLIBCXX_3.4.24.
  const text = readFileSync(hostBinary, 'latin1')
  const newest = (name: string) =>
    Math.max(
      ...[...text.matchAll(new RegExp(`\\0${name}(\\d+)(?=[.\\0])`, 'g'))].map(([, minor]) => Number(minor)),
    )
  expect(NEEDED.libc6).toBe(`2.${newest('GLIBC_2\\.')}`)
  expect(NEEDED['libstdc++6']).toBe('7')
  expect(newest('CXXABI_1\\.3\\.')).toBe(11)
  expect(newest('GLIBCXX_3\\.4\\.')).toBeLessThanOrEqual(24)
})
