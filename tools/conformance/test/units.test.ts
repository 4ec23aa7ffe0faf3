import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../src/units/main.ts', import.meta.url));

test('the substitute for systemd starts, lists, restarts and stops a unit, and keeps the output of the unit', {
  timeout: 120_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'na-units-'));
  const call = async (as: string, ...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [MAIN, directory, as, ...args])).stdout;
  const pid = async (): Promise<number> =>
    JSON.parse(await readFile(join(directory, 'kubelet-1.service.json'), 'utf8')).pid;
  const log = join(directory, 'log');
  try {
    const script = ['sh', '-c', 'echo began; exec sleep 1000'];
    await call('run', '-p', `StandardError=append:${log}`, '--unit=kubelet-1.service', ...script);
    expect(await call('control', 'list-units', '*kubelet*', '--state=running')).toMatch(/^kubelet-1\.service /);
    const first = await pid();
    await call('control', 'restart', 'kubelet-1');
    // The process that adopts orphans may not have reaped it yet.
    expect(await readFile(`/proc/${first}/status`, 'utf8').catch(() => 'State:\tZ')).toMatch(/^State:\s+[ZX]/m);
    expect(await pid()).not.toBe(first);
    await call('control', 'reset-failed', 'kubelet-1');
    await call('control', 'stop', 'kubelet-1.service');
    expect(await call('control', 'list-units', '*kubelet*', '--state=running')).toBe('');
    expect(await call('control', 'list-units', '*kubelet*')).toContain('exited');
    expect(await readFile(log, 'utf8')).toBe('began\nbegan\n');
    await expect(call('control', 'stop', 'other')).rejects.toThrow('no unit other');
    await expect(call('control', 'explode', 'kubelet-1')).rejects.toThrow('unsupported verb explode');
    expect(await call('run', '--version')).toMatch(/^systemd \d+/);
  } finally {
    await call('control', 'kill', '--signal=SIGKILL', 'kubelet-1').catch(() => {});
    await rm(directory, { recursive: true });
  }
});
