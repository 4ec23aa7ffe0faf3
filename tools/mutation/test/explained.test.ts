import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Explained } from '../src/score.ts';

const root = join(import.meta.dirname, '../../..');

test('every explanation has a reason and an existing line', () => {
  const explained = JSON.parse(readFileSync(join(root, 'tools/mutation/explained.json'), 'utf8')) as Explained[];
  const faults = explained.filter(({ file, lineText, why }) => why === '' || !linesOf(file).has(lineText));
  expect(faults).toEqual([]);
});

const known = new Map<string, ReadonlySet<string>>();

function linesOf(file: string): ReadonlySet<string> {
  const path = join(root, file);
  const text = known.has(file) || !existsSync(path) ? '' : readFileSync(path, 'utf8');
  const lines = known.get(file) ?? new Set(text.split('\n').map((line) => line.trim()));
  known.set(file, lines);
  return lines;
}
