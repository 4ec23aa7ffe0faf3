import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claim, takeReports } from '../src/claim.ts';

test('a path is kept by one alone, until that gives it back', async () => {
  const path = `/no/such/${process.pid}`;
  const giveBack = await claim(path);
  expect(giveBack).toBeDefined();
  expect(await claim(path)).toBeUndefined();
  const other = await claim(`${path}0`);
  expect(other).toBeDefined();
  await other?.();
  await giveBack?.();
  const again = await claim(path);
  expect(again).toBeDefined();
  await again?.();
});

test('a command has its reports to itself, and begins with no page of an earlier one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'na-reports-'));
  try {
    for (const name of ['report.md', 'other']) await writeFile(join(directory, name), '2 passed');
    await takeReports(directory);
    expect(await readdir(directory)).toEqual(['other']);
    await expect(takeReports(directory)).rejects.toThrow('another run writes to');
  } finally {
    await rm(directory, { recursive: true });
  }
});
