/** The directory counts as itself from now on. */
export function adopt(_directory: string): void {}
