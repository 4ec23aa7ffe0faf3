import { expect, test } from 'vitest';
import { closestName } from '../src/closest-name.ts';

test.each<[typed: string, names: readonly string[], meant: string | undefined]>([
  ['spce', ['spec', 'status'], 'spec'],
  ['SPEC', ['spac', 'spec'], 'spec'],
  ['hostnetwork', ['hostNetwork'], 'hostNetwork'],
  ['valeu', ['value', 'values'], 'value'],
  ['imag', ['image', 'images'], 'image'],
  ['abcd', ['abxy'], 'abxy'],
  ['abcd', ['axyz'], undefined],
  ['abcdefgh', ['abcdexyz'], undefined],
  ['abcd', ['abcdef'], 'abcdef'],
  ['abcd', ['abcdefg'], undefined],
  ['abcdef', ['abcd'], 'abcd'],
  ['abcdefg', ['abcd'], undefined],
  // One mistake is better than two, wherever it comes, and the first of two that are alike is taken.
  ['abcd', ['abxy', 'abcx'], 'abcx'],
  ['abcd', ['abcx', 'abxy'], 'abcx'],
  ['abcd', ['abcx', 'abcy'], 'abcx'],
  ['abcd', ['abxd', 'bcd'], 'abxd'],
  ['xspec', ['xspzz', 'spec'], 'spec'],
  // In a short name one mistake may be made, in a shorter one none.
  ['abc', ['abx'], 'abx'],
  ['abc', ['axx'], undefined],
  ['ab', ['ax'], 'ax'],
  ['ab', ['xx'], undefined],
  ['a', ['b'], undefined],
  ['a', ['A'], 'A'],
  ['', ['a'], undefined],
  ['abcd', [], undefined],
])('for the misspelt name %j the closest of the names %j is %s', (typed, names, meant) => {
  expect(closestName(typed, names)).toBe(meant);
});
