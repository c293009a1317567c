import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainText } from '../../src/service/plain-text.ts'

test.each([
  ['what is no page stays as it is', ' a < b &amp; c\n', 'a < b &amp; c'],
  ['a title that the page repeats is told once', '<html><title>Oops</title><h1>Oops</h1>no', 'Oops no'],
  [
    'any other comes first',
    '<!DOCTYPE html><title>Error 1020</title><p>Access denied</p>',
    'Error 1020: Access denied',
  ],
  [
    'a page of nothing but a title',
    '<html><head><title>Bad Gateway</title></head><body></body>',
    'Bad Gateway',
  ],
  [
    'scripts, styles and comments are no words',
    '<html><script>if (a < b) x()</script><style>p{}</style><!-- <p>no</p> -->yes',
    'yes',
  ],
  ['also where they are cut off', '<html>yes<script>if (', 'yes'],
  ['a tag that is cut off', '<html>yes<a href="', 'yes'],
  ['entities are decoded, once', '<html>&lt;b&gt; &amp;amp; &#8364;&#x2014;&nope;', '<b> &amp; €—&nope;'],
  ['impossible ones do no harm', '<html>&#9999999;&#xFFFFFF;', '\ufffd\ufffd'],
  ['white space is folded', '<html>\n a&nbsp;\t<br>\r\n b', 'a b'],
  ['a tag may stand amid a word', '<html>un<wbr>be<b>liev</b>able', 'unbelievable'],
])('%s', (_, body, text) => expect(plainText(body, undefined)).toBe(text))

test('a page is known by its type, too', () => {
  expect(plainText('<p>down</p>', 'text/html; charset=utf-8')).toBe('down')
  expect(plainText('<p>down</p>', 'text/plain')).toBe('<p>down</p>')
})

test('whatever comes, it takes no time to speak of and leaves no tag', () => {
  const parts = fc.constantFrom(
    '<',
    '>',
    '</',
    '<!--',
    '<script',
    '<title>',
    '&',
    '&#',
    ';',
    'a',
    '"',
    ' ',
    '-->',
  )
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 5000 }), (pieces) => {
      expect(plainText(pieces.join(''), 'text/html')).not.toMatch(/<[a-z][^>]*>/i)
    }),
    { numRuns: 50 },
  )
})
