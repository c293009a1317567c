import { FetchCommand } from './fetch.ts'
import { HelpCommand } from './help.ts'
import { MoveCommand } from './move.ts'
import { NextCommand } from './next.ts'
import { RestoreCommand } from './restore.ts'
import { StatusCommand } from './status.ts'

/** In the order in which the help lists them. */
export const COMMANDS = [FetchCommand, NextCommand, MoveCommand, RestoreCommand, StatusCommand, HelpCommand]
