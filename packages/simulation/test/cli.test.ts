import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
const run = promisify(execFile);

async function simulated(...args: string[]): Promise<{ readonly stdout: string; readonly code: unknown }> {
  const node = ['--conditions=@node-agent/source', cli, ...args];
  return run(process.execPath, node).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    ({ stdout, code }: { stdout: string; code: unknown }) => ({ stdout, code }),
  );
}

test('several workers give the same report as one worker', async () => {
  const seeds = ['--from', '1', '--seeds', '6', '--events', '3'];
  const one = await simulated(...seeds, '--workers', '1');
  const more = await simulated(...seeds, '--workers', '3');
  expect(one.code).toBe(0);
  expect(one.stdout).toMatch(/^seeds run: 6, of which 0 broke an invariant/);
  expect(more).toEqual(one);
}, 120_000);

test('the command exits without an error when the reader closes stdout', async () => {
  const args = ['--conditions=@node-agent/source', cli, '--seeds', '500', '--verbose'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
  const errors: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  child.stdout.once('data', () => child.stdout.destroy());
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(Buffer.concat(errors).toString()).toBe('');
}, 60_000);

test('an invalid option prints the usage and gives exit code 2', async () => {
  expect(await simulated('--workers', 'x')).toEqual({ stdout: '', code: 2 });
});
