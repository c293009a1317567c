/** The diagrams of the manual, by the name of their file in .github. */
import type { Diagram } from './diagram.ts'

export const DIAGRAMS: Readonly<Record<string, Diagram>> = {
  flow: {
    title: 'From the service to the device, and where keys, receipts and backups live',
    rows: [
      {
        left: 'Profile service',
        right: 'Has your public key: only your private key opens the profiles',
        down: 'softsim fetch, over the internet',
      },
      {
        left: 'PC with internet\ndirectory of profiles',
        right: 'The API key lives here, and nowhere else',
        down: 'softsim move: never copy',
      },
      {
        left: 'Stick or share\ndirectory of profiles',
        right: 'All profiles are still encrypted. No key belongs here',
        down: 'softsim move, or stations share it',
      },
      {
        left: 'Station\ndirectory of profiles',
        right:
          'The private key lives here, with a backup in a safe. Receipts and results are written here. After each shift, keep them and a backup of the directory on another disk',
        down: 'softsim next, without internet',
      },
      { left: 'Device', right: 'One device, one profile' },
    ],
  },
  states: {
    title: 'The states of a profile',
    rows: [
      { left: 'at the service', right: 'Paid for when it is allocated', down: 'fetch' },
      {
        left: 'unused\n<iccid>.json',
        across: 'move',
        right: 'in transit',
        down: 'next begins',
        downRight: 'the move ends',
      },
      {
        left: 'claimed\n.claims/<iccid>',
        right: 'moved\nunused in the other directory',
        down: 'next flushes, then prints',
      },
      { left: 'used\n__<iccid>.json', right: 'For ever. With --device, the same device gets it again' },
    ],
  },
  failure: {
    title: 'What to do when a device fails',
    rows: [
      { left: 'Device … failed', down: '' },
      {
        left: 'Does it say: Do not ship it?',
        across: 'yes',
        right:
          'Program it again. If that does not help, ship neither this device nor the one that has its ICCID',
        down: 'no',
      },
      {
        left: 'Is it the first time?',
        across: 'yes',
        right: 'Scan it again: it gets the same profile',
        down: 'no',
      },
      {
        left: 'Do other devices fail here, too?',
        across: 'yes',
        right: 'Stop. Check cable, power and program. No answer: check PASS and FAIL',
        down: 'no',
      },
      {
        left: 'Is its board replaced?',
        across: 'yes',
        right: 'The new board is a new device, with a new serial number',
        down: 'no',
      },
      {
        left: 'Put it aside with its label',
        right: 'Scrapped: write it down, and have its ICCID deactivated',
      },
    ],
  },
}
