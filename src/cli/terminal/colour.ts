/** Whether the user wants colour (https://no-color.org) and the terminal has it. */
export const hasColour = (env: NodeJS.ProcessEnv = process.env) => !env['NO_COLOR'] && env['TERM'] !== 'dumb'
