/** What a shift needs to know, and what it knows while it goes on. */
import type { PrivateKey } from '../key/private-key.ts'
import type { ReceiptFile } from '../store/directory.ts'
import type { Messages } from '../words.ts'
import type { Keyboard } from './ask.ts'

export interface Settings {
  readonly keyPath: string
  readonly directory: string
  readonly receipt: string
  /** One for each slot of the panel; none if there is a program. */
  readonly ports: readonly string[]
  readonly program: string | undefined
  /** How many slots the panel has. */
  readonly size: number
  readonly pass: RegExp | undefined
  readonly fail: RegExp | undefined
  /** Its group is the ICCID that the device has. */
  readonly read: RegExp | undefined
  /** What is before and behind the profile. */
  readonly frame: readonly string[]
  readonly baud: number
  readonly timeoutMs: number
  readonly lowStock: number
  readonly passphrase: string | undefined
  /** The user's, for the program. */
  readonly umask: number
  readonly messages: Messages
  readonly show: (text: string) => void
  /** Returns the serial number that a text is. @throws {UsageError} */
  readonly serialOf: (text: string) => string
}

export interface Shift extends Settings {
  readonly keyboard: Keyboard
  readonly key: PrivateKey
  readonly stop: AbortSignal
  /** The directory that each device has its profile from, by the receipts of this station. */
  readonly receipts: Map<string, string>
  readonly receiptFile: ReceiptFile
  /** The devices of this shift, and whether each has passed; undefined for what was scanned and got no profile. */
  readonly devices: Map<string, boolean | undefined>
  say(line: string): void
}
