import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '@node-agent/async/testing';
import { expect, test } from 'vitest';
import { splice } from '../src/streams/splice.ts';

/** A stream end that accepts written data only on request, one piece at a time. */
class SlowEnd extends Duplex {
  readonly taken: string[] = [];
  #next: (() => void) | undefined;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#next = () => {
      this.taken.push(chunk.toString());
      done();
    };
  }

  async takeAll(): Promise<void> {
    for (let idle = 0; idle < 3; idle++) {
      const next = this.#next;
      this.#next = undefined;
      if (next !== undefined && !this.destroyed) {
        next();
        idle = 0;
      }
      await turn();
    }
  }
}

function spliced(): { client: SlowEnd; runtime: SlowEnd; clock: FakeClock; ended: Promise<void> } {
  const [client, runtime, clock] = [new SlowEnd(), new SlowEnd(), new FakeClock()];
  for (const end of [client, runtime]) end.on('error', () => {});
  const options = { idleMs: 60_000, lingerMs: 10_000 };
  return { client, runtime, clock, ended: splice(client, runtime, clock, options, new AbortController().signal) };
}

test.each([
  ['breaks off', new Error('read ECONNRESET')],
  ['is closed', undefined],
])('W2: data that the runtime sent before it %s reaches the client, and then the stream ends', async (_, error) => {
  const { client, runtime, ended } = spliced();
  for (const piece of ['the output', ' of a command', ' and its exit code']) runtime.push(piece);
  await turn();
  runtime.destroy(error);
  await turn();
  await client.takeAll();
  await ended;
  expect(client.taken.join('')).toBe('the output of a command and its exit code');
  expect(client.destroyed).toBe(true);
});

test("W2: a client that reads nothing is disconnected after the runtime's connection broke", async () => {
  const { client, runtime, clock, ended } = spliced();
  runtime.push('some');
  runtime.push(' more');
  await turn();
  runtime.destroy(new Error('read ECONNRESET'));
  await turn();
  expect(client.destroyed).toBe(false);
  await clock.advance(10_000);
  await ended;
  expect(client.destroyed).toBe(true);
});

test("W2: a client that reads nothing but keeps sending is disconnected after the runtime's connection broke", async () => {
  const { client, runtime, clock, ended } = spliced();
  runtime.push('some');
  runtime.push(' more');
  await turn();
  runtime.destroy(new Error('read ECONNRESET'));
  await turn();
  for (let seconds = 0; seconds < 12; seconds++) {
    client.push('input');
    await turn();
    await clock.advance(1000);
  }
  expect(client.destroyed).toBe(true);
  await ended;
});

test('W2: data that a client sent before it disconnected reaches the runtime', async () => {
  const [client, runtime, clock] = [new SlowEnd(), new SlowEnd(), new FakeClock()];
  const waiting = new AbortController();
  // This listener is added before those of `splice`, so it is notified first.
  client.on('close', () => waiting.abort(new Error('the client has gone')));
  const ended = splice(client, runtime, clock, { idleMs: 60_000, lingerMs: 10_000 }, waiting.signal);
  for (const piece of ['what', ' was', ' said']) client.push(piece);
  await turn();
  client.destroy();
  await turn();
  await runtime.takeAll();
  await ended;
  expect(runtime.taken.join('')).toBe('what was said');
  expect(runtime.destroyed).toBe(true);
});

test('W2: the streams of the client and the runtime are destroyed a short time after the transport closed, even if client data is unread', async () => {
  const [client, carrier, runtime, clock] = [new SlowEnd(), new SlowEnd(), new SlowEnd(), new FakeClock()];
  const options = { idleMs: 60_000, lingerMs: 10_000, carrier };
  const ended = splice(client, runtime, clock, options, new AbortController().signal);
  client.push('nobody takes this');
  await turn();
  carrier.destroy();
  await turn();
  expect(client.destroyed).toBe(false);
  await clock.advance(10_000);
  await ended;
  expect([client.destroyed, runtime.destroyed]).toEqual([true, true]);
});
