/**
 * What the names in a directory of profiles say, and the texts of used files: the places are in README.md. X is
 * `<iccid>.json`; a tag is a random number that is never used twice.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { sep } from 'node:path'
import { ICCID } from '../profile/check.ts'

export const CLAIMS = '.claims'
export const DEVICES = '.devices'
export const INCOMING = '.incoming'
export const OUTGOING = '.outgoing'
export const IDENTITY = '.identity'
export const FREE_LIST = '.unused'

const ENDING = '.json'
const USED = '__'
const ASIDE = '.aside'

/** 20 hexadecimal digits, of which 74 bits are random. */
export const newTag = (): string => randomUUID().replaceAll('-', '').slice(-20)

export const nameOf = (iccid: string): string => iccid + ENDING

export const usedName = (name: string): string => USED + name

export const asideName = (name: string): string => name + ASIDE

const PROFILE = RegExp(`^(?:${USED})?${ICCID}${ENDING.replace('.', '[.]')}$`)

/** @returns the digits of X or __X, without a filler; undefined for any other name */
export const iccidOf = (name: string): string | undefined => PROFILE.exec(name)?.[1]

/** Whether the name of a profile, X or __X, is that of a used one. */
export const isUsed = (name: string): boolean => name.startsWith(USED)

/** A profile that a call or a move holds. */
export interface Held {
  /** X */
  readonly name: string
  readonly tag: string
  /** The id of the move that holds it. */
  readonly move?: string | undefined
}

/** The tag of what a move holds. */
export const tagFor = (move: string): string => `${move}+${newTag()}`

/** Nothing else of that kind, such as the temporary file of an editor, is ours. */
const HELD = /^\.(\d+[Ff]?\.json)~((?:[0-9a-f]{20}\.[0-9a-f]{20}\+)?[0-9a-f]{20})$/

export function parseHeld(name: string): Held | undefined {
  const [, profile = '', tag = ''] = HELD.exec(name) ?? []
  if (iccidOf(profile) === undefined) return undefined
  return { name: profile, tag, move: tag.includes('+') ? tag.slice(0, tag.indexOf('+')) : undefined }
}

export function parseAside(name: string): string | undefined {
  const own = name.endsWith(ASIDE) ? name.slice(0, -ASIDE.length) : ''
  return iccidOf(own) === undefined || isUsed(own) ? undefined : own
}

export const stagedName = (id: string, by: string, name: string): string => `.${id}@${by}~${name}`

/** The id of the answer or order for which a file is on its way to its name. */
export const stagedFor = (name: string): string | undefined => /^\.([0-9a-f.]+)@[0-9a-f]{20}~/.exec(name)?.[1]

/** Whether a name is a draft or a decision, and of which tag. Editors and office programs have names like these. */
export const draftTag = (name: string): string | undefined => /^\.~([0-9a-f]{20})$/.exec(name)?.[1]
export const decisionTag = (name: string): string | undefined => /^\.!([0-9a-f]{20})$/.exec(name)?.[1]

/** `join` looks at each letter of the directory again. */
export const pathIn = (directory: string, name: string): string => directory + sep + name

/** Where the files of one claim are. */
export const placesOf = (directory: string, { name, tag }: Pick<Held, 'name' | 'tag'>) => ({
  unused: pathIn(directory, name),
  used: pathIn(directory, usedName(name)),
  held: pathIn(directory, `.${name}~${tag}`),
  draft: pathIn(directory, `.~${tag}`),
  decision: pathIn(directory, `.!${tag}`),
})

export type Places = Readonly<ReturnType<typeof placesOf>>

/** The fields of a JSON object; none if the text is no such object. */
export function fieldsOf(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** What a used file says. */
export interface Used {
  readonly iccid: string
  readonly profile: string
  /** Who claimed it, and when (RFC 3339); undefined if another tool used it. */
  readonly station?: string | undefined
  readonly claimed?: string | undefined
  readonly device?: string | undefined
  /** Whether somebody says that it is another device than one whose serial number has another spelling. */
  readonly isNew?: boolean | undefined
  /** The tag of the claim. */
  readonly claim?: string | undefined
}

const textOr = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** @returns undefined if it is not a profile */
export function parseUsed(text: string | undefined): Used | undefined {
  const { iccid, profile, isNew, ...others } = fieldsOf(text)
  if (typeof iccid !== 'string' || typeof profile !== 'string') return undefined
  const texts = ['station', 'claimed', 'device', 'claim'].map((name) => textOr(others[name]))
  const [station, claimed, device, claim] = texts
  return { iccid, profile, station, claimed, device, isNew: isNew === true, claim }
}

/** What used files, receipts and results call this station. Several on one machine can have names of their own. */
export const stationName = (): string => process.env['SOFTSIM_STATION'] || hostname()
