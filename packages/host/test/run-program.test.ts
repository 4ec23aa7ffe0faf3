import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type ProgramRun, runProgram } from '../src/run-program.ts';

const sh = (script: string, more: Partial<ProgramRun> = {}): ProgramRun => ({
  ...{ command: 'sh', args: ['-c', script], environment: { PATH: process.env.PATH }, maxStdoutLength: 1000 },
  ...more,
});

test('runProgram returns the output and the exit code of a program', async () => {
  expect(await runProgram(sh('echo out; echo err >&2; exit 3'))).toEqual({
    exitCode: 3,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  expect(await runProgram(sh('kill -9 $$'))).toMatchObject({ exitCode: 128 });
  expect(await runProgram(sh('head -c 9000 /dev/zero | tr "\\0" y >&2'))).toMatchObject({ stderr: 'y'.repeat(8192) });
});

test('runProgram passes the given input to a program, which need not read it', async () => {
  expect(await runProgram(sh('cat', { stdin: 'given' }))).toMatchObject({ stdout: 'given' });
  expect(await runProgram(sh('cat'))).toMatchObject({ exitCode: 0, stdout: '' });
  expect(await runProgram(sh('exec true', { stdin: 'x'.repeat(1 << 20) }))).toMatchObject({ exitCode: 0 });
});

test('runProgram kills a program that prints too much or whose signal is aborted', async () => {
  await expect(runProgram(sh('exec yes'))).rejects.toThrow('the program printed more than 1000 characters');
  const abort = new AbortController();
  const running = runProgram(sh('exec sleep 1000'), abort.signal);
  setImmediate(() => abort.abort(new Error('enough')));
  await expect(running).rejects.toThrow('enough');
  await expect(runProgram(sh('exit 0'), abort.signal)).rejects.toThrow('enough');
});

test('runProgram does not wait for output of processes that a killed program has started', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'run-program-'));
  // The program exits when its output has no reader any more, which it records in a file, or on timeout.
  const printer = 'trap "" PIPE; while echo text; do :; done 2>/dev/null; : >"$0"';
  const started = (note: string): string => `timeout 20 sh -c '${printer}' ${note} & exec sleep 1000`;
  try {
    const tooMuch = join(directory, 'too-much');
    await expect(runProgram(sh(started(tooMuch)))).rejects.toThrow('the program printed more than 1000 characters');
    const calledOff = join(directory, 'called-off');
    const abort = new AbortController();
    const running = runProgram(sh(started(calledOff), { maxStdoutLength: 2 ** 29 }), abort.signal);
    setTimeout(() => abort.abort(new Error('enough')), 50);
    await expect(running).rejects.toThrow('enough');
    await vi.waitFor(() => expect([tooMuch, calledOff].map((note) => existsSync(note))).toEqual([true, true]), 3000);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('runProgram throws an error for a program that does not exist', async () => {
  await expect(runProgram(sh('', { command: '/none' }))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('runProgram throws an error, and the kubelet continues, if no file descriptor is left', () => {
  const source = new URL('../src/run-program.ts', import.meta.url).href;
  const program = `
    const { closeSync, openSync } = await import('node:fs');
    await import('node:child_process');
    const { runProgram } = await import('${source}');
    const files = [];
    try { for (;;) files.push(openSync('/dev/null')); } catch {}
    const run = { command: 'true', args: [], environment: {}, stdin: '', maxStdoutLength: 1000 };
    const { stdin, ...silent } = run;
    const errors = await Promise.all([run, silent].map((one) => runProgram(one).catch((error) => error)));
    await new Promise(setImmediate);
    for (const file of files) closeSync(file);
    process.stdout.write(errors.join('; '));`;
  const script = 'ulimit -n 100; exec "$0" --input-type=module -e "$1"';
  const { stdout, status } = spawnSync('sh', ['-c', script, process.execPath, program], { timeout: 20_000 });
  expect([status, `${stdout}`]).toEqual([0, 'Error: spawn true EMFILE; Error: spawn true EMFILE']);
});
