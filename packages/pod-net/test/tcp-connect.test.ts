import { type AddressInfo, createServer } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { tcpConnect } from '../src/tcp-connect.ts';
import { LoopbackServer } from './fixtures.ts';

const clock = new FakeClock();

describe('tcpConnect', () => {
  test('tcpConnect opens and closes a connection in an orderly way, so that the server sees no error', async () => {
    const seen: string[] = [];
    const server = createServer((socket) => {
      socket.on('error', (error) => seen.push(error.message)).on('end', () => seen.push('end'));
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    for (let n = 0; n < 20; n++) {
      expect(await tcpConnect({ host: '127.0.0.1', port, timeoutMs: 1000 }, { clock })).toBeUndefined();
    }
    await expect.poll(() => seen).toEqual(Array(20).fill('end'));
    await expect
      .poll(() => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count))))
      .toBe(0);
    await new Promise((resolve) => server.close(resolve));
  });

  test('tcpConnect reports a refused connection if no server listens on the port', async () => {
    const server = await new LoopbackServer(() => {}).listening();
    const { port } = server;
    await server[Symbol.asyncDispose]();
    const words = await tcpConnect({ host: '127.0.0.1', port, timeoutMs: 1000 }, { clock });
    expect(words).toBe(`dial tcp 127.0.0.1:${port}: connect: connection refused`);
  });

  test('W6: tcpConnect reports an invalid host name as unknown, and can still look up other names', async () => {
    await using server = await new LoopbackServer(() => {}, false).listening();
    const to = (host: string) => tcpConnect({ host, port: server.port, timeoutMs: 1000 }, { clock });
    expect(await to('a\0b')).toBe('dial tcp: lookup a\0b: no such host');
    expect(await to('x'.repeat(5000))).toMatch(/^dial tcp: lookup x+: no such host$/);
    expect(await to('localhost')).toBeUndefined();
  });

  test('R3: tcpConnect stops at the time limit if the connection is not established', async () => {
    const server = createServer();
    // The fake timer expires before the event loop can report the connection.
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const words = tcpConnect(
      { host: '127.0.0.1', port, timeoutMs: 0 },
      { clock: { setTimer: instantTimer, monotonic: () => 0 } },
    );
    expect(await words).toBe(`dial tcp 127.0.0.1:${port}: i/o timeout`);
    await new Promise((resolve) => server.close(resolve));
  });
});

function instantTimer(_: number, callback: () => void): { cancel(): void } {
  queueMicrotask(callback);
  return { cancel() {} };
}
