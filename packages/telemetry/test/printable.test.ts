import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printable, printableJson, printableLine } from '../src/index.ts';

const HOSTILE = /[^\P{Cc}\n]|\p{Cf}|[\u2028\u2029]/u;

describe('text for a terminal', () => {
  test.each([
    ['plain ünï 日本', 'plain ünï 日本'],
    ['\x1b[2Jgone', '\\x1b[2Jgone'],
    ['a\nb\tc\rd', 'a\\nb\\tc\\rd'],
    ['\u009b31m \x7f', '\\x9b31m \\x7f'],
    ['\u202Eevil \u2028', '\\u202eevil \\u2028'],
    ['\u{E0041}', '\\udb40\\udc41'],
  ])('printableLine(%j) is %j', (text, shown) => {
    expect(printableLine(text)).toBe(shown);
  });

  test('printable and printableLine leave no character that controls the terminal, and printableLine leaves no line break', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(HOSTILE.test(printable(text))).toBe(false);
        expect(/[\p{Cc}\p{Cf}]/u.test(printableLine(text))).toBe(false);
      }),
    );
  });

  test('printable replaces the line breaks U+2028 and U+2029', () => {
    expect(printable('a\u2028b\u2029c\n')).toBe('a\uFFFDb\uFFFDc\n');
  });

  test('printableJson escapes U+2028 and removes carriage returns between tokens', () => {
    expect(printableJson('{"a":\r\n\t"x\u2028y"\r}')).toBe('{"a":\n\t"x\\u2028y"}');
  });

  test('printableJson does not change the value of any JSON text', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const shown = printableJson(json);
        expect(JSON.parse(shown)).toEqual(JSON.parse(json));
        expect(HOSTILE.test(shown.replaceAll('\t', ''))).toBe(false);
      }),
    );
  });
});
