import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@node-agent/tools-ports';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ProxyServer } from '../src/proxy.ts';

let directory: string;
let socketPath: string;
let port: number;
let proxy: ProxyServer;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'csi-proxy-'));
  socketPath = join(directory, 'csi.sock');
  [port = 0] = await freePorts(1);
  proxy = new ProxyServer({ socketPath, host: '127.0.0.1', port });
  await proxy.start();
});
afterEach(async () => {
  proxy.stop();
  await rm(directory, { recursive: true });
});

const local = (): Socket => connect(socketPath);
const remote = (): Socket => connect(port, '127.0.0.1');
const received = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

test.each([
  ['socket', local, remote],
  ['TCP endpoint', remote, local],
])(
  'the %s connects its first client with the first client of the other side, in both directions',
  async (_, first, second) => {
    const one = first();
    one.write('ping');
    const other = second();
    expect(await received(other)).toBe('ping');
    other.write('pong');
    expect(await received(one)).toBe('pong');
    const closed = once(one, 'close');
    other.destroy();
    await closed;
  },
);

test('the proxy does not connect a client that has disconnected', async () => {
  const gone = local();
  await once(gone, 'connect');
  gone.destroy();
  await once(gone, 'close');
  await expect
    .poll(async () => {
      const [one, other] = [remote(), local()];
      one.write('ping');
      const text = await Promise.race([received(other), once(one, 'close').then(() => 'closed')]);
      one.destroy();
      other.destroy();
      return text;
    })
    .toBe('ping');
});
