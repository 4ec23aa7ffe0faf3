import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expand } from '../src/index.ts';

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
});
