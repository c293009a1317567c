import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainText } from '../../src/service/error-page.ts'

test.each([
  ['plain text stays unchanged', ' a < b &amp; c\n', 'a < b &amp; c'],
  ['a title that the page repeats appears once', '<html><title>Oops</title><h1>Oops</h1>no', 'Oops no'],
  [
    'any other title comes first',
    '<!DOCTYPE html><title>Error 1020</title><p>Access denied</p>',
    'Error 1020: Access denied',
  ],
  [
    'a title that is a word of the text',
    '<html><title>no</title><p>There is no service',
    'no: There is no service',
  ],
  ['a page after blanks', '\n <!doctype html><p>down</p>', 'down'],
  ['a page with only a title', '<html><head><title>Bad Gateway</title></head><body></body>', 'Bad Gateway'],
  [
    'scripts, styles and comments are removed',
    '<html><script>if (a < b) x()</script><style>p{}</style><!-- <p>no</p> -->yes',
    'yes',
  ],
  ['also if they are truncated', '<html>yes<script>if (', 'yes'],
  ['a truncated tag', '<html>yes<a href="', 'yes'],
  ['entities are decoded, once', '<html>&lt;b&gt; &amp;amp; &#8364;&#x2014;&nope;', '<b> &amp; €—&nope;'],
  ['invalid entities do no harm', '<html>&#9999999;&#xFFFFFF;', '\ufffd\ufffd'],
  ['white space is folded', '<html>\n a&nbsp;\t<br>\r\n b', 'a b'],
  ['a tag inside a word', '<html>un<wbr>be<b>liev</b>able', 'unbelievable'],
])('%s', (_, body, text) => expect(plainText(body, undefined)).toBe(text))

test('a page is also recognized by its content type', () => {
  expect(plainText('<p>down</p>', 'text/html; charset=utf-8')).toBe('down')
  expect(plainText('<p>down</p>', 'application/xhtml+xml')).toBe('down')
  expect(plainText('<p>down</p>', 'text/plain')).toBe('<p>down</p>')
})

test('any input is converted quickly, and no tag is left', () => {
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
