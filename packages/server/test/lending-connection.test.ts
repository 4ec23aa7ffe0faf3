import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { LendingConnection } from '../src/streams/lending-connection.ts';

const disposals: (() => void)[] = [];
afterEach(() => {
  for (const dispose of disposals.splice(0)) dispose();
});

/** Opens a connection and returns it with its peer. */
async function pair(): Promise<{ lending: LendingConnection; far: Socket }> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const { port } = server.address() as AddressInfo;
  const lending = new LendingConnection({ host: '127.0.0.1', port, allowHalfOpen: true });
  const [far] = await accepted;
  disposals.push(() => {
    lending.socket.destroy();
    far.destroy();
    server.close();
  });
  return { lending, far };
}

/** Returns bytes that encode their own position. */
function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
}

it('a lending connection behaves like a socket until its buffers are borrowed', async () => {
  const { lending, far } = await pair();
  const sent = pattern(1 << 20);
  const parts: Buffer[] = [];
  lending.socket.on('data', (part: Buffer) => void parts.push(part));
  far.end(sent);
  await once(lending.socket, 'end');
  expect(Buffer.concat(parts).equals(sent)).toBe(true);
});

it('a borrower gets also the data received before it borrowed, in order, and is notified of the end', async () => {
  const { lending, far } = await pair();
  const sent = pattern(4 << 20);
  far.write(sent.subarray(0, 1000));
  await once(lending.socket, 'readable');
  const parts: Buffer[] = [];
  const ended = once(lending.socket, 'end');
  lending.lend((chunk, giveBack) => {
    parts.push(Buffer.from(chunk));
    giveBack();
  });
  far.end(sent.subarray(1000));
  await ended;
  expect(Buffer.concat(parts).equals(sent)).toBe(true);
});

it('a lent buffer is not overwritten before its return, and at most two buffers are read ahead', async () => {
  const { lending, far } = await pair();
  const sent = pattern(8 << 20);
  const held: { chunk: Buffer; copy: Buffer; giveBack: () => void }[] = [];
  const got: Buffer[] = [];
  let most = 0;
  lending.lend((chunk, giveBack) => {
    held.push({ chunk, copy: Buffer.from(chunk), giveBack });
    most = Math.max(most, held.length);
  });
  const ended = once(lending.socket, 'end');
  far.end(sent);
  await vi.waitFor(() => expect(held.length).toBe(2), { timeout: 15_000 });
  await new Promise((resolve) => setTimeout(resolve, 50));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const next = held.shift();
    if (next !== undefined) {
      expect(next.chunk.equals(next.copy)).toBe(true);
      got.push(next.copy);
      next.giveBack();
      // Returning a buffer a second time has no effect.
      next.giveBack();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(most).toBe(2);
  expect(Buffer.concat([...got, ...held.map(({ copy }) => copy)]).equals(sent)).toBe(true);
});
