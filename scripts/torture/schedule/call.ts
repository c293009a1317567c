/** A call of the program, its steps so far, and what has come of it. */

/** What happens at the last step of a segment. */
export interface Fault {
  /** `refused` is not done, `told` is done; both are reported as `code`. */
  readonly how: 'refused' | 'told'
  readonly code: string
  /** From then on, each step of the call on that disk fails the same way. */
  readonly lasts?: boolean
}

export interface Entry {
  readonly name: string
  readonly path: string
  readonly value: unknown
  readonly error: unknown
  /** Whether other calls can go on before it. */
  readonly isPoint: boolean
  /** The names and contents that it read (`<`) or changed (`>`). */
  readonly touched: readonly string[]
  /** How many steps all calls had made. */
  readonly at: number
}

/** Which unused profiles the directory has from now on. */
export interface Change {
  readonly at: number
  readonly call: string
  /** The ICCIDs of the files that are there. */
  readonly unused: readonly string[]
  /** Those without a used file, with something in them, and that nobody is claiming. */
  readonly free: readonly string[]
}

/** How a call ended. */
export interface Result {
  readonly code: number
  /** Of the failure, and of any error that is none. */
  readonly error: string
  readonly hint: string
  readonly told: readonly string[]
  /** What `status` printed. */
  readonly printed: string
}

export class Call {
  readonly id: string
  readonly pid: number
  readonly body: (call: Call) => Promise<Result>
  readonly log: Entry[] = []
  /** How many points it has passed. */
  points = 0
  state: 'alive' | 'ended' | 'dead' = 'alive'
  result: Result | undefined
  /** What it has said so far, command by command. */
  told: (readonly string[])[] = []
  /** How many steps all calls had made when it began and when it ended. */
  beganAt: number | undefined
  endedAt = Number.POSITIVE_INFINITY
  /** How many steps all calls had made when this one was paused. */
  pausedAt = 0
  /** How many steps it had made when it was asked to stop. */
  stopsAt = Number.POSITIVE_INFINITY
  /** After how many steps it has looked whether it is to stop. */
  readonly asked = new Set<number>()
  /** Whether it holds signals back, because it has claimed something. */
  isHeld = false
  /** The disk that is dead for it, and what that says. */
  dead: { readonly root: string; readonly code: string } | undefined

  constructor(id: string, pid: number, body: (call: Call) => Promise<Result>) {
    this.id = id
    this.pid = pid
    this.body = body
  }
}

/** A profile on standard output. */
export interface Print {
  readonly call: string
  readonly iccid: string
  readonly device: string | undefined
  readonly isAgain: boolean
  /** The calls that had decided its used files. */
  readonly owners: readonly string[]
}
