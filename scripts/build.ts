/** Bundles src/main.ts and every package it uses into dist/softsim.cjs, one file that runs from anywhere. */
import { readFileSync } from 'node:fs'
import { build } from 'esbuild'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/softsim.cjs',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  define: { SOFTSIM_VERSION: JSON.stringify(version), 'process.env.DEBUG_CLI': '"0"' },
  legalComments: 'none',
})
