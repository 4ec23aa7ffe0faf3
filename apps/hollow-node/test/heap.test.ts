import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test("with the flags of the program's first line, V8's young generation stays small and the old one may take 16 GiB", async () => {
  const main = await readFile(new URL('../src/main.ts', import.meta.url), 'utf8');
  const [, , , ...flags] = main.split('\n', 1).join().split(' ');
  const program = fileURLToPath(new URL('heap-program.ts', import.meta.url));
  const args = [...flags, '--disable-warning=ExperimentalWarning', program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  const [youngMib = 0, limitMib = 0] = JSON.parse(stdout);
  // The limit is the size of both halves of the young generation. V8 prints unknown flags to standard error.
  expect([youngMib <= 33, limitMib >= 16_384, stderr]).toEqual([true, true, '']);
});
