/** Holds up everything for so many milliseconds: for the few places that must not go on to anything else meanwhile. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
