import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expand, expandAll, MAX_EXPANDED_LENGTH } from '../src/index.ts';

const values = new Map([
  ['A', 'a'],
  ['B', '$(A)'],
  ['EMPTY', ''],
  ['', 'nameless'],
  ['$(A', 'odd'],
]);
const lookUp = (name: string): string | undefined => values.get(name);

describe('expand', () => {
  it.each([
    ['', ''],
    ['plain', 'plain'],
    ['$(A)', 'a'],
    ['x$(A)y$(A)z', 'xayaz'],
    ['$(B)', '$(A)'],
    ['[$(EMPTY)]', '[]'],
    ['$()', 'nameless'],
    ['$(MISSING)', '$(MISSING)'],
    ['$$', '$'],
    ['$$$', '$$'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$a'],
    ['$$$$(A)', '$$(A)'],
    ['$', '$'],
    ['$A', '$A'],
    ['$x$(A)', '$xa'],
    ['$(', '$('],
    ['$(A', '$(A'],
    ['$($(A))', 'odd)'],
    ['$(A)$(', 'a$('],
    ['a$é$(A)', 'a$éa'],
    ['line\n$(A)', 'line\na'],
    ['$[A]', '$[A]'],
  ])('makes %j of it: %j', (text, expected) => {
    expect(expand(text, lookUp)).toBe(expected);
  });

  it('gives back any text whose dollars were doubled', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', 'x') }), (text) => {
        expect(expand(text.replaceAll('$', '$$$$'), lookUp)).toBe(text);
      }),
    );
  });

  it('reads what stands behind the last end of a reference as what stands before it', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', 'x') }), (text) => {
        const all = /\$(?:\$|\(([^)]*)\))/g;
        const inOne = text.replace(all, (it, name) => (name === undefined ? '$' : (lookUp(name) ?? it)));
        expect(expand(text, lookUp)).toBe(inOne);
      }),
    );
  });

  // By the square of their number it would take longer than a test may.
  it('W6: reads a text of many references without an end as quickly as any', () => {
    const text = '$('.repeat(200_000);
    expect(expand(text, lookUp)).toBe(text);
  });

  it('W3: makes no text that is longer than any program could be given', () => {
    const large = 'x'.repeat(MAX_EXPANDED_LENGTH / 4);
    const ofLarge = (): string => large;
    const tooLong = expect.objectContaining({
      code: 'TooLong',
      message: 'more than 16777216 characters once variables are expanded',
    });
    expect(expand('$(A)'.repeat(4), ofLarge)).toHaveLength(MAX_EXPANDED_LENGTH);
    expect(() => expand('$(A)'.repeat(5), ofLarge)).toThrow(tooLong);
    expect(() => expand('ab', ofLarge, 1)).toThrow(tooLong);
    expect(expandAll(['$(A)', '$(A)$(A)', '$(A)'], ofLarge).map(({ length }) => length * 4)).toEqual(
      [1, 2, 1].map((times) => times * MAX_EXPANDED_LENGTH),
    );
    expect(() => expandAll(['$(A)$(A)', '$(A)$(A)', '.'], ofLarge)).toThrow(tooLong);
  });
});
