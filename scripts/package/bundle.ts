/** esbuild, asked for the program in one file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'

const { version, engines } = JSON.parse(readFileSync('package.json', 'utf8'))

/**
 * Clipanion opens all three standard streams when it is loaded, and looks at the terminal's colours. The program uses
 * neither; a stream that cannot be opened is an exception before main, and a call of `next` is 7 % slower.
 */
const clipanion: Plugin = {
  name: 'clipanion',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /clipanion.lib.advanced.Cli\.js$/ }, ({ path }) => {
      const parts = readFileSync(path, 'utf8').split(/process\.std(?:in|out|err)\b/)
      if (parts.length !== 4)
        throw new Error('Clipanion no longer opens three streams: check the plugin in scripts/build.ts')
      return { contents: parts.join('undefined') }
    })
    onResolve({ filter: /^\.\.\/platform$/ }, ({ resolveDir }) =>
      /clipanion.lib/.test(resolveDir) ? { path: join(resolveDir, '../platform/browser.js') } : undefined,
    )
  },
}

/** The other commands. The program for `next` goes without. */
const others: Plugin = {
  name: 'others',
  setup({ onResolve }) {
    onResolve({ filter: /commands.\w+-command\.ts$/ }, ({ kind, path }) =>
      kind === 'dynamic-import' && !path.includes('next') ? { path, external: true } : undefined,
    )
  },
}

/** The last line of the program, by which a release knows its version. esbuild joins texts, but leaves this alone. */
export const lastLine = `//softsim ${version}`

/** @param command the only command that the program is for, or undefined for all of them */
export async function bundle(outfile: string, command?: 'next'): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: ['src/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: engines.node.replace('>=', 'node'),
    // It is the `bin` of package.json.
    banner: { js: '#!/usr/bin/env node' },
    footer: { js: lastLine },
    format: 'cjs',
    define: { SOFTSIM_VERSION: JSON.stringify(version), 'process.env.DEBUG_CLI': '"0"' },
    plugins: command === undefined ? [clipanion] : [clipanion, others],
    // A binary runs the program as a script, which can load modules with require alone.
    supported: { 'dynamic-import': false },
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
  })
  // The binary reads it as Latin-1, and V8 takes the compiled code of no other text. esbuild leaves regular expressions alone.
  const text = readFileSync(outfile, 'utf8')
  const odd = [...text].findIndex((character) => character > '~')
  if (odd >= 0) throw new Error(`not ASCII in the program: ${text.slice(odd, odd + 40)}`)
  return metafile
}
