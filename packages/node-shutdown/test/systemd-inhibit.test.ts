import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SystemdInhibit } from '../src/index.ts';

/** The tests run a replacement of systemd-inhibit that writes its arguments and its process ID to files. */
describe('an inhibitor lock held by a child process', () => {
  const never = new AbortController().signal;
  let directory: string;
  let command: string;
  const program = async (...lines: readonly string[]): Promise<void> => {
    const script = ['#!/bin/sh', `printf '%s\\n' "$@" > '${directory}/args'`, `echo $$ > '${directory}/pid'`, ...lines];
    await writeFile(command, `${script.join('\n')}\n`);
    await chmod(command, 0o755);
  };
  const pid = async (): Promise<number> => Number(await readFile(join(directory, 'pid'), 'utf8'));
  /** Reports whether a process runs. A zombie, whose parent has not waited for it, does not count as running. */
  const runs = (id: number): boolean =>
    existsSync(`/proc/${id}`) && !/^State:\s+Z/m.test(spawnSync('cat', [`/proc/${id}/status`]).stdout.toString());

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'inhibit-'));
    command = join(directory, 'systemd-inhibit');
  });
  afterEach(async () => await rm(directory, { recursive: true }));

  test("runs systemd-inhibit with upstream's arguments, and holds the lock while the child runs", async () => {
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

  test('uses the name and the reason of a custom agent', async () => {
    await program('exec cat');
    const inhibitor = new SystemdInhibit({}, { command, who: 'batch-agent', why: 'Jobs of this machine end' });
    await (await inhibitor.acquire(never)).release();
    const args = (await readFile(join(directory, 'args'), 'utf8')).trim().split('\n');
    expect(args.slice(1, 3)).toEqual(['--who=batch-agent', '--why=Jobs of this machine end']);
  });

  test('reports that the child of the lock has exited', async () => {
    await program('exec cat');
    const lock = await new SystemdInhibit({}, { command }).acquire(never);
    process.kill(await pid(), 'SIGKILL');
    await lock.ended;
  });

  test('a lock is held only after the child reports it, and the wait for that has a deadline', async () => {
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

  test('other output of the child does not count as a lock', async () => {
    await program('echo "a notice"', 'echo "Failed to inhibit: Access denied" >&2', 'exit 1');
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toThrow('Access denied');
    await program('echo "a notice"', 'while [ "$1" != cat ]; do shift; done', '"$@"');
    const lock = await new SystemdInhibit({}, { command }).acquire(never);
    await lock.release();
  });

  test('a lock ends if its child exits right after taking it, and is not granted if the child prints without end', async () => {
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

  test("a refused lock is reported with the refusing program's own message", async () => {
    await program('echo "Failed to inhibit: Access denied" >&2', 'exit 1');
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toMatchObject({
      code: 'Inhibit',
      message: 'failed creating systemd inhibitor: Failed to inhibit: Access denied',
    });
    await program('exit 3');
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toThrow('systemd-inhibit exited with 3');
  });

  test('without systemd no lock can be taken', async () => {
    await expect(new SystemdInhibit({}, { command }).acquire(never)).rejects.toThrow(
      /^failed creating systemd inhibitor: .*ENOENT/,
    );
  });

  test('an abort while the lock is requested leaves no child', async () => {
    await program('exec sleep 60');
    const ending = new AbortController();
    const acquired = new SystemdInhibit({}, { command }).acquire(ending.signal);
    while (!existsSync(join(directory, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 5));
    ending.abort(new Error('stopped'));
    await expect(acquired).rejects.toThrow('stopped');
    const id = await pid();
    while (runs(id)) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test('N9: no lock outlives a killed kubelet process', async () => {
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
