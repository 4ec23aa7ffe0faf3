import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const CASES = 600;

it('grpc-js and lean report the same outcomes for calls to hostile servers', { timeout: 120_000 }, async () => {
  // The cases run in child processes: Node.js's HTTP/2 client, under grpc-js, aborts its process on some of the
  // scripts.
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
