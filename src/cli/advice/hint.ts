import type { Facts, Kind } from '../../failure.ts'

export type FactsOf<K, F = Facts> = F extends { kind: infer J } ? (K extends J ? F : never) : never

/**
 * What to do next. Each line becomes a hint of its own.
 * @param platform the system whose commands it names
 */
export type Hint<K extends Kind> =
  | string
  | ((facts: FactsOf<K> & { cause: unknown; platform: NodeJS.Platform }) => string)

export type Hints = { readonly [K in Kind]: Hint<K> }
