import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ContainerEventItem,
  type ContainerEventResponse,
  CriClient,
  CriError,
  messages,
  type RuntimeService,
  watchContainerEvents,
} from '../src/index.ts';
import { serve, socketDirectory, someVersion, untilAborted } from './fake-server.ts';

const event = (containerId: string): ContainerEventResponse => messages.ContainerEventResponse.create({ containerId });
const unavailable = (): CriError => new CriError({ rpc: 'GetContainerEvents', code: 'UNAVAILABLE', details: 'down' });

/**
 * Creates a fake runtime whose event streams are scripted by one function per attempt. The last function serves all
 * later attempts, too.
 */
function scripted(...streams: ((signal: AbortSignal) => AsyncIterable<ContainerEventResponse>)[]) {
  const attemptsAtMs: number[] = [];
  const clock = new FakeClock();
  const runtime: Pick<RuntimeService, 'getContainerEvents' | 'version'> = {
    getContainerEvents(_, signal = AbortSignal.abort()) {
      const stream = streams[Math.min(attemptsAtMs.push(clock.monotonic()), streams.length) - 1];
      return stream === undefined ? hang(signal) : stream(signal);
    },
    version: async () => messages.VersionResponse.create(someVersion),
  };
  const controller = new AbortController();
  const components = { runtime, clock, random: seededRandom(1), logger: silentLogger };
  const seen: string[] = [];
  const done = (async () => {
    for await (const item of watchContainerEvents(components, {}, controller.signal)) seen.push(describeItem(item));
  })();
  return { attemptsAtMs, clock, controller, done, seen };
}

const describeItem = (item: ContainerEventItem): string =>
  item.type === 'connected' ? (item.reconnect ? 'reconnected' : 'connected') : item.event.containerId;

/** A stream that sends nothing. */
async function* hang(signal: AbortSignal): AsyncGenerator<ContainerEventResponse, void> {
  yield* [];
  await untilAborted(signal);
}

async function* fails(error: Error, ...events: string[]): AsyncGenerator<ContainerEventResponse, void> {
  for (const id of events) yield event(id);
  await Promise.resolve();
  throw error;
}

describe('watchContainerEvents', () => {
  it('watchContainerEvents reports the connection before the first event, even if the runtime sends nothing', async () => {
    const { clock, controller, done, seen } = scripted(hang);
    await clock.settle();
    expect(seen).toEqual(['connected']);
    controller.abort();
    await done;
  });

  it('K2: watchContainerEvents reopens a stream that ended or failed, and reports it so that the reader lists containers again', async () => {
    const { attemptsAtMs, clock, controller, done, seen } = scripted(
      () => fails(unavailable(), 'a', 'b'),
      async function* () {
        yield event('c');
      },
      hang,
    );
    await clock.advance(1_000);
    expect(seen).toEqual(['connected', 'a', 'b', 'reconnected', 'c', 'reconnected']);
    expect(attemptsAtMs).toHaveLength(3);
    controller.abort();
    await done;
    expect(clock.pendingTimers).toBe(0);
  });

  it('the jittered delay before reopening an event stream doubles per failure up to 3 s, and is reset by a long stream', async () => {
    const down = () => fails(unavailable());
    const lasting = async function* (): AsyncGenerator<ContainerEventResponse, void> {
      await new Promise<void>((resolve) => void clock.setTimer(5_000, resolve));
      yield event('late');
    };
    const { attemptsAtMs, clock, controller, done } = scripted(down, down, down, down, down, down, down, lasting, down);
    await clock.advance(30_000);
    controller.abort();
    await done;
    const waits = attemptsAtMs.slice(1, 8).map((atMs, i) => atMs - (attemptsAtMs[i] ?? 0));
    const expected = [100, 200, 400, 800, 1600, 3000, 3000];
    waits.forEach((wait, i) => {
      expect(wait).toBeGreaterThanOrEqual(expected[i] ?? 0);
      expect(wait).toBeLessThanOrEqual((expected[i] ?? 0) * 1.5);
    });
    expect(new Set(waits.map((wait, i) => wait / (expected[i] ?? 1))).size).toBeGreaterThan(1);
    const afterLasting = (attemptsAtMs[8] ?? 0) - (attemptsAtMs[7] ?? 0) - 5_000;
    expect(afterLasting).toBeLessThanOrEqual(150);
  });

  it('watchContainerEvents ends with UNIMPLEMENTED if the runtime has no container events', async () => {
    const missing = new CriError({ rpc: 'GetContainerEvents', code: 'UNIMPLEMENTED', details: 'unknown method' });
    const { attemptsAtMs, done } = scripted(() => fails(missing));
    await expect(done).rejects.toBe(missing);
    expect(attemptsAtMs).toHaveLength(1);
  });

  it.each([0, 1])('the event stream ends when the reader stops after %d events', async (events) => {
    let ended = false;
    const stream = async function* (signal: AbortSignal): AsyncGenerator<ContainerEventResponse, void> {
      try {
        for (let i = 0; i < events; i++) yield event('a');
        await untilAborted(signal);
      } finally {
        ended = true;
      }
    };
    const runtime: Pick<RuntimeService, 'getContainerEvents' | 'version'> = {
      getContainerEvents: (_, signal = AbortSignal.abort()) => stream(signal),
      version: async () => messages.VersionResponse.create(someVersion),
    };
    const { signal } = new AbortController();
    const components = { runtime, clock: new FakeClock(), random: seededRandom(1), logger: silentLogger };
    for await (const item of watchContainerEvents(components, {}, signal)) if (item.type === 'connected') break;
    expect(ended).toBe(true);
  });
});

describe('watchContainerEvents over gRPC', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  });

  it('K2: watchContainerEvents continues after a runtime restart', async () => {
    const directory = socketDirectory();
    const address = `unix:${directory.path}/cri.sock`;
    const runtimeOf = (containerId: string) => ({
      version: () => someVersion,
      async *getContainerEvents(_: unknown, { aborted }: { aborted: AbortSignal }) {
        yield { containerId };
        await untilAborted(aborted);
      },
    });
    let server = await serve(address, runtimeOf('before'));
    const clock = new FakeClock();
    const runtime = new CriClient({}, { endpoint: address });
    cleanUps.push(
      () => runtime.close(),
      () => server.stop(),
      directory.remove,
    );
    const components = { runtime, clock, random: seededRandom(1), logger: silentLogger };
    const seen: string[] = [];
    for await (const item of watchContainerEvents(components, {}, new AbortController().signal)) {
      seen.push(describeItem(item));
      if (seen.at(-1) === 'after') break;
      if (seen.at(-1) !== 'before') continue;
      server.stop();
      server = await serve(address, runtimeOf('after'));
      const keepGoing = async (): Promise<void> => {
        while (!seen.includes('after')) await clock.advance(100);
      };
      void keepGoing();
    }
    expect(seen).toEqual(['connected', 'before', 'reconnected', 'after']);
  });
});
