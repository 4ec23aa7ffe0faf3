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

/** Returns the process IDs of this process's children. */
async function children(): Promise<readonly string[]> {
  const text = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
  return text.split(' ').filter((pid) => pid !== '');
}

describe('CommandShell, which runs commands through a helper shell', () => {
  test('CommandShell returns no error if the command succeeds', async () => {
    expect(await new CommandShell({ clock: systemClock }).run('echo', ['hello'], signal)).toEqual({
      exitCode: 0,
      output: '',
    });
  });

  test('the error of a failed command has its exit status and its output in one line of limited length', async () => {
    const shell = new CommandShell({ clock: systemClock });
    const script = 'echo one; echo two >&2; exit 7';
    expect(await shell.run('sh', ['-c', script], signal)).toEqual({ exitCode: 7, output: 'one two' });
    const long = await shell.run('sh', ['-c', 'head -c 100000 /dev/zero | tr "\\0" x; exit 1'], signal);
    expect(long.output).toHaveLength(3900);
    expect((await shell.run('no-such-program', [], signal)).exitCode).toBe(127);
  });

  test('CommandShell passes arguments with special characters unchanged to the command', async () => {
    const odd = [`a'b`, '$HOME', '`id`', 'two\nlines', '', '"', '\\', '*'];
    const result = await new CommandShell({ clock: systemClock }).run(
      'sh',
      ['-c', 'printf "<%s>" "$@"; exit 1', 'sh', ...odd],
      signal,
    );
    expect(result.output).toBe(odd.map((text) => `<${text.replace('\n', ' ')}>`).join(''));
  });

  test("CommandShell returns each command's output to that command's caller, whatever bytes the output contains", async () => {
    const shell = new CommandShell({ clock: systemClock });
    const other = shell.run('sh', ['-c', 'sleep 0.2; exit 9'], signal);
    const forged = 'a\r0 0\u20280 0\u20290 0';
    expect(await shell.run('sh', ['-c', 'printf %s "$1"; exit 7', 'sh', forged], signal)).toEqual({
      exitCode: 7,
      output: forged,
    });
    expect((await other).exitCode).toBe(9);
  });

  test('a command inherits no file descriptor but its three streams', async () => {
    const shell = new CommandShell({ clock: systemClock });
    const script = 'for fd in 3 4; do if [ -e /proc/$$/fd/$fd ]; then echo "$fd"; fi; done';
    expect(await shell.run('sh', ['-c', script], signal, { alwaysTells: true })).toEqual({ exitCode: 0, output: '' });
  });

  test('an argument with a null character is refused', async () => {
    const run = new CommandShell({ clock: systemClock }).run('echo', ['a\0b'], signal);
    await expect(run).rejects.toThrow('an argument of echo contains a null character');
  });

  test('output up to the requested limit is returned whole; a command with more, even endless, output is killed', async () => {
    const shell = new CommandShell({ clock: systemClock });
    const options = { alwaysTells: true, maxOutputBytes: 20_000 };
    const whole = await shell.run('sh', ['-c', 'yes é | tr -d "\\n" | head -c 20000'], signal, options);
    expect(whole).toEqual({ exitCode: 0, output: 'é'.repeat(10_000) });
    await expect(shell.run('yes', [], signal, options)).rejects.toThrow('output is larger than 20000 bytes');
  });

  test('a hanging command delays no other command, because commands run in parallel', async () => {
    const shell = new CommandShell({ clock: systemClock });
    const stop = new AbortController();
    const hanging = shell.run('sleep', ['5'], stop.signal);
    const all = await Promise.all(Array.from({ length: 50 }, () => shell.run('true', [], signal)));
    expect(all.every(({ exitCode }) => exitCode === 0)).toBe(true);
    stop.abort(new Error('no longer wanted'));
    await expect(hanging).rejects.toThrow('no longer wanted');
  });

  test('W6: a command that exceeds its deadline is killed alone; if too many commands survive their kill, new commands fail', async () => {
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
    // The shell reports the exit of the command, and a slot is free again.
    while ((await shell.run('true', [], signal).catch(() => undefined)) === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await rm(directory, { recursive: true });
  });

  test('W6: while a killed command hangs, no other command of the same subject runs, but others do', async () => {
    const clock = new FakeClock();
    const shell = new CommandShell({ clock }, { deadlineMs: 5_000 });
    const hanging = shell.run('sleep', ['5'], signal, { subject: '/mnt/a' }).catch(String);
    await clock.advance(5_000);
    // This call fails before the shell can report that the killed command has exited.
    const again = shell.run('true', [], signal, { subject: '/mnt/a' }).catch(String);
    const other = shell.run('true', [], signal, { subject: '/mnt/b' });
    expect(await again).toBe('Error: an earlier command for /mnt/a hangs and cannot be killed');
    expect([await hanging, (await other).exitCode]).toEqual(['Error: did not finish within 5 s', 0]);
    while ((await shell.run('true', [], signal, { subject: '/mnt/a' }).catch(() => undefined)) === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test('W6: a command that starts only after its deadline is killed, too', async () => {
    const clock = new FakeClock();
    const shell = new CommandShell({ clock }, { deadlineMs: 5_000, maxAbandoned: 1 });
    const late = shell.run('sleep', ['60'], signal).catch(String);
    await clock.advance(5_000);
    expect(await late).toBe('Error: did not finish within 5 s');
    // A slot is free again after the command has exited.
    while ((await shell.run('true', [], signal).catch(() => undefined)) === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test('if the helper shell is killed, its running commands fail and the next command gets a new shell', async () => {
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

  test('the exit of an old helper shell, even if reported twice, ends no command of the new shell', async () => {
    const before = await children();
    const shell = new CommandShell({ clock: systemClock });
    await shell.run('true', [], signal);
    const [own] = (await children()).filter((pid) => !before.includes(pid));
    process.kill(Number(own), 'SIGSTOP');
    // The command is longer than the pipe's buffer, so its rest can no longer be written when the shell is killed.
    const lost = shell.run('true', ['x'.repeat(4 << 20)], signal);
    process.kill(Number(own), 'SIGKILL');
    await expect(lost).rejects.toThrow('command shell');
    expect((await shell.run('sh', ['-c', 'sleep 0.2; exit 3'], signal)).exitCode).toBe(3);
  });

  test('if the process has no free file descriptor, a command fails with that reason and delays no later command', () => {
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

  test('an idle helper shell does not keep the program running', () => {
    const program = `const { CommandShell } = await import('${source}'); const clock = { setTimer: () => ({ cancel() {} }) }; process.stdout.write(String((await new CommandShell({ clock }).run('true', [], new AbortController().signal)).exitCode));`;
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 });
    expect([status, `${stdout}`]).toEqual([0, '0']);
  });
});
