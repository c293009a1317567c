import { encodeHex } from './hex.ts'
import { encodeJson, encodeRaw } from './json.ts'
import type { HexOptions, Profile } from './profile.ts'

/** The formats in which a profile is printed: each makes one line of it, without its newline. */
export const FORMATS = {
  hex: encodeHex,
  json: encodeJson,
  raw: encodeRaw,
} satisfies Record<string, (profile: Profile, options: HexOptions) => string>

export type Format = keyof typeof FORMATS
