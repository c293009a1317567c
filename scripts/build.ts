/** Bundles src/main.ts and every package it uses into dist/softsim.cjs, one file that runs from anywhere. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'

const OUTPUT = 'dist/softsim.cjs'

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

const { metafile } = await build({
  entryPoints: ['src/main.ts'],
  outfile: OUTPUT,
  bundle: true,
  platform: 'node',
  target: engines.node.replace('>=', 'node'),
  // It is the `bin` of package.json.
  banner: { js: '#!/usr/bin/env node' },
  format: 'cjs',
  define: { SOFTSIM_VERSION: JSON.stringify(version), 'process.env.DEBUG_CLI': '"0"' },
  plugins: [clipanion],
  // A binary runs the program as a script, which can load modules with require alone.
  supported: { 'dynamic-import': false },
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  metafile: true,
})
chmodSync(OUTPUT, 0o755)
writeFileSync('dist/meta.json', JSON.stringify(metafile))
