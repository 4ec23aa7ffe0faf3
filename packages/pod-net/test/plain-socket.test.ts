import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { httpGet } from '../src/http-get.ts';
import { PlainSocket } from '../src/plain-socket.ts';
import { connectionsOf, LoopbackServer } from './fixtures.ts';

const clock = { monotonic: () => performance.now(), setTimer: () => ({ cancel: () => {} }) };
const to = (port: number) => ({ scheme: 'http', host: '127.0.0.1', port, target: '/', headers: [] });
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

/** Returns a connected socket that has sent a request. The test's server sends the response. */
async function asking(server: LoopbackServer): Promise<PlainSocket> {
  const socket = PlainSocket.take();
  socket.connect({ host: '127.0.0.1', port: server.port });
  await once(socket, 'connect');
  socket.write('GET');
  return socket;
}

/** Destroys a socket. @returns whether the socket object is reused for the next connection */
async function isUsedAgain(socket: PlainSocket): Promise<boolean> {
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  return PlainSocket.take() === socket;
}

describe('PlainSocket', () => {
  test('reconnects a reset socket and delivers bytes to its new user', async () => {
    await using server = await new LoopbackServer((socket) => socket.write('a')).listening();
    const socket = PlainSocket.take();
    for (const round of [1, 2, 3]) {
      const came: string[] = [];
      const arrived = new Promise<void>((resolve) => {
        socket.user = {
          onConnect: () => socket.write('GET'),
          onBytes(bytes) {
            came.push(bytes.toString());
            resolve();
          },
          onEnd: () => came.push('end'),
          onError: ({ message }) => came.push(message),
        };
      });
      socket.connect({ host: '127.0.0.1', port: server.port });
      await arrived;
      expect(came).toEqual(['a']);
      expect(await isUsedAgain(socket)).toBe(true);
      expect(socket.user).toBeUndefined();
      expect(server.connections).toBe(round);
    }
    await expect.poll(() => connectionsOf(server.port)).toEqual([]);
  });

  test('does not reuse a socket that the peer closed or reset, or that never connected', async () => {
    const ends: ((socket: Socket) => void)[] = [(socket) => socket.end(), (socket) => socket.resetAndDestroy()];
    for (const end of ends) {
      await using server = await new LoopbackServer(end).listening();
      const socket = await asking(server);
      socket.resume();
      await Promise.race([once(socket, 'end'), new Promise((resolve) => socket.once('error', resolve))]);
      expect(await isUsedAgain(socket)).toBe(false);
    }
    await using server = await new LoopbackServer(() => {}).listening();
    const early = PlainSocket.take();
    early.connect({ host: '127.0.0.1', port: server.port });
    expect(await isUsedAgain(early)).toBe(false);
  });

  test('R3: concurrent and consecutive requests over reused sockets each get their own response', async () => {
    const answers: ((socket: Socket) => void)[] = [
      (socket) => socket.end(OK),
      (socket) => socket.write(OK),
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nold'),
      (socket) => socket.end(),
    ];
    const words = [/^hi$/, /^hi$/, /reset by peer$/, /^old$/, /: EOF$/];
    const servers = await Promise.all(answers.map((serve) => new LoopbackServer(serve).listening()));
    for (let round = 0; round < 10; round++) {
      const results = await Promise.all(servers.map(({ port }) => httpGet(to(port), { clock })));
      const outcomes = results.map((result) => (result.kind === 'answer' ? result.body : result.message));
      for (const [index, text] of outcomes.entries()) expect(text).toMatch(words[index] as RegExp);
    }
    expect(servers.map(({ connections }) => connections)).toEqual(servers.map(() => 10));
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
});
