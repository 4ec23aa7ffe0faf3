import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { alwaysAllow } from '../src/index.ts';
import { ConnectionLedger } from '../src/listen/connection-ledger.ts';
import { type KeyPair, Pki } from './pki.ts';
import { allOf, ask, FakeReviewer, rawConnection, type Started, startSecured } from './secured-fixture.ts';

const KIB = 1024;
const BEGIN = 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ';

let pki: Pki;
let serving: KeyPair;
beforeAll(async () => {
  pki = await Pki.create();
  serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
});
afterAll(() => pki[Symbol.asyncDispose]());

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function start(reviewer = new FakeReviewer()): Promise<Started> {
  reviewer.tokens.set('jane', { authenticated: true, user: { username: 'jane' } });
  const endpoints = { healthz: async () => ({ status: 200, headers: {}, body: 'ok' }) };
  const server = await startSecured(serving, { reviewer, authorization: alwaysAllow, endpoints });
  ends.push(() => server.end());
  return server;
}

/** Sends the start of a request head. Returns when the server has read it or has closed the connection. */
async function beginHead(port: number, bytes: number): Promise<TLSSocket> {
  const socket = await rawConnection(port, { ALPNProtocols: ['http/1.1'] });
  ends.push(() => socket.destroy());
  socket.resume();
  await written(socket, BEGIN + 'a'.repeat(bytes));
  return socket;
}

function written(socket: TLSSocket, text: string): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', resolve);
    socket.write(text, () => {
      socket.off('close', resolve);
      resolve();
    });
  });
}

describe('a secured server with unfinished requests of unauthenticated clients', () => {
  it('W1, K4: keeps at most 32 MiB of unauthenticated request heads, and serves other clients', async () => {
    const { port } = await start();
    const sockets = await Promise.all(Array.from({ length: 48 }, () => beginHead(port, 1000 * KIB)));
    const kept = (): number => sockets.filter(({ closed }) => !closed).length;
    await vi.waitFor(() => expect(kept()).toBeLessThanOrEqual(32), { timeout: 5000 });
    expect(kept()).toBeGreaterThan(16);
    expect((await ask(port, '/healthz', { token: 'jane' })).status).toBe(200);
  }, 20_000);

  it('K5: closes the connection of a client that sends a long head in very many pieces', async () => {
    const { port } = await start();
    const socket = await beginHead(port, 900 * KIB);
    for (let piece = 0; piece < 2000 && !socket.closed; piece++) await written(socket, 'b');
    await vi.waitFor(() => expect(socket.closed).toBe(true), { timeout: 3000 });
  }, 20_000);

  it('W1, K4: closes the connection of a client that sends long heads while its tokens are reviewed', async () => {
    const reviewer = new FakeReviewer();
    reviewer.reviewToken = () => new Promise(() => {});
    const { port } = await start(reviewer);
    const socket = await beginHead(port, 1000 * KIB);
    for (let request = 0; request < 40 && !socket.closed; request++)
      await written(socket, `\r\nAuthorization: Bearer t${request}\r\n\r\n${BEGIN}${'a'.repeat(1000 * KIB)}`);
    await vi.waitFor(() => expect(socket.closed).toBe(true), { timeout: 3000 });
  }, 20_000);

  it('W1, K4: closes the connection of a client that sends very many requests while its tokens are reviewed', async () => {
    const reviewer = new FakeReviewer();
    reviewer.reviewToken = () => new Promise(() => {});
    const { port } = await start(reviewer);
    const socket = await rawConnection(port, { ALPNProtocols: ['http/1.1'] });
    socket.resume();
    const requests = Array.from(
      { length: 100 },
      (_, i) => `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t${i}\r\n\r\n`,
    );
    for (let batch = 0; batch < 100 && !socket.closed; batch++) await written(socket, requests.join(''));
    await vi.waitFor(() => expect(socket.closed).toBe(true), { timeout: 3000 });
  }, 20_000);

  it('serves a client that sends a head of 1 MiB in pieces of 4 KiB, and reuses the connection', async () => {
    const { port } = await start();
    const socket = await rawConnection(port, { ALPNProtocols: ['http/1.1'] });
    ends.push(() => socket.destroy());
    const text = allOf(socket);
    for (let request = 0; request < 3; request++) {
      await written(socket, BEGIN);
      for (let piece = 0; piece < 250; piece++) await written(socket, 'a'.repeat(4 * KIB));
      await written(socket, `\r\nAuthorization: Bearer jane${request < 2 ? '' : '\r\nConnection: close'}\r\n\r\n`);
    }
    expect((await text).match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  }, 20_000);
});

describe('the connection ledger', () => {
  const KEYS = ['a', 'b', 'c'];
  function ledgerOf(maxHeadBytes: number) {
    const dropped: string[] = [];
    const ledger = new ConnectionLedger(9, maxHeadBytes);
    for (const key of KEYS) ledger.opened(key, { destroy: () => dropped.push(key) });
    return { ledger, dropped };
  }

  it('closes the unauthenticated connection with the longest heads, not the newest one', () => {
    const { ledger, dropped } = ledgerOf(10_000);
    ledger.receivedPiece('a', 2000);
    ledger.receivedPiece('b', 7000);
    ledger.receivedPiece('c', 2000);
    expect([dropped, ledger.strangers]).toEqual([['b'], 2]);
    for (const key of KEYS) ledger.receivedPiece(key, 3000);
    expect(dropped).toEqual(['b']);
  });

  it('does not count heads of authenticated clients or of closed connections', () => {
    const { ledger, dropped } = ledgerOf(10_000);
    ledger.receivedPiece('a', 9000);
    ledger.trusted('a');
    ledger.receivedPiece('a', 100_000);
    ledger.receivedPiece('b', 9000);
    ledger.closed('b');
    ledger.receivedPiece('b', 100_000);
    ledger.receivedPiece('c', 9000);
    expect(dropped).toEqual([]);
  });

  it('counts running requests until all requests of a connection are done', () => {
    const { ledger, dropped } = ledgerOf(20_000);
    const requests = [ledger.begin('a', 3000), ledger.begin('a', 3000)];
    for (const request of requests) request[Symbol.dispose]();
    const others = [ledger.begin('a', 1000), ledger.begin('a', 1000), ledger.begin('b', 1000)];
    expect(dropped).toEqual([]);
    ledger.begin('c', 6000);
    expect(dropped).toEqual(['a']);
    for (const request of others) request[Symbol.dispose]();
    ledger.receivedPiece('b', 9000);
    expect(dropped).toEqual(['a']);
  });
});
