import { describe, expect, test } from 'vitest';
import { hostParts, parseUrl, pathUrl, requestUri, resolveUrl, urlText, withoutPassword } from '../src/go-url.ts';
import { GO_REFERENCES, GO_URLS } from './go-urls.ts';

const utf8Text = (words: string): string => Buffer.from(words, 'latin1').toString();

describe('go-url', () => {
  test.each(GO_URLS)('parses the URL %j as Go does: %j', (text, wanted) => {
    const url = parseUrl(text);
    if (typeof wanted === 'string' || typeof url === 'string') return expect(url).toBe(utf8Text(String(wanted)));
    const [name, port] = hostParts(url.host);
    const { path, host } = url;
    expect({ text: urlText(url), uri: requestUri(url), path, host, name, port }).toEqual(wanted);
  });

  test.each(GO_REFERENCES)(
    'resolves a URL reference against a base as Go does: %j and %j give %j',
    (base, reference, wanted) => {
      const from = parseUrl(base);
      const to = typeof from === 'string' ? from : resolveUrl(from, reference);
      expect(typeof to === 'string' ? to : urlText(to)).toBe(typeof to === 'string' ? utf8Text(wanted) : wanted);
    },
  );

  test('pathUrl escapes any text as a path', () => {
    const paths = ['*', '/a?b#c', 'a:b', '%zz', '/\x80'].map((path) => urlText(pathUrl(path)));
    expect(paths).toEqual(['*', '/a%3Fb%23c', 'a:b', '%25zz', '/%80']);
  });

  test.each([
    ['http://u:p@h/x', 'http://u:***@h/x'],
    ['http://u:@h/x', 'http://u:***@h/x'],
    ['http://u%40:p%40@h/x', 'http://u@:***@h/x'],
    ['http://u@h/%7e', 'http://u@h/%7e'],
    ['http://h/u:p@x', 'http://h/u:p@x'],
    ['http://u:%zz@h/', 'http://u:%zz@h/'],
    ['http://h/x', 'http://h/x'],
  ])('withoutPassword formats %s as %s', (text, shown) => expect(withoutPassword(text)).toBe(shown));
});
