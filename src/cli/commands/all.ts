/** All commands: the table that the parser, the help, the man page and the completions are made from. */
import { FetchCommand } from './fetch-command.ts'
import { HelpCommand, VersionCommand } from './help-command.ts'
import { MoveCommand } from './move-command.ts'
import { NextCommand } from './next-command.ts'
import { RestoreCommand } from './restore-command.ts'
import { StationCommand } from './station-command.ts'
import { StatusCommand } from './status-command.ts'

/** In the order in which the help lists them. */
export const COMMANDS = [
  FetchCommand,
  NextCommand,
  StationCommand,
  MoveCommand,
  RestoreCommand,
  StatusCommand,
  HelpCommand,
  VersionCommand,
]
