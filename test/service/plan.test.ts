import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plan } from '../../src/service/plan.ts'

test.each([
  [1, [1]],
  [999, [999]],
  [1000, [1000]],
  [1001, [1000, 1]],
  [2000, [1000, 1000]],
  [2345, [1000, 1000, 345]],
  [0, []],
])('%i', (count, sizes) => expect(plan(count)).toEqual(sizes))

test('the sizes add up, in the fewest requests of 1 to 1000', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), (count) => {
      const sizes = plan(count)
      expect(sizes.reduce((sum, size) => sum + size)).toBe(count)
      expect(sizes).toHaveLength(Math.ceil(count / 1000))
      expect(Math.min(...sizes)).toBeGreaterThanOrEqual(1)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(1000)
    }),
  )
})
