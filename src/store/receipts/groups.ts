/**
 * Numbers by a key: a word of 64 bits for each, the hash of its key above it, so that a million take little memory and are
 * sorted at once. Two keys may have one hash: whoever reads a group looks at the keys again.
 */
export class Groups {
  #words = new BigUint64Array(1024)
  #count = 0

  /** @param number below 2^32 */
  add(key: string, number: number): void {
    if (this.#count === this.#words.length)
      this.#words = new BigUint64Array(this.#words.buffer.transfer(2 * this.#words.byteLength))
    this.#words[this.#count++] = (BigInt(hashOf(key)) << 32n) | BigInt(number)
  }

  /** The numbers of one hash at a time, the lowest first. */
  *[Symbol.iterator](): Generator<number[]> {
    this.#words.subarray(0, this.#count).sort()
    let group: number[] = []
    let hash: bigint | undefined
    for (let at = 0; at < this.#count; at++) {
      const word = this.#words[at] ?? 0n
      if (group.length > 0 && word >> 32n !== hash) {
        yield group
        group = []
      }
      hash = word >> 32n
      group.push(Number(word & 0xffff_ffffn))
    }
    if (group.length > 0) yield group
  }
}

/** FNV-1a. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
