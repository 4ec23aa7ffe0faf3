import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('with the V8 flags of main.ts, the young generation stays below 33 MiB and the old generation may take 16 GiB', async () => {
  const main = await readFile(new URL('../src/main.ts', import.meta.url), 'utf8');
  const [, , , ...flags] = main.split('\n', 1).join().split(' ');
  const program = fileURLToPath(new URL('heap-program.ts', import.meta.url));
  const args = [...flags, '--disable-warning=ExperimentalWarning', program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  const [youngMib = 0, limitMib = 0] = JSON.parse(stdout);
  // 33 MiB is a little more than both halves of the young generation. Standard error is empty unless V8 does not know a
  // flag.
  expect([youngMib <= 33, limitMib >= 16_384, stderr]).toEqual([true, true, '']);
});
