import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DbusConnection } from '../src/connection.ts';
import type { DbusMessage } from '../src/message.ts';
import type { DbusSubscription } from '../src/subscription.ts';
import { Variant } from '../src/values.ts';

const BUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
const isThere = spawnSync('dbus-daemon', ['--version']).status === 0;

/** A private dbus-daemon, the reference implementation. */
describe.skipIf(!isThere)('against dbus-daemon', () => {
  let directory: string;
  let socket: string;
  let daemon: ReturnType<typeof spawn>;
  const open = async (signals: readonly DbusSubscription[] = []): Promise<DbusConnection> => {
    const components = { clock: systemClock, stream: connect(socket), signals };
    const connection = new DbusConnection(components, { userId: process.getuid?.() ?? 0 });
    await connection.open(true);
    return connection;
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dbus-'));
    socket = join(directory, 'bus');
    const policy = '<allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>';
    const configuration = `<busconfig><type>session</type><listen>unix:path=${socket}</listen><auth>EXTERNAL</auth><policy context="default">${policy}</policy></busconfig>`;
    await writeFile(join(directory, 'bus.conf'), configuration);
    daemon = spawn('dbus-daemon', [`--config-file=${join(directory, 'bus.conf')}`, '--nofork', '--print-address=1'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => daemon.stdout?.once('data', resolve));
  });
  afterAll(async () => {
    daemon.kill('SIGKILL');
    await rm(directory, { recursive: true });
  });

  test('the D-Bus client gets a name and a reply from dbus-daemon', async () => {
    const connection = await open();
    const { body, sender } = await connection.call({
      ...BUS,
      member: 'GetConnectionUnixUser',
      signature: 's',
      body: ['org.freedesktop.DBus'],
    });
    expect(body).toEqual([process.getuid?.()]);
    expect(sender).toBe('org.freedesktop.DBus');
    connection.close();
  });

  test('decodes dictionaries and variants that dbus-daemon sends', async () => {
    const connection = await open();
    const { body } = await connection.call({
      ...BUS,
      member: 'GetConnectionCredentials',
      signature: 's',
      body: ['org.freedesktop.DBus'],
    });
    const credentials = new Map(body[0] as [string, Variant][]);
    expect(credentials.get('ProcessID')).toEqual(new Variant('u', daemon.pid ?? 0));
    connection.close();
  });

  test("reports a call that dbus-daemon rejects with the error's name", async () => {
    const connection = await open();
    const call = connection.call({ ...BUS, member: 'GetNameOwner', signature: 's', body: ['no.such.Name'] });
    await expect(call).rejects.toMatchObject({ remoteName: 'org.freedesktop.DBus.Error.NameHasNoOwner' });
    connection.close();
  });

  test('receives subscribed signals from dbus-daemon', async () => {
    const heard: DbusMessage[] = [];
    const arrived = Promise.withResolvers<void>();
    const onSignal = (signal: DbusMessage): void => {
      heard.push(signal);
      arrived.resolve();
    };
    const { destination: sender, path, interface: face } = BUS;
    const listening = await open([{ sender, path, interface: face, member: 'NameOwnerChanged', onSignal }]);
    const match = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='a.b.C'";
    await listening.call({ ...BUS, member: 'AddMatch', signature: 's', body: [match] });
    const other = await open();
    await other.call({ ...BUS, member: 'RequestName', signature: 'su', body: ['a.b.C', 0] });
    await arrived.promise;
    expect(heard.at(-1)?.body[0]).toBe('a.b.C');
    listening.close();
    other.close();
  });
});
