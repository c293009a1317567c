/** What the man page says that is in no table of the program. */

type Note = readonly [name: string, words: string]

export const PURPOSE =
  'Before production, fetch downloads encrypted profiles from the service into a directory. In production, next hands them out, one per device; it needs no internet access.'

export const ENVIRONMENT: readonly Note[] = [
  ['SOFTSIM_API_KEY', 'the API key for fetch'],
  ['SOFTSIM_KEY_FILE', 'the file of the private key, for next and station without -k and for status with -n'],
  ['SOFTSIM_DIR', 'the directory of profiles, without -i or -o'],
  ['SOFTSIM_RECEIPT', 'the file of receipts, for next, station and move without --receipt'],
  ['SOFTSIM_STATION', 'the name of this station, instead of the host name'],
  ['SOFTSIM_URL', 'the URL that fetch uses without -u'],
  ['SOFTSIM_DEVICE_FORMAT', 'a regular expression for the serial numbers that next and station take'],
  ['SOFTSIM_KEY_PASSPHRASE', 'the passphrase of the private key'],
  [
    'HTTPS_PROXY , HTTP_PROXY , NO_PROXY',
    'the proxy that fetch uses, and the hosts that it reaches without one',
  ],
  ['NODE_EXTRA_CA_CERTS', 'a file of certificates that fetch trusts besides its own'],
  ['NODE_USE_SYSTEM_CA', 'with the value 1, fetch also trusts the CAs that the system trusts'],
  ['UV_THREADPOOL_SIZE', 'how many threads (default: 2 for one profile of next, else up to 32)'],
  ['NO_COLOR', 'with any value, no colour'],
  ['TERM', 'with the value dumb, no colour, and the progress is not redrawn'],
]

export const FILES: readonly Note[] = [
  ['<iccid>.json', 'an unused profile'],
  ['__<iccid>.json', 'a used profile; it stays for ever'],
  [
    '.<iccid>.json~*',
    'a profile that a call or a move holds; the next call gives back what a killed call has held',
  ],
  ['<iccid>.json.aside', 'put aside by restore, because it left the directory; nobody hands it out'],
  ['.devices', 'the profile of each device that --device has named, and its results'],
  ['.incoming', 'what fetch or move has brought and not yet stored; the next call finishes it'],
  ['.outgoing', 'where the moves from this directory go'],
  ['.claims', 'keeps two calls apart on Windows and network shares'],
  ['.identity', 'by which the directory knows that it is not a copy'],
  ['.unused', 'a list of unused profiles, which makes next fast; you can delete it at any time'],
]

export const manualIn = (place: string) =>
  `README.md and the pages that it leads to are in ${place}. troubleshooting.md there has a section for each exit code.`

export const BUGS =
  'Report a bug on the page that you downloaded softsim from. Include the version, the command, and what it prints on standard error with -vvv. Never include a profile or a key. Report privately what could expose a secret or give one profile to two devices.'
