import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SystemdInhibit } from '../src/index.ts';

/** A program in place of systemd-inhibit: it says what it was called with, and which process it is. */
describe('a lock by a child process', () => {
  const never = new AbortController().signal;
  let directory: string;
  let command: string;
  const program = async (...lines: readonly string[]): Promise<void> => {
    const script = ['#!/bin/sh', `printf '%s\\n' "$@" > '${directory}/args'`, `echo $$ > '${directory}/pid'`, ...lines];
    await writeFile(command, `${script.join('\n')}\n`);
    await chmod(command, 0o755);
  };
  const pid = async (): Promise<number> => Number(await readFile(join(directory, 'pid'), 'utf8'));
  /** A process whose parent has not asked for its end yet is no process that runs. */
  const runs = (id: number): boolean =>
    existsSync(`/proc/${id}`) && !/^State:\s+Z/m.test(spawnSync('cat', [`/proc/${id}/status`]).stdout.toString());

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'inhibit-'));
    command = join(directory, 'systemd-inhibit');
  });
  afterEach(async () => await rm(directory, { recursive: true }));

  test("asks in upstream's words, and is held while the child runs", async () => {
    await program('while [ "$1" != cat ]; do shift; done', '"$@"');
    const lock = await new SystemdInhibit({}, { command }).acquire(never);
    expect((await readFile(join(directory, 'args'), 'utf8')).trim().split('\n')).toEqual([
      '--what=shutdown',
      '--who=kubelet',
      '--why=Kubelet needs time to handle node shutdown',
      '--mode=delay',
      'cat',
    ]);
    const id = await pid();
    expect(runs(id)).toBe(true);
    await lock.release();
    expect(runs(id)).toBe(false);
    await lock.ended;
    await lock.release();
  });

  test('has the name and the reason of another agent', async () => {
    await program('exec cat');
    const inhibitor = new SystemdInhibit({}, { command, who: 'batch-agent', why: 'Jobs of this machine end' });
    await (await inhibitor.acquire(never)).release();
    const args = (await readFile(join(directory, 'args'), 'utf8')).trim().split('\n');
    expect(args.slice(1, 3)).toEqual(['--who=batch-agent', '--why=Jobs of this machine end']);
  });

  test('that its child has ended is told', async () => {
    await program('exec cat');
    const lock = await new SystemdInhibit({}, { command }).acquire(never);
    process.kill(await pid(), 'SIGKILL');
    await lock.ended;
  });

  test('is not there before the child says so, and not for ever', async () => {
    await program('exec sleep 60');
    const clock = new FakeClock();
    const acquired = new SystemdInhibit({ clock }, { command }).acquire(never);
    acquired.catch(() => undefined);
    while (!existsSync(join(directory, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(25_000);
    await expect(acquired).rejects.toMatchObject({ code: 'Inhibit' });
    const id = await pid();
    while (runs(id)) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test('what it says besides is no lock', async () => {
    await program('echo "a notice"', 'echo "Failed to inhibit: Access denied" >&2', 'exit 1');
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toThrow('Access denied');
    await program('echo "a notice"', 'while [ "$1" != cat ]; do shift; done', '"$@"');
    const lock = await new SystemdInhibit({}, { command }).acquire(never);
    await lock.release();
  });

  test('a child that is gone as soon as it holds one, and one that never stops talking, end', async () => {
    await program('head -n 1', 'exit 0');
    const gone = await new SystemdInhibit({}, { command }).acquire(never).catch((err: unknown) => err);
    if (!(gone instanceof Error)) await (gone as { ended: Promise<void> }).ended;
    const clock = new FakeClock();
    await program('exec yes >&2');
    const acquired = new SystemdInhibit({ clock }, { command }).acquire(never);
    acquired.catch(() => undefined);
    while (!existsSync(join(directory, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await clock.advance(25_000);
    await expect(acquired).rejects.toMatchObject({ code: 'Inhibit' });
    const id = await pid();
    while (runs(id)) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test('a refusal is told in the words of whoever refused', async () => {
    await program('echo "Failed to inhibit: Access denied" >&2', 'exit 1');
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toMatchObject({
      code: 'Inhibit',
      message: 'failed creating systemd inhibitor: Failed to inhibit: Access denied',
    });
    await program('exit 3');
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toThrow('systemd-inhibit exited with 3');
  });

  test('a machine without systemd has no lock', async () => {
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toThrow(
      /^failed creating systemd inhibitor: .*ENOENT/,
    );
  });

  test('whoever is aborted meanwhile leaves no child', async () => {
    await program('exec sleep 60');
    const ending = new AbortController();
    const acquired = new SystemdInhibit({}, { command }).acquire(ending.signal);
    while (!existsSync(join(directory, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 5));
    ending.abort(new Error('stopped'));
    await expect(acquired).rejects.toThrow('stopped');
    const id = await pid();
    while (runs(id)) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test('N9: no lock outlives a process that was killed', async () => {
    await program('while [ "$1" != cat ]; do shift; done', 'exec "$@"');
    const source = new URL('../src/systemd-inhibit.ts', import.meta.url).href;
    const code = `const { SystemdInhibit } = await import('${source}');
      await new SystemdInhibit({}, { command: '${command}' }).acquire(new AbortController().signal);
      console.log('held'); setInterval(() => undefined, 1000);`;
    const args = ['--conditions=@node-agent/source', '--input-type=module', '--eval', code];
    const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    const id = await pid();
    expect(runs(id)).toBe(true);
    holder.kill('SIGKILL');
    while (runs(id)) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});
