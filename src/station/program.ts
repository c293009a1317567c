/** The program that writes a profile to a device: how it is started, limited and ended. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { setImmediate as readOn, setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, reasonOf } from '../failure.ts'
import type { Answer, Limits, Verdict } from './verdict.ts'

const isWindows = process.platform === 'win32'

/** A program that does not end is killed after the first; what it has started may keep its output open for the second. */
const [GRACE_MS, LAST_WORDS_MS] = [5000, 500]
/** What only softsim may know. */
const SECRETS = { SOFTSIM_API_KEY: undefined, SOFTSIM_KEY_PASSPHRASE: undefined }

/** The program reads what is sent, and has the variables in its environment. */
type Call = Limits & {
  program: string
  umask: number
  sent: string
  variables: Readonly<Record<string, string>>
}

/** Runs the program for one device, which has passed if it ends with 0, and names the right ICCID if it must. */
export async function runProgram(call: Call, answer: Answer): Promise<Verdict> {
  const { program, timeoutMs, stop } = call
  // A group of its own, so that whatever it has started ends with it. On Windows, only a shell runs .cmd files.
  const options = { shell: isWindows, detached: !isWindows, windowsHide: true }
  const env = { ...process.env, ...call.variables, ...SECRETS }
  const start = () => spawn(isWindows ? `"${program}"` : program, { ...options, env })
  const child = withUmask(call.umask, start)
  const add = (text: string, stream: number) => {
    for (const line of answer.add(text, stream)) {
      call.hear(line)
      answer.judge(line)
    }
  }
  for (const [at, stream] of [child.stdout, child.stderr].entries())
    stream.setEncoding('utf8').on('data', (text: string) => add(text, at))
  // It may end before it has read anything.
  child.stdin.on('error', () => {}).end(call.sent)
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`can't run the program: ${reasonOf(error)}`))
    child.once('exit', (code, signal) => resolve(code === 0 ? '' : `exit code ${code ?? signal}`))
  })
  const late = sleep(timeoutMs, true, { signal: stop, ref: false }).catch(() => true)
  const isLate = await Promise.race([ended.then(() => false), late])
  const isStuck = isLate && !(await kill(child, ended))
  const why = isStuck ? '' : await ended
  // If this process had to wait, the time is over before what the program has said is read.
  await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false }).then(() => readOn())])
  for (const stream of [0, 1]) add('\n', stream)
  // What it has left running may speak while the next device is programmed.
  for (const stream of [child.stdout, child.stderr]) stream.removeAllListeners('data').resume()
  const fail = (note: string) => ({ isPassed: false, note })
  if (isStuck) return { ...fail(`the program still runs (group ${child.pid}), and can't be ended`), isStuck }
  // Many programs end with 0 when they are asked to end.
  if (isLate) return fail(`the program did not end in ${timeoutMs / 1000} s`)
  if (why !== '') return fail(answer.last === '' ? why : `${why}: ${answer.last}`)
  if (answer.verdict !== undefined) return answer.verdict
  return answer.isNamed ? { isPassed: true, note: answer.last } : fail('the program does not name the ICCID')
}

/** Its files get the rights that its user has asked for. */
function withUmask<T>(umask: number, start: () => T): T {
  const own = process.umask(umask)
  try {
    return start()
  } finally {
    process.umask(own)
  }
}

/** @returns whether it has ended, with all that it has started */
async function kill({ pid }: ChildProcess, ended: Promise<string>): Promise<boolean> {
  if (pid === undefined) return true
  for (const signal of ['TERM', 'KILL']) {
    // kill(1) says nothing, and does not fail this process, if all have ended.
    if (isWindows) spawnSync('taskkill', ['/T', '/F', '/PID', `${pid}`], { windowsHide: true })
    else spawnSync('kill', ['-s', signal, '--', `-${pid}`])
    await Promise.race([ended, sleep(GRACE_MS, undefined, { ref: false })])
  }
  return !isAnotherUsers(pid)
}

/** Whether something of the group runs as another user, as with sudo. One's own has ended, or will not do anything more. */
function isAnotherUsers(pid: number): boolean {
  try {
    process.kill(isWindows ? pid : -pid, 0)
    return false
  } catch (error) {
    return errnoOf(error) === 'EPERM'
  }
}
