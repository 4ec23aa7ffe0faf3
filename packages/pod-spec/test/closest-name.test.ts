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
  // A name with one mistake is preferred to a name with two, regardless of the order; of two equally close names, the
  // first name is returned.
  ['abcd', ['abxy', 'abcx'], 'abcx'],
  ['abcd', ['abcx', 'abxy'], 'abcx'],
  ['abcd', ['abcx', 'abcy'], 'abcx'],
  ['abcd', ['abxd', 'bcd'], 'abxd'],
  ['xspec', ['xspzz', 'spec'], 'spec'],
  // A typed name of two or three letters may have one mistake.
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
