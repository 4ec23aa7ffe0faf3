import { describe, expect, test } from 'vitest';
import { fieldSelector, parseFieldTerms } from '../src/core/field-selector.ts';
import { parseLabelSelector } from '../src/core/label-selector.ts';

describe('label selectors', () => {
  const labels = { app: 'web', 'example.com/n': '5', empty: '' };
  test.each([
    ['app=web', true],
    ['app = web', true],
    ['app!=web', false],
    ['none!=web', true],
    ['empty=', true],
    ['app in (web,db)', true],
    ['app in (db)', false],
    ['none in (web)', false],
    ['none notin (web)', true],
    ['app notin (web)', false],
    ['app,!none', true],
    ['!app', false],
    ['example.com/n>4', true],
    ['example.com/n<5', false],
    ['app>4', false],
    ['app in (web),example.com/n=5,empty', true],
  ])('the label selector %s matches: %s', (text, expected) => {
    expect(parseLabelSelector(text)?.(labels)).toBe(expected);
  });

  test.each(['a==b=c', '=a', 'a in b', 'a in (b', 'a b', '-a', 'a=b c', 'a>x', 'a=-'])(
    'the label selector %s is rejected',
    (text) => {
      expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ code: 400 }));
    },
  );

  test('an empty label selector selects everything', () => {
    expect(parseLabelSelector(' ')).toBeUndefined();
  });
});

describe('field selectors', () => {
  const fields = { a: (object: { [key: string]: unknown }) => String(object.a), 'b.c': () => 'x' };
  test.each([
    ['a=1', true],
    ['a==1,b.c=x', true],
    ['a!=1', false],
    ['a=1,b.c!=x', false],
  ])('the field selector %s matches: %s', (text, expected) => {
    expect(fieldSelector(parseFieldTerms(text), fields)?.({ a: 1 })).toBe(expected);
  });

  test('escapes in a field selector are decoded', () => {
    expect(parseFieldTerms('a=x\\,y\\=z\\\\')).toEqual([{ field: 'a', equal: true, value: 'x,y=z\\' }]);
  });

  test.each(['a', 'a>1', 'd=1', 'toString=1'])(
    'the field selector %s is rejected as malformed or not selectable',
    (text) => {
      expect(() => fieldSelector(parseFieldTerms(text), fields)).toThrow(expect.objectContaining({ code: 400 }));
    },
  );
});
