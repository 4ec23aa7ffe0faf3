import { expect, test } from 'vitest';
import { masqueradeRules } from '../src/leftovers.ts';

const RULES = `-P POSTROUTING ACCEPT
-N CNI-aaa
-N CNI-bbb
-A POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \\"na-1\\" id: \\"x y\\"" -j CNI-aaa
-A POSTROUTING -s 10.2.0.2/32 -m comment --comment "name: \\"na-12\\" id: \\"z\\"" -j CNI-bbb
-A POSTROUTING -s 10.1.0.0/24 -j MASQUERADE
-A CNI-aaa -d 10.1.0.0/24 -m comment --comment "name: \\"na-1\\" id: \\"x y\\"" -j ACCEPT
`;

test("the rules of one network's pods are found, with the words that delete them", () => {
  expect(masqueradeRules(RULES, 'na-1')).toEqual([
    [
      'CNI-aaa',
      [
        '-D',
        'POSTROUTING',
        '-s',
        '10.1.0.2/32',
        '-m',
        'comment',
        '--comment',
        'name: "na-1" id: "x y"',
        '-j',
        'CNI-aaa',
      ],
    ],
  ]);
});

test('a network without pods has no rules', () => {
  expect(masqueradeRules(RULES, 'na-3')).toEqual([]);
});
