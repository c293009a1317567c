// Marks profiles used as the vendor's tool does: by renaming them, the last one first. Tells which it won.
import { renameSync } from 'node:fs'

const [directory, count] = process.argv.slice(2)

process.once('message', () => {
  const won = []
  for (let at = Number(count) - 1; at >= 0; at--) {
    try {
      renameSync(`${directory}/${at}.json`, `${directory}/__${at}.json`)
      won.push(`${at}.json`)
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
  }
  process.send(won)
})
process.send('ready')
