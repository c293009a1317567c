import { statSync } from 'node:fs'

/**
 * The rights of what is made in a directory: the directory's own, without those of other users. A directory that is
 * open to a group keeps working for it. The umask takes nothing away: main.ts clears it.
 * @throws the system error
 */
export const rightsOf = (directory: string) => statSync(directory).mode & 0o770

/** The same for a file in it. */
export const fileRights = (rights: number) => rights & 0o660
