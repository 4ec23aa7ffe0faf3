import { describe, expect, it } from 'vitest';
import { countTable, unitOf } from '../src/counts.ts';
import { habitsOf } from '../src/habits.ts';
import { sampleOf } from '../src/sample.ts';

const names = (sentence: string): readonly string[] => habitsOf(sentence).map(({ name }) => name);

describe('habitsOf', () => {
  it.each([
    ['What the runtime lists.', 'opens with What, Who, Where, Those or Nobody'],
    ['Empty where absent, where unknown.', '"where" for "if" or "when"'],
    ['Removes the container that nobody uses.', '"who" or "whoever" for things'],
    ['The worker is told at once.', '"tell" or "told"'],
    ['Lists the pods anew.', '"anew", "meanwhile" or "aside"'],
    ['The pod is to be killed.', '"is to" with a verb'],
    ['A list of which the first counts.', '"of which", "of whom"'],
  ])('habitsOf finds the habit of "%s"', (sentence, habit) => {
    expect(names(sentence)).toContain(habit);
  });

  it.each(['Returns the pods of a node.', 'Does `kubectl tell` exist?', 'Starts the probe when the delay has passed.'])(
    'habitsOf finds no bad writing habit in "%s"',
    (sentence) => {
      expect(names(sentence)).toEqual([]);
    },
  );
});

describe('sampleOf', () => {
  it('sampleOf draws different elements, and the same elements for the same seed', () => {
    const list = Array.from({ length: 50 }, (_, index) => index);
    const drawn = sampleOf(list, 10, 7);
    expect(new Set(drawn).size).toBe(10);
    expect(sampleOf(list, 10, 7)).toEqual(drawn);
    expect(sampleOf(list, 10, 8)).not.toEqual(drawn);
    expect(sampleOf([1, 2], 5, 1)).toHaveLength(2);
  });
});

describe('countTable', () => {
  it('countTable counts the texts with a habit per package and for all', () => {
    const text = (file: string, text: string) => ({ kind: 'comment' as const, file, text, start: 0, end: 0, line: 1 });
    const table = countTable([text('packages/a/src/x.ts', 'What it is.'), text('packages/a/src/x.ts', 'Fine.')]);
    expect(table.split('\n')[1]).toMatch(/^a {2,}1 \/ 2 \(50\.0 %\)/);
    expect(table.split('\n')[2]).toMatch(/^all {2,}1 \/ 2 \(50\.0 %\)/);
  });

  it.each([
    ['packages/pleg/src/x.ts', 'pleg'],
    ['apps/kubelet/src/x.ts', 'kubelet'],
    ['docs/reference/a.md', 'docs'],
    ['README.md', '.'],
  ])('unitOf counts the file %s for the unit %s', (file, unit) => {
    expect(unitOf(file)).toBe(unit);
  });
});
