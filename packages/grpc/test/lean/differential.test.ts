import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const CASES = 600;

it('hostile servers get the same outcomes from both transports', { timeout: 120_000 }, async () => {
  // In processes of its own: Node.js's HTTP/2 client, under grpc-js, aborts the process on some of the scripts.
  const main = join(import.meta.dirname, 'differential-main.ts');
  const child = spawn(process.execPath, ['--conditions=@node-agent/source', main, '1', String(CASES)]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => {
      output += text;
    });
  }
  await new Promise((resolve) => child.on('close', resolve));
  const lines = output.trim().split('\n');
  const report = JSON.parse(lines.at(-1) ?? '{}') as Record<string, number>;
  expect(report, output).toMatchObject({ cases: CASES, differences: 0 });
  expect(report.ok).toBeGreaterThan(CASES / 5);
});
