/** Which rights new files have: those of their directory, or what the user has asked for. */
let usersMask = 0

/** Files must stay usable for other users of a shared directory: each gets the mode of it, which no umask may reduce. */
export function clearUmask(): void {
  usersMask = process.umask(0)
}

/** Starts a program of the user, whose files get the rights that the user has asked for. */
export function withUsersUmask<T>(start: () => T): T {
  const ours = process.umask(usersMask)
  try {
    return start()
  } finally {
    process.umask(ours)
  }
}
