/**
 * Ways to break the program, each with the schedules that find it: a rule that finds nothing when it should is no rule. Each
 * is a text of the source and what it is replaced by, on a copy.
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { source } from './run.ts'

interface Mutant {
  /** What does not hold any more. */
  readonly law: string
  readonly file: string
  readonly text: string
  readonly by: string
  /** The families of which one finds it. */
  readonly families: readonly string[]
}

const CLAIMS = 'store/claims.ts'
const INCOMING = 'store/incoming.ts'
const MOVE = 'move/move.ts'
const RESTORE = 'restore/restore.ts'
const RUBBISH = 'store/rubbish.ts'

export const MUTANTS: readonly Mutant[] = [
  {
    law: 'the text of a claim is flushed before it is decided',
    file: CLAIMS,
    text: 'sign(places), drafts)',
    by: 'sign(places))',
    families: ['ext4 fresh/2 next: A?^0'],
  },
  {
    law: 'the directory is flushed before the print',
    file: CLAIMS,
    text: 'if (recorded.length > 0) await files.flushNames(directory, ',
    by: 'if (recorded.length > 1e9) await files.flushNames(directory, ',
    families: ['ext4 fresh/2 next: A?^0'],
  },
  {
    law: 'a claim is void only if nothing was decided first',
    file: CLAIMS,
    text: 'if (!files.patiently(() => files.makeNew(places.decision))) {',
    by: 'if (!files.patiently(() => files.makeNew(places.decision)) && false) {',
    families: ['ext4 fresh/1 next+settle+next: A? B? C A B', 'ext4 fresh/1 next+settle+next: A? B C A'],
  },
  {
    law: 'a claim is decided only if it was not voided first',
    file: CLAIMS,
    text: "return decided !== undefined && decided !== 'void'",
    by: 'return true',
    families: ['ext4 fresh/1 next+settle: A? B? A B'],
  },
  {
    law: 'what is given back is guarded, where a rename follows the file',
    file: CLAIMS,
    text: 'guarded(directory, each.name, () => files.rename(held, unused))',
    by: 'files.rename(held, unused)',
    families: ['handles fresh/1 next+settle+next: A? B? A? B C A'],
  },
  {
    law: 'what is used is not voided: Windows would put the directory in the place of its file',
    file: CLAIMS,
    text: '    if (isUsed()) return true\n',
    by: '',
    families: ['held fresh/1 next+settle+settle: A25 B? C? A'],
  },
  {
    law: 'a claim is guarded, where two can win',
    file: 'store/claims.ts',
    text: '  if (!files.canTwoWin(directory)) return action()\n',
    by: '  return action()\n',
    families: ['handles fresh/1 next+next: A? B A', 'handles fresh/1 next+next: A? B? A B'],
  },
  {
    law: 'what comes is guarded, where a rename follows the file',
    file: 'store/incoming.ts',
    text: 'guarded(directory, name, arriveOne, ',
    by: '((..._: unknown[]) => arriveOne())(',
    families: ['smb move2!19/2 move2+nextT+nextT: A? B? A C40 B C'],
  },
  {
    law: 'who takes a profile looks for who is at what comes',
    file: CLAIMS,
    text: '|| all.some((each) => ',
    by: '|| all.some((each) => !each && ',
    families: [
      'smb move2!19/2 move2+nextT+nextT: A? B? A C40 B C',
      'smb move2!19/2 move2+onward+nextT: A? B? A C B',
    ],
  },
  {
    law: 'a list of guards without the own one says nothing',
    file: CLAIMS,
    text: '!all.includes(own) || ',
    by: '',
    families: ['smb fresh/1 move+nextT+nextT: A131! B22 C?%% C1%% C5 B30 C B'],
  },
  {
    law: 'a move reads what it takes',
    file: 'move/move.ts',
    text: '() => isUsable() && ',
    by: '() => existsSync(places.unused) && ',
    families: ['smb moved/1 onward+home+move+move: A90 B A3 C133 D A20 C A'],
  },
  {
    law: 'a move gives only what it has flushed',
    file: 'move/move.ts',
    text: 'held.filter((each) => {',
    by: 'heldBy(source, id).filter((each) => {',
    families: ['ext4 fresh/2 move2+move2+next: A79 C13$ A7 C B57 A?^0/1'],
  },
  {
    law: 'each who lets a profile come has a guard of its own',
    file: 'store/incoming.ts',
    text: 'guarded(directory, name, arriveOne, ',
    by: "guarded(directory, name, arriveOne, '~' || ",
    families: ['smb move2!19/2 move2+nextT+nextT: A? B? A C40 B C'],
  },
  {
    law: 'a decision is flushed before the record of its device',
    file: 'store/devices.ts',
    text: '  files.flushDirectory(directory)\n',
    by: '',
    families: [
      'unordered assigned/3 deviceE+next: A?^0 B',
      'unordered assigned/3 deviceE+next: A?^0/1 B',
      'unordered assigned/3 deviceE+settle+next: A?! B?^0 C',
      'unordered assigned/3 deviceE+settle+next: A?! B?^0/1 C',
    ],
  },
  {
    law: 'a record is only made of what its device holds',
    file: CLAIMS,
    text: '({ places }) => sign(places), drafts)',
    by: '({ places, device }) => sign(places) || device !== undefined, drafts)',
    families: ['ext4 fresh/1 deviceD+settle+next: A? B C A'],
  },
  {
    law: 'a device has the profile of the record',
    file: 'store/devices.ts',
    text: 'device === undefined || recorded.get(device) === iccid',
    by: 'device === undefined || recorded.has(device) || iccid',
    families: ['ext4 fresh/2 deviceD+deviceD: A? B A'],
  },
  {
    law: 'what is used and perhaps not printed is named by who settles it',
    file: CLAIMS,
    text: '    messages.warn(warning)\n',
    by: '',
    families: ['ext4 fresh/1 next+settle: A?! B'],
  },
  {
    law: 'what a claim holds stays until it is printed',
    file: 'next/next.ts',
    text: '    await print(taken)\n',
    by: '    store.clear(call.used)\n    await print(taken)\n',
    families: ['ext4 fresh/1 next+settle: A?! B'],
  },
  {
    law: 'a receipt is written before the print',
    file: 'next/next.ts',
    text: "    receipt?.append(receiptsOf(taken, directory))\n    what = 'used, and perhaps printed'\n    await print(taken)\n",
    by: '    await print(taken)\n    receipt?.append(receiptsOf(taken, directory))\n',
    families: ['ext4 fresh/1 next: A?!'],
  },
  {
    law: 'a record is flushed before the print',
    file: 'store/devices.ts',
    text: '  files.flushDirectory(join(directory, DEVICES))\n',
    by: '',
    families: ['unordered fresh/2 deviceD+deviceD: A?^0 B'],
  },
  {
    law: 'a record is durable before it has its name',
    file: 'store/devices.ts',
    text: '    files.flushDirectories(drafts.map(({ place }) => place)),\n',
    by: '',
    families: ['unordered fresh/2 deviceD+deviceD: A?^0 B'],
  },
  {
    law: 'an answer is flushed before it is said to be put aside',
    file: INCOMING,
    text: '  files.flushDirectory(join(directory, INCOMING))\n  await files.flushNames(directory)\n',
    by: '  await files.flushNames(directory)\n',
    families: ['unordered fresh/1 store+next: A?=EIO A^0 B'],
  },
  {
    law: 'also on Windows, which flushes files only',
    file: INCOMING,
    text: '  files.flushDirectory(join(directory, INCOMING))\n  await files.flushNames(directory)\n',
    by: '  files.flushDirectory(join(directory, INCOMING))\n',
    families: ['handles fresh/1 store+next: A?=EIO A^0 B'],
  },
  {
    law: 'what is finished is flushed before it is emptied',
    file: INCOMING,
    text: 'void {\n  files.flushDirectory(dirname(path))\n',
    by: 'void {\n',
    families: ['btrfs move2!19/2 settle+settle+nextT: A C?^0/1'],
  },
  {
    law: 'what comes is flushed before it is decided',
    file: INCOMING,
    text: '    await files.flushFiles(paths)\n    files.flushDirectory(directory)\n',
    by: '',
    families: [
      'unordered fresh/1 store: A?^0',
      'unordered fresh/1 move: A?^0',
      'unordered fresh/1 move: A?^0/1',
    ],
  },
  {
    law: 'a list is flushed by whoever acts on it',
    file: INCOMING,
    text: '    files.flushDirectory(pathOf(directory, id))\n',
    by: '',
    families: ['unordered fresh/1 move+back: A?^0 B'],
  },
  {
    law: 'what has come is flushed before the source forgets it',
    file: INCOMING,
    text: '  await files.flushNames(directory, ...items.map(({ name }) => pathIn(directory, name)))\n',
    by: '',
    families: [
      'unordered fresh/1 move: A?^0',
      'unordered fresh/1 move: A?^0/1',
      'unordered fresh/1 move: A?^1/0',
    ],
  },
  {
    law: 'the source is flushed before the target gets anything',
    file: MOVE,
    text: '  await store.flushNames(source, ...held.map(',
    by: '  Array.of(source, ...held.map(',
    families: [
      'unordered fresh/1 move: A?^0',
      'unordered fresh/1 move: A?^0/1',
      'unordered fresh/1 move: A?^1/0',
    ],
  },
  {
    law: 'a list of a share may be old: what has come is removed by its tags',
    file: MOVE,
    text: '  await store.removeAll(places.map(({ held }) => held))\n',
    by: '',
    families: ['sshfs fresh/1 move+move: A? B? A B', 'sshfs fresh/1 move+move: A?! B'],
  },
  {
    law: 'what has come never goes back, also if its removal has failed',
    file: MOVE,
    text: 'if (!tags.has(held.tag)) store.letGo',
    by: 'store.letGo',
    families: ['ext4 fresh/2 move2+home: A B?%% B?%%'],
  },
  {
    law: 'whoever looks in vain has seen the target afterwards, and without the order',
    file: MOVE,
    text: 'if (store.isOpen(target, id))\n',
    by: 'if (false)\n',
    families: ['ext4 fresh/1 move: A?%% A?%% A', 'ext4 fresh/1 move+move: A?%% A?%% A B'],
  },
  {
    law: 'what has come is looked for after the flush',
    file: INCOMING,
    text: 'if (!isSure && (isStick || ',
    by: 'if (!isSure && (isStick && ',
    families: ['ext4 fresh/1 move: A?% A?% A'],
  },
  {
    law: 'a profile is printed when its used file is there and says the tag',
    file: CLAIMS,
    text: 'parseUsed(files.read(places.used))?.claim !== tag',
    by: "parseUsed(files.read(places.used))?.claim !== tag && tag === ''",
    families: ['ext4 moved/1 nextT: A?% A?% A'],
  },
  {
    law: 'a lost target takes nothing of the others with it',
    file: MOVE,
    text: 'outgoing.filter(({ to }) => to === resolve(target))',
    by: 'outgoing',
    families: ['ext4 fresh/2 move+move3rd+lost: A?! B?%% C B'],
  },
  {
    law: 'restore voids what calls hold in a backup',
    file: RESTORE,
    text: '    await store.settle(directory, messages)\n',
    by: '',
    families: ['ext4 fresh/2 next+next: A?& A B'],
  },
  {
    law: 'restore puts aside what moves hold in a backup',
    file: 'store/aside.ts',
    text: 'for (const from of [...own, ',
    by: 'for (const from of [',
    families: ['ext4 fresh/2 move+nextT: A?& A B'],
  },
  {
    law: 'restore stores the answers of a backup first',
    file: RESTORE,
    text: '    await store.finishAnswers(directory, messages)\n',
    by: '',
    families: ['ext4 fresh/1 store+next2: A?& A B'],
  },
  {
    law: 'restore makes the records that receipts name before it settles',
    file: RESTORE,
    text: '    await store.makeRecords(directory, records)\n',
    by: '',
    families: ['ext4 fresh/3 deviceD+deviceD: A?& B'],
  },
  {
    law: 'a restored directory is used by nobody before its end',
    file: RESTORE,
    text: '    store.putAside(directory, plan.aside)\n',
    by: '    store.renewIdentity(directory)\n    store.putAside(directory, plan.aside)\n',
    families: ['ext4 backup/3 restore+next: A?! B'],
  },
  {
    law: 'what a backup has brought is flushed before a restored directory is used',
    file: RESTORE,
    text: '    await store.flushBackup(directory)\n',
    by: '',
    families: ['ext4 unpacked/3 restore+deviceD: A B?^0'],
  },
  {
    law: 'a cleaner takes a draft under another name first',
    file: RUBBISH,
    text: 'else if (rename(path, to)) empty(to, messages)',
    by: 'else empty(path, messages)',
    families: ['ext4 fresh/1 store+settle: A?@2h B? A?! B'],
  },
  {
    law: 'names are flushed with a new file where no directory can be',
    file: 'store/files.ts',
    text: '  if (!canTwoWin(directory)) return\n',
    by: '  if (directory !== undefined) return\n',
    families: ['handles fresh/2 next2: A?^0'],
  },
  {
    law: 'who voids a claim without a draft looks whether it is used after a list',
    file: CLAIMS,
    text: 'files.namesIn(directory).length > 0 && isUsed()',
    by: 'isUsed()',
    families: ['smb fresh/2 deviceD+iccid: A22 B? A?!'],
  },
  {
    law: 'on a stick, what a new name names is flushed at once',
    file: 'store/files.ts',
    text: '  flushRenamed(to)\n  return',
    by: '  return',
    families: ['stick moved/2 nextT+next: A B?^0'],
  },
  {
    law: 'an order and a list are flushed by whoever concludes from them',
    file: INCOMING,
    text: 'if (files.exists(path)) files.flushFile(path)',
    by: 'if (files.exists(path)) void path',
    families: [
      'stick fresh/1 move+move+onward: A?! B?^0 C',
      'ext4 round!31,&0/3 restore+next+home: A B?^0 C',
    ],
  },
  {
    law: 'the identity of a source is durable before an order names it, also where no directory can be flushed',
    file: MOVE,
    text: '  await store.flushNames(move.source)\n',
    by: '  store.flushDirectory(move.source)\n',
    families: ['handles new/2 move+move: A?^0 B'],
  },
  {
    law: 'two spellings are one device, unless somebody says that they are two',
    file: 'store/devices.ts',
    text: '(isNew || recordOf(directory, device) !== undefined)',
    by: 'draft !== undefined',
    families: ['ext4 fresh/3 deviceD+lowerD: A? B A'],
  },
  {
    law: 'rubbish is old by the clock of its server',
    file: RUBBISH,
    text: 'const now = withScratch(directory, timeOf)',
    by: 'const now = Date.now()',
    families: ['skewed fresh/1 store+settle: A? B? A B', 'skewed fresh/1 next2+settle: A? B A'],
  },
]

const SCHEDULE = fileURLToPath(new URL('../schedule.ts', import.meta.url))

/** @returns whether all of them are found */
export async function findMutants(only: RegExp): Promise<boolean> {
  const place = mkdtempSync(join(tmpdir(), 'softsim-mutants-'))
  const root = fileURLToPath(new URL('..', source))
  let missed = 0
  try {
    symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
    for (const mutant of MUTANTS.filter(({ law }) => only.test(law))) {
      cpSync(fileURLToPath(source), join(place, 'src'), { recursive: true })
      const found =
        breakIt(join(place, 'src', mutant.file), mutant) && (await check(join(place, 'src'), mutant))
      if (!found) missed++
      console.log(`${found || (found === false ? 'the text is gone' : 'NOT FOUND')}: ${mutant.law}`)
      rmSync(join(place, 'src'), { recursive: true })
    }
  } finally {
    rmSync(place, { recursive: true })
  }
  console.log(missed === 0 ? 'all mutants are found' : `${missed} mutants are not found`)
  return missed === 0
}

/** @returns false if the source has not got the text, or has it twice */
function breakIt(path: string, { text, by }: Mutant): boolean {
  const before = readFileSync(path, 'utf8')
  if (before.split(text).length !== 2) return false
  writeFileSync(
    path,
    before.replace(text, () => by),
  )
  return true
}

/** @returns the rule that was violated, and the schedule; undefined if none was */
async function check(src: string, { families }: Mutant): Promise<string | undefined> {
  const child = spawn(process.execPath, [SCHEDULE, '--check', '--src', src], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(families.join('\n'))
  let output = ''
  for await (const chunk of child.stdout) output += chunk
  for (const line of output.trim().split('\n')) {
    const { found } = line === '' ? {} : JSON.parse(line)
    if (found !== undefined) return `${found.rule} (${found.schedule})`
  }
  return undefined
}
