import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { globMatches } from '../src/glob.ts';
import { parseRegistryUrl, registryMatches } from '../src/registry-url.ts';

describe('matching of a registry in a configuration', () => {
  test.each([
    ['example.com', 'example.com/app', true],
    ['example.com/team', 'example.com/team/app', true],
    // The path is compared as a string prefix, not by path elements, and upstream does the same.
    ['example.com/team', 'example.com/teamster/app', true],
    ['example.com/team', 'example.com/other', false],
    ['example.com/', 'example.com', false],
    ['*.example.com', 'a.example.com/app', true],
    ['*.example.com', 'example.com/app', false],
    ['*.example.com', 'a.b.example.com/app', false],
    ['*.*.example.com', 'a.b.example.com/app', true],
    ['eu-*.example.com', 'eu-west.example.com/app', true],
    ['eu-*.example.com', 'us-west.example.com/app', false],
    ['*', 'localhost/app', true],
    ['*', 'example.com/app', false],
    ['example.com:5000', 'example.com:5000/app', true],
    ['example.com:5000', 'example.com/app', false],
    ['example.com', 'example.com:5000/app', false],
    ['example.com:*', 'example.com:5000/app', false],
    ['[::1]:5000', '[::1]:5000/app', true],
    ['a[0-9].example.com', 'a7.example.com/x', true],
    ['a[^0-9].example.com', 'a7.example.com/x', false],
    ['a[9-0].example.com', 'a7.example.com/x', false],
    ['example.com/a%2Fb', 'example.com/a/b', true],
    ['example.com/%zz', 'example.com/%zz', false],
    ['exa mple.com', 'exa mple.com', false],
    ['example.com', 'user:pass@example.com/app', true],
    ['[::1]:5000', '[::2]:5000/app', false],
    // Without a port, the brackets are a glob's character class, as in upstream.
    ['[::1]', '[::1]/app', false],
    ['a[^0-9].example.com', 'ax.example.com/x', true],
  ])('the registry %s matches the image %s: %s', (glob, target, expected) => {
    expect(registryMatches(glob, target)).toBe(expected);
  });

  test('a registry without a glob matches itself and paths below it', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
    const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    fc.assert(
      fc.property(host, fc.option(fc.nat(65535), { nil: undefined }), fc.array(label), (name, port, path) => {
        const registry = port === undefined ? name : `${name}:${port}`;
        expect(registryMatches(registry, [registry, ...path].join('/'))).toBe(true);
        expect(registryMatches(`${registry}x`, registry)).toBe(false);
      }),
    );
  });

  test('W3: any registry text is parsed or rejected', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (glob, text) => {
        parseRegistryUrl(glob);
        expect(typeof globMatches(glob, text)).toBe('boolean');
      }),
    );
  });
});

test.each([
  ['a?c', 'abc', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['[a-cx]', 'b', true],
  ['[a-cx]', 'x', true],
  ['[a-cx]', 'd', false],
  ['[\\]]', ']', true],
  ['[', '[', false],
  ['[]', '', false],
  ['a\\', 'a\\', false],
  ['.', 'a', false],
  ['', '', true],
  ['a*b*c', 'axbxbxc', true],
  ['a*b*c', 'axbxbx', false],
  ['**', '', true],
  ['a[-b]', 'a-', false],
  ['[b-a]', 'a', false],
  ['*ab', 'axb', false],
  ['[^a]', '^', true],
  ['[^a]', 'a', false],
  ['[]a]', ']', false],
  ['[a-]', 'a', false],
  ['[^a-]]', 'b', false],
  ['[^--a]', 'x', false],
])('the glob %j matches %j: %s', (pattern, text, expected) => {
  expect(globMatches(pattern, text)).toBe(expected);
});

test.each([
  ['example.com', { hostParts: ['example', 'com'], port: '', path: '', host: 'example.com' }],
  ['example.com:/a%C3%A9', { hostParts: ['example', 'com'], port: '', path: '/aé', host: 'example.com:' }],
  ['example.com/é', { hostParts: ['example', 'com'], port: '', path: '/é', host: 'example.com' }],
  ['[::1]:5000', { hostParts: ['::1'], port: '5000', path: '', host: '[::1]:5000' }],
  ['[::1]', { hostParts: ['[::1]'], port: '', path: '', host: '[::1]' }],
])('the registry URL %s is parsed as in Go', (text, parts) => {
  expect(parseRegistryUrl(text)).toEqual(parts);
});

// Comparing each class member with each character would exceed the test's timeout.
test('W3: a glob with a class of a mebibyte is matched quickly', () => {
  const members = 'b-yb-cz'.repeat(200_000);
  expect(globMatches(`*[${members}]`, 'a'.repeat(20_000))).toBe(false);
  expect(globMatches(`*[${members}]`, `${'a'.repeat(20_000)}x`)).toBe(true);
});

test('W3: a glob with many stars is matched quickly', () => {
  expect(globMatches(`${'*a'.repeat(2000)}b`, 'a'.repeat(4000))).toBe(false);
});
