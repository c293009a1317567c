import { type Messages, several } from '../words.ts'

const UNKNOWN_STOCK = 'this call does not know how many unused profiles are left in'

/**
 * Says how many profiles are left, only of what the call has read anyway.
 * @param left undefined if the call does not know
 */
export function tellOfStock(
  left: number | undefined,
  { directory, lowStock }: { readonly directory: string; readonly lowStock: number | undefined },
  messages: Messages,
): void {
  if (left === undefined) {
    if (lowStock !== undefined) messages.tell(0, `${UNKNOWN_STOCK} ${directory}`)
    return
  }
  const stock =
    left === 0
      ? `no other known unused profile in ${directory}`
      : `at most ${several(left, 'unused profile')} left in ${directory}`
  if (lowStock !== undefined && left <= lowStock) messages.warn(stock)
  else messages.tell(1, stock)
}
