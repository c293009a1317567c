import { Failure } from '../../failure.ts'
import { BaseCommand } from './base.ts'

export class StationCommand extends BaseCommand {
  static override paths = [['station']]
  static override usage = {
    description: 'program devices one by one, or in panels, at a station of the line',
    examples: [['Program devices through a port', 'softsim station --port /dev/ttyUSB0']] as [
      string,
      string,
    ][],
  }

  override async execute(): Promise<void> {
    throw new Failure('bug', 'the station is not there yet', 'wait for it')
  }
}
