/** Blocks the whole process for a number of milliseconds, for the few places where nothing else may run meanwhile. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
