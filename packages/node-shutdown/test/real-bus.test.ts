import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DbusLogind } from '../src/index.ts';

const isThere = ['dbus-daemon', 'dbus-send'].every((command) => spawnSync(command, ['--version']).error === undefined);

/** The tests use a private bus on which the test process acts as logind, as upstream's tests do. */
describe.skipIf(!isThere)('node shutdown over the reference D-Bus implementation', () => {
  const { signal } = new AbortController();
  let directory: string;
  let busPath: string;
  let daemon: ChildProcess;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'logind-'));
    busPath = join(directory, 'bus');
    const policy = '<allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>';
    const configuration = `<busconfig><type>session</type><listen>unix:path=${busPath}</listen><auth>EXTERNAL</auth><policy context="default">${policy}</policy></busconfig>`;
    await writeFile(join(directory, 'bus.conf'), configuration);
    const args = [`--config-file=${join(directory, 'bus.conf')}`, '--nofork', '--print-address=1'];
    daemon = spawn('dbus-daemon', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(daemon.stdout ?? daemon, 'data');
  });
  afterAll(async () => {
    daemon.kill('SIGKILL');
    await rm(directory, { recursive: true });
  });
  const emit = async (isShuttingDown: boolean): Promise<void> => {
    const what = ['/org/freedesktop/login1', 'org.freedesktop.login1.Manager.PrepareForShutdown'];
    const args = [`--bus=unix:path=${busPath}`, '--type=signal', ...what, `boolean:${isShuttingDown}`];
    expect(await once(spawn('dbus-send', args, { stdio: 'inherit' }), 'close')).toEqual([0, null]);
  };

  test('receives shutdown signals, and reports a missing logind', async () => {
    const logind = new DbusLogind({ connect: (path) => connect(path) }, { userId: process.getuid?.() ?? 0, busPath });
    const session = await logind.connect(signal);
    const heard = session.shutdowns[Symbol.asyncIterator]();
    await emit(true);
    expect((await heard.next()).value).toBe(true);
    await emit(false);
    expect((await heard.next()).value).toBe(false);
    await expect(session.inhibitDelayMs(signal)).rejects.toThrow(
      /^failed reading InhibitDelayMaxUSec property from logind: .*org\.freedesktop\.login1/,
    );
    daemon.kill('SIGKILL');
    expect((await heard.next()).done).toBe(true);
  });
});
