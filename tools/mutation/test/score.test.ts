import { expect, test } from 'vitest';
import { scoreOf, scorePage } from '../src/score.ts';

const mutant = {
  id: 1,
  file: 'packages/b/src/rule.ts',
  line: 3,
  lineText: 'return a < b;',
  original: 'a < b',
  replacement: 'a <= b',
};

test('explained mutants do not count as surviving; the same mutant in another line counts', () => {
  const outcomes = [
    { mutant, fate: 'survived' },
    { mutant: { ...mutant, replacement: 'a >= b' }, fate: 'killed' },
    { mutant: { ...mutant, original: 'c < d' }, fate: 'uncovered' },
    { mutant: { ...mutant, line: 7, lineText: 'if (a < b) return 1;' }, fate: 'survived' },
    { mutant: { ...mutant, line: 9 }, fate: 'survived' },
  ] as const;
  const { file, lineText, original, replacement } = mutant;
  const known = { file, lineText, original, replacement, why: 'both are the same to callers' };
  const score = scoreOf('b', outcomes, [known]);
  expect(score).toEqual({ name: 'b', mutants: 5, killed: 1, explained: 2, left: [outcomes[2], outcomes[3]], idle: [] });
});

test('an explanation without a surviving mutant is reported as unused', () => {
  const explanation = (of: Partial<typeof mutant>) => ({ ...mutant, ...of, why: 'both are the same to callers' });
  const killed = explanation({});
  const gone = explanation({ lineText: 'return a < c;' });
  expect(scoreOf('b', [{ mutant, fate: 'killed' }], [killed, gone]).idle).toEqual([killed, gone]);
});

test('the page keeps packages without a new score and orders all packages by name', () => {
  const score = (name: string, killed: number) => ({ name, mutants: 4, killed, explained: 0, left: [], idle: [] });
  const first = scorePage([score('c', 1), score('a', 2)]);
  const rows = scorePage([score('b-b', 3), score('c', 4)], first).match(/^\| `.*$/gm);
  expect(rows).toEqual([
    '| `a` | 4 | 2 | 0 | 0 | 50.0 % |',
    '| `b-b` | 4 | 3 | 0 | 0 | 75.0 % |',
    '| `c` | 4 | 4 | 0 | 0 | 100.0 % |',
  ]);
  expect(scorePage([], scorePage([score('none', 0)]))).toBe(scorePage([score('none', 0)]));
});
