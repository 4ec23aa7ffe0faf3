import { FakeClock } from '@node-agent/async/testing';
import { type DbusMessage, type DbusValue, Variant } from '@node-agent/dbus';
import { type Answer, FakePeer } from '@node-agent/dbus/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { DbusLogind, type LogindSession } from '../src/index.ts';

const PATH = '/org/freedesktop/login1';
const MANAGER = 'org.freedesktop.login1.Manager';

async function all(said: AsyncIterable<boolean>): Promise<readonly boolean[]> {
  const heard: boolean[] = [];
  for await (const one of said) heard.push(one);
  return heard;
}

describe('logind over D-Bus', () => {
  let clock: FakeClock;
  let peer: FakePeer;
  let log: ReturnType<typeof captureLogger>;
  let paths: string[];
  /** Replies of the fake bus, by method name. */
  let answers: Map<string, Answer>;
  const { signal } = new AbortController();

  beforeEach(() => {
    clock = new FakeClock();
    log = captureLogger();
    paths = [];
    answers = new Map<string, Answer>([['Hello', { signature: 's', body: [':1.99'] }]]);
    peer = new FakePeer((call) => answers.get(call.member ?? '') ?? { signature: '', body: [] });
  });
  const connect = async (): Promise<LogindSession> => {
    const logind = new DbusLogind(
      {
        connect(path) {
          paths.push(path);
          return peer;
        },
        clock,
        logger: log.logger,
      },
      { userId: 0 },
    );
    return await logind.connect(signal);
  };
  const shows = (
    body: readonly DbusValue[],
    signature = 'b',
    member = 'PrepareForShutdown',
    path = PATH,
    face = MANAGER,
  ) => peer.signal(path, face, member, signature, body);
  const calls = (): readonly Partial<DbusMessage>[] =>
    peer.calls.map(({ destination, path, interface: face, member, body }) => ({
      destination,
      path,
      interface: face,
      member,
      body,
    }));

  test("subscribes to upstream's signals on the system bus", async () => {
    await connect();
    expect(paths).toEqual(['/run/dbus/system_bus_socket']);
    expect(calls().at(-1)).toMatchObject({
      destination: 'org.freedesktop.DBus',
      member: 'AddMatch',
      body: [`type='signal',path='${PATH}',interface='${MANAGER}',member='PrepareForShutdown'`],
    });
  });

  test('reports shutdown signals; of the signals before the first listener only the last is delivered', async () => {
    const session = await connect();
    shows([true]);
    shows([false]);
    shows([true]);
    const heard = session.shutdowns[Symbol.asyncIterator]();
    expect((await heard.next()).value).toBe(true);
    shows([false]);
    expect((await heard.next()).value).toBe(false);
    session.close();
    expect((await heard.next()).done).toBe(true);
  });

  test('ignores all other D-Bus messages', async () => {
    const session = await connect();
    shows([true], 'b', 'PrepareForSleep');
    shows([true], 'b', 'PrepareForShutdown', '/org/freedesktop/login1/seat');
    shows([true], 'b', 'PrepareForShutdown', PATH, 'org.example.Manager');
    shows([], '');
    shows(['yes'], 's');
    session.close();
    expect(await all(session.shutdowns)).toEqual([]);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'Failed obtaining shutdown event, PrepareForShutdown event was empty',
      'Failed obtaining shutdown event, PrepareForShutdown event was not bool type as expected',
    ]);
  });

  test('the watch ends when the bus connection closes', async () => {
    const session = await connect();
    peer.end();
    expect(await all(session.shutdowns)).toEqual([]);
    await expect(session.inhibitDelayMs(signal)).rejects.toMatchObject({ code: 'Logind' });
  });

  test("reads logind's properties", async () => {
    const session = await connect();
    answers.set('Get', { signature: 'v', body: [new Variant('t', 5_000_000n)] });
    expect(await session.inhibitDelayMs(signal)).toBe(5_000);
    expect(calls().at(-1)).toEqual({
      destination: 'org.freedesktop.login1',
      path: PATH,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      body: [MANAGER, 'InhibitDelayMaxUSec'],
    });
    answers.set('Get', { signature: 'v', body: [new Variant('b', true)] });
    expect(await session.isPreparingForShutdown(signal)).toBe(true);
    expect(calls().at(-1)?.body).toEqual([MANAGER, 'PreparingForShutdown']);
  });

  test("requests a reload of logind's configuration by sending SIGHUP to logind's unit through systemd", async () => {
    const session = await connect();
    await session.reloadConfiguration(signal);
    expect(calls().at(-1)).toEqual({
      destination: 'org.freedesktop.systemd1',
      path: '/org/freedesktop/systemd1',
      interface: 'org.freedesktop.systemd1.Manager',
      member: 'KillUnit',
      body: ['systemd-logind.service', 'all', 1],
    });
  });

  test("refused and malformed replies are reported in upstream's words", async () => {
    const session = await connect();
    answers.set('Get', { signature: 'v', body: [new Variant('s', 'long')] });
    await expect(session.inhibitDelayMs(signal)).rejects.toThrow(
      'InhibitDelayMaxUSec from logind is not a uint64 as expected',
    );
    await expect(session.isPreparingForShutdown(signal)).rejects.toThrow('is not a boolean as expected');
    const error = 'org.freedesktop.DBus.Error.ServiceUnknown';
    answers.set('Get', { error, text: 'no logind here' });
    await expect(session.inhibitDelayMs(signal)).rejects.toMatchObject({
      code: 'Logind',
      message: 'failed reading InhibitDelayMaxUSec property from logind: no logind here',
    });
    answers.set('KillUnit', { error, text: 'no systemd here' });
    await expect(session.reloadConfiguration(signal)).rejects.toThrow('unable to reload logind conf: no systemd here');
  });

  test('a bus that is missing or does not complete its handshake is an error', async () => {
    const missing = connect();
    peer.end(new Error('connect ENOENT'));
    await expect(missing).rejects.toMatchObject({
      code: 'Logind',
      message: expect.stringMatching(/^cannot use the system bus \/run\/dbus\/system_bus_socket: .*ENOENT/),
    });
    peer = new FakePeer(() => 'nothing');
    const silent = connect();
    silent.catch(() => undefined);
    await clock.advance(25_000);
    await expect(silent).rejects.toMatchObject({ code: 'Logind' });
    expect(peer.destroyed).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});
