import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { GrpcError, type MessageType, type StreamRpc, service, type UnaryRpc } from '../src/index.ts';
import { MemorySockets } from '../src/testing.ts';

interface Text {
  text: string;
}
const Text: MessageType<Text> = {
  name: 'test.Text',
  encode: ({ text }) => Buffer.from(text ?? ''),
  decode: (bytes) => ({ text: Buffer.from(bytes).toString() }),
  create: ({ text }) => ({ text: text ?? '' }),
};
const echo: UnaryRpc<Text, Text> = { name: 'Echo', path: '/t.T/Echo', stream: false, request: Text, response: Text };
const count: StreamRpc<Text, Text> = { name: 'Count', path: '/t.T/Count', stream: true, request: Text, response: Text };
const socketPath = '/run/t.sock';

function setUp(onEcho: (text: string, signal: AbortSignal) => Promise<string> = async (text) => text) {
  const clock = new FakeClock();
  const sockets = new MemorySockets();
  const server = sockets.server({
    socketPath,
    services: [
      service(
        { echo, count },
        {
          echo: async ({ text }, signal) => ({ text: await onEcho(text, signal) }),
          async *count() {
            for (let n = 1; ; n++) {
              yield { text: String(n) };
              if (n === 2) await new Promise(() => {});
            }
          },
        },
      ),
    ],
  });
  return { clock, sockets, server, client: sockets.client({ clock }, { socketPath }) };
}

describe('MemorySockets', () => {
  it('MemorySockets connects clients and servers at a path, whichever starts first', async () => {
    const { server, client } = setUp();
    await expect(client.unary(echo, { text: 'a' })).rejects.toThrow('connect: no such file or directory');
    const connected = client.connect(10_000);
    await server.start();
    await connected;
    expect(await client.unary(echo, {})).toEqual({ text: '' });
    await expect(client.unary({ ...echo, path: '/t.T/Other' }, {})).rejects.toThrow('Unimplemented');
  });

  it('MemorySockets allows one server per path, and another one after it has closed', async () => {
    const { sockets, server } = setUp();
    await server.start();
    const second = sockets.server({ socketPath, services: [] });
    await expect(second.start()).rejects.toThrow('address already in use');
    server.close();
    await sockets.server({ socketPath, services: [] }).start();
    expect(sockets.isListening(socketPath)).toBe(true);
    await expect(second.start()).rejects.toMatchObject({ code: 'AlreadyStarted' });
  });

  it('a call through MemorySockets ends at its deadline, on abort, and when either side closes', async () => {
    const aborted: unknown[] = [];
    const { clock, server, client, sockets } = setUp((_text, signal) => {
      signal.addEventListener('abort', () => aborted.push(signal.reason));
      return new Promise(() => {});
    });
    await server.start();
    const late = expect(client.unary(echo, {}, { timeoutMs: 1000 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    await clock.advance(1000);
    await late;
    const caller = new AbortController();
    const cancelled = expect(client.unary(echo, {}, { signal: caller.signal })).rejects.toThrow('the pod is gone');
    caller.abort(new Error('the pod is gone'));
    await cancelled;
    expect(aborted).toHaveLength(2);
    const other = sockets.client({ clock }, { socketPath });
    const closing = expect(other.unary(echo, {})).rejects.toMatchObject({ code: 'CANCELLED' });
    other.close();
    await closing;
    const lost = expect(client.unary(echo, {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    server.close();
    await lost;
    expect(clock.pendingTimers).toBe(0);
  });

  it('a MemorySockets client reports when it has connected and when either side has closed', async () => {
    const { clock, server, sockets } = setUp();
    const told: boolean[] = [];
    const client = sockets.client({ clock, onConnectivity: (isConnected) => told.push(isConnected) }, { socketPath });
    const connecting = client.connect(1000);
    expect(told).toEqual([]);
    await server.start();
    await connecting;
    await client.connect(1000);
    expect(told).toEqual([true]);
    server.close();
    expect(told).toEqual([true, false]);
    const next = setUp();
    await next.server.start();
    const other: boolean[] = [];
    const last = next.sockets.client(
      { clock, onConnectivity: (isConnected) => other.push(isConnected) },
      { socketPath },
    );
    await last.connect(1000);
    last.close();
    expect(other).toEqual([true, false]);
  });

  it('MemorySockets streams messages until the server closes', async () => {
    const { server, client } = setUp();
    await server.start();
    const seen: string[] = [];
    let failure: unknown;
    try {
      for await (const { text } of client.stream(count, {})) {
        seen.push(text);
        if (text === '2') queueMicrotask(() => server.close());
      }
    } catch (error) {
      failure = error;
    }
    expect([seen, GrpcError.is(failure) && failure.code]).toEqual([['1', '2'], 'UNAVAILABLE']);
  });
});
