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
  ])('expand turns %j into %j', (text, expected) => {
    expect(expand(text, lookUp)).toBe(expected);
  });

  it('expand returns any text whose dollar signs were doubled', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', 'x') }), (text) => {
        expect(expand(text.replaceAll('$', '$$$$'), lookUp)).toBe(text);
      }),
    );
  });

  it('expand treats text after the last closing parenthesis like text before it', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', 'x') }), (text) => {
        const all = /\$(?:\$|\(([^)]*)\))/g;
        const inOne = text.replace(all, (it, name) => (name === undefined ? '$' : (lookUp(name) ?? it)));
        expect(expand(text, lookUp)).toBe(inOne);
      }),
    );
  });

  // Quadratic time would exceed the test's timeout.
  it('W6: expand takes linear time for a text with many unclosed references', () => {
    const text = '$('.repeat(200_000);
    expect(expand(text, lookUp)).toBe(text);
  });

  it('W3: expand refuses to make a text that is longer than an argument of a program may be', () => {
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
