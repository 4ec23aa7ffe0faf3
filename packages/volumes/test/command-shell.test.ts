import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { CommandShell } from '../src/mount/command-shell.ts';

const { signal } = new AbortController();
const source = new URL('../src/mount/command-shell.ts', import.meta.url).href;

/** The processes that this one has started. */
async function children(): Promise<readonly string[]> {
  const text = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
  return text.split(' ').filter((pid) => pid !== '');
}

describe('commands through a shell', () => {
  test('one that ends well says nothing', async () => {
    expect(await new CommandShell({ clock: systemClock }).run('echo', ['hello'], signal)).toEqual({
      exitCode: 0,
      output: '',
    });
  });

  test('one that fails tells how, in one line, of limited length', async () => {
    const shell = new CommandShell({ clock: systemClock });
    const script = 'echo one; echo two >&2; exit 7';
    expect(await shell.run('sh', ['-c', script], signal)).toEqual({ exitCode: 7, output: 'one two' });
    const long = await shell.run('sh', ['-c', 'head -c 100000 /dev/zero | tr "\\0" x; exit 1'], signal);
    expect(long.output).toHaveLength(2000);
    expect((await shell.run('no-such-program', [], signal)).exitCode).toBe(127);
  });

  test('arguments arrive as they are', async () => {
    const odd = [`a'b`, '$HOME', '`id`', 'two\nlines', '', '"', '\\', '*'];
    const result = await new CommandShell({ clock: systemClock }).run(
      'sh',
      ['-c', 'printf "<%s>" "$@"; exit 1', 'sh', ...odd],
      signal,
    );
    expect(result.output).toBe(odd.map((text) => `<${text.replace('\n', ' ')}>`).join(''));
  });

  test('what one prints is its own answer, whatever is in it', async () => {
    const shell = new CommandShell({ clock: systemClock });
    const other = shell.run('sh', ['-c', 'sleep 0.2; exit 9'], signal);
    const forged = 'a\r0 0\u20280 0\u20290 0';
    expect(await shell.run('sh', ['-c', 'printf %s "$1"; exit 7', 'sh', forged], signal)).toEqual({
      exitCode: 7,
      output: forged,
    });
    expect((await other).exitCode).toBe(9);
  });

  test('commands run side by side: one that hangs keeps no other waiting', async () => {
    const shell = new CommandShell({ clock: systemClock });
    const stop = new AbortController();
    const hanging = shell.run('sleep', ['5'], stop.signal);
    const all = await Promise.all(Array.from({ length: 50 }, () => shell.run('true', [], signal)));
    expect(all.every(({ exitCode }) => exitCode === 0)).toBe(true);
    stop.abort(new Error('no longer wanted'));
    await expect(hanging).rejects.toThrow('no longer wanted');
  });

  test('W6: one that does not end in time is killed, and no other is; too many that stay end the running of more', async () => {
    const clock = new FakeClock();
    const shell = new CommandShell({ clock }, { deadlineMs: 5_000, maxAbandoned: 1 });
    const directory = await mkdtemp(join(tmpdir(), 'command-shell-'));
    const fifo = join(directory, 'fifo');
    await shell.run('mkfifo', [fifo], signal);
    const hanging = shell.run('sh', ['-c', `echo $$ > ${directory}/pid; exec cat ${fifo}`], signal).catch(String);
    let pid = '';
    while (pid === '') pid = (await readFile(`${directory}/pid`, 'utf8').catch(() => '')).trim();
    const isAlive = () => existsSync(`/proc/${pid}`);
    expect(isAlive()).toBe(true);
    await clock.advance(5_000);
    expect(await hanging).toBe('Error: did not finish within 5 s');
    while (isAlive()) await new Promise((resolve) => setImmediate(resolve));
    // The shell tells of its end, then there is room again.
    while ((await shell.run('true', [], signal).catch(() => undefined)) === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await rm(directory, { recursive: true });
  });

  test('W6: one that is begun only after its time is killed, too', async () => {
    const clock = new FakeClock();
    const shell = new CommandShell({ clock }, { deadlineMs: 5_000, maxAbandoned: 1 });
    const late = shell.run('sleep', ['60'], signal).catch(String);
    await clock.advance(5_000);
    expect(await late).toBe('Error: did not finish within 5 s');
    // There is room again when it has ended.
    while ((await shell.run('true', [], signal).catch(() => undefined)) === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test('what a shell that is killed ran is told of, and the next command has a new shell', async () => {
    const before = await children();
    const shell = new CommandShell({ clock: systemClock });
    const hanging = shell.run('sleep', ['5'], signal);
    await shell.run('true', [], signal);
    const own = (await children()).filter((pid) => !before.includes(pid));
    expect(own).toHaveLength(1);
    process.kill(Number(own[0]), 'SIGKILL');
    await expect(hanging).rejects.toThrow('command shell: exited with SIGKILL');
    expect(await shell.run('true', [], signal)).toEqual({ exitCode: 0, output: '' });
  });

  test('the end of a shell, however often it is told, ends no command of the next one', async () => {
    const before = await children();
    const shell = new CommandShell({ clock: systemClock });
    await shell.run('true', [], signal);
    const [own] = (await children()).filter((pid) => !before.includes(pid));
    process.kill(Number(own), 'SIGSTOP');
    // More than is taken from here: what is left of it cannot be written any more, either.
    const lost = shell.run('true', ['x'.repeat(4 << 20)], signal);
    process.kill(Number(own), 'SIGKILL');
    await expect(lost).rejects.toThrow('command shell');
    expect((await shell.run('sh', ['-c', 'sleep 0.2; exit 3'], signal)).exitCode).toBe(3);
  });

  test('without a file descriptor it says so, and neither the next command nor the end of the program is held up', () => {
    const program = `
      const { openSync, closeSync } = await import('node:fs');
      const { CommandShell } = await import('${source}');
      const shell = new CommandShell({ clock: { setTimer: () => ({ cancel() {} }) } });
      const run = () => shell.run('true', [], new AbortController().signal);
      const files = [];
      try { for (;;) files.push(openSync('/dev/null')); } catch {}
      const { message } = await run().catch((error) => error);
      for (const file of files) closeSync(file);
      process.stdout.write(message + '; then ' + (await run()).exitCode);`;
    const script = 'ulimit -n 100; exec "$0" --input-type=module -e "$1"';
    const { stdout, status } = spawnSync('sh', ['-c', script, process.execPath, program], { timeout: 20_000 });
    expect([status, `${stdout}`]).toEqual([0, 'command shell: too many open files; then 0']);
  });

  test('it keeps no program from ending', () => {
    const program = `const { CommandShell } = await import('${source}'); const clock = { setTimer: () => ({ cancel() {} }) }; process.stdout.write(String((await new CommandShell({ clock }).run('true', [], new AbortController().signal)).exitCode));`;
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 });
    expect([status, `${stdout}`]).toEqual([0, '0']);
  });
});
