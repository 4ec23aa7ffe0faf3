import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PageAddress } from '../src/page-address.ts';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'page-address-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('returns the address of the page when the kubelet has written it, and again when a restart has changed it', async () => {
  const page = new PageAddress(directory);
  const file = join(directory, 'dashboard-url');
  expect(await page.next()).toBeUndefined();
  await writeFile(file, 'http://127.0.0.1:1/a/\n');
  expect([await page.next(), await page.next()]).toEqual(['http://127.0.0.1:1/a/', undefined]);
  await writeFile(file, 'http://127.0.0.1:1/b/\n');
  expect([await page.next(), await page.next()]).toEqual(['http://127.0.0.1:1/b/', undefined]);
});
