import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claim, takeReports } from '../src/claim.ts';
import { forLeftRuns, makeRunDirectory } from '../src/isolation.ts';

test('a path can be claimed once, and again after its release', async () => {
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

test('takeReports reserves the directory and deletes the report of an earlier command', async () => {
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

test('forLeftRuns visits only run directories that no process has reserved', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'na-runs-'));
  const left = async (): Promise<readonly string[]> => {
    const names: string[] = [];
    await forLeftRuns(parent, async (name) => void names.push(name));
    return names;
  };
  try {
    for (const name of ['na-conf-left', 'other']) await mkdir(join(parent, name));
    const { name, giveBack } = await makeRunDirectory(parent);
    expect(await readdir(parent)).toContain(name);
    expect(await left()).toEqual(['na-conf-left']);
    await giveBack();
    expect(new Set(await left())).toEqual(new Set(['na-conf-left', name]));
  } finally {
    await rm(parent, { recursive: true });
  }
});
