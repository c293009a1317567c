/**
 * Whether a standard stream is a console of Windows. It reads bytes in its code page, so names in UTF-8 would be
 * garbled. Node's streams give it UTF-16 instead.
 * @param descriptor 1 or 2
 */
export const isConsole = (descriptor: 1 | 2) =>
  process.platform === 'win32' && process.getBuiltinModule('node:tty').isatty(descriptor)
