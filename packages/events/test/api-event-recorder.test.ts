import { FakeClock } from '@node-agent/async/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiEventRecorder, type ApiEventRecorderOptions } from '../src/api-event-recorder.ts';
import type { CoreEvent } from '../src/event.ts';
import type { EventPatch } from '../src/event-sink.ts';
import { countingMetrics, pod } from './builders.ts';

const unreachable = (): Error => Object.assign(new Error('connection refused'), { code: 'ConnectionFailed' });
const answered = (httpStatus: number, code: string): Error => Object.assign(new Error(code), { httpStatus, code });

/** An API server that holds events, and fails while `failure` is set. */
class FakeSink {
  readonly events = new Map<string, CoreEvent>();
  readonly calls: string[] = [];
  failure: (() => Error) | undefined;
  hang = false;
  /** If true, a hanging request ignores its abort signal. */
  isDeaf = false;

  async createEvent(event: CoreEvent, signal: AbortSignal): Promise<void> {
    await this.#call(`create ${event.reason} x${event.count}`, signal);
    if (this.events.has(event.metadata.name)) throw answered(409, 'AlreadyExists');
    this.events.set(event.metadata.name, event);
  }

  async patchEvent(_namespace: string, name: string, patch: EventPatch, signal: AbortSignal): Promise<void> {
    await this.#call(`patch x${patch.count}`, signal);
    const event = this.events.get(name);
    if (event === undefined) throw answered(404, 'NotFound');
    this.events.set(name, { ...event, ...patch });
  }

  /** The reasons and counts of the events that the API stores. */
  get stored(): readonly (readonly [string, number])[] {
    return [...this.events.values()].map(({ reason, count }) => [reason, count] as const);
  }

  async #call(text: string, signal: AbortSignal): Promise<void> {
    this.calls.push(text);
    if (this.isDeaf) await new Promise(() => {});
    if (this.hang) {
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    if (this.failure !== undefined) throw this.failure();
  }
}

const running: AbortController[] = [];
afterEach(() => {
  for (const controller of running.splice(0)) controller.abort();
});

function setUp(options: Partial<ApiEventRecorderOptions> = {}) {
  const clock = new FakeClock();
  const sink = new FakeSink();
  const { metrics, counts } = countingMetrics();
  const { logger, lines } = captureLogger();
  const random = { next: () => 0.5 };
  const recorder = new ApiEventRecorder({ sink, clock, random, logger, metrics }, { host: 'node-1', ...options });
  const controller = new AbortController();
  running.push(controller);
  const started = recorder.start(controller.signal);
  const tell = (reason: string, message = 'text') => recorder.event(pod, 'Normal', reason, message);
  return { clock, sink, counts, lines, recorder, controller, started, tell };
}

test('the recorder creates an event immediately and patches it when the event occurs again', async () => {
  const { clock, sink, tell, counts } = setUp();
  tell('Started');
  await clock.settle();
  tell('Started');
  await clock.settle();
  expect(sink.calls).toEqual(['create Started x1', 'patch x2']);
  expect(sink.stored).toEqual([['Started', 2]]);
  expect(counts.get('kubelet_events_written_total')).toBe(2);
});

test('the recorder creates an event again if its object in the API is gone', async () => {
  const { clock, sink, tell } = setUp();
  tell('Started');
  await clock.settle();
  sink.events.clear();
  tell('Started');
  await clock.settle();
  expect(sink.stored).toEqual([['Started', 2]]);
});

describe('while the API server is unavailable', () => {
  test('during an outage of the API server, the recorder retries after a random part of 10 s, then every 10 s, and finally writes all events in order', async () => {
    const { clock, sink, tell } = setUp();
    sink.failure = unreachable;
    tell('Pulling');
    tell('Started');
    await clock.settle();
    await clock.advance(4_999);
    expect(sink.calls).toHaveLength(1);
    await clock.advance(1);
    expect(sink.calls).toHaveLength(2);
    await clock.advance(9_999);
    expect(sink.calls).toHaveLength(2);
    sink.failure = undefined;
    await clock.advance(1);
    expect(sink.stored).toEqual([
      ['Pulling', 1],
      ['Started', 1],
    ]);
  });

  test('during an outage of the API server, an event is tried 12 times, then dropped and counted', async () => {
    const { clock, sink, tell, counts } = setUp();
    sink.failure = unreachable;
    tell('Pulling');
    await clock.advance(3_600_000);
    expect(sink.calls).toHaveLength(12);
    expect(counts.get('kubelet_events_dropped_total retries_exceeded')).toBe(1);
  });

  test('the oldest events of a full queue are dropped, counted and logged once, and no caller is blocked', async () => {
    const { clock, sink, tell, counts, lines } = setUp({ queueLimit: 3 });
    sink.failure = unreachable;
    for (let number = 1; number <= 20; number++) tell(`Reason${number}`);
    await clock.settle();
    sink.failure = undefined;
    await clock.advance(20_000);
    expect(sink.stored.map(([reason]) => reason)).toEqual(['Reason18', 'Reason19', 'Reason20']);
    expect(counts.get('kubelet_events_dropped_total queue_full')).toBe(17);
    expect(lines.filter(({ level }) => level === 'warn').map(({ message, fields }) => [message, fields.count])).toEqual(
      [
        ['Unable to write event (will not retry!)', undefined],
        ['Dropped events while the API server was unavailable', 17],
      ],
    );
  });

  test('the recorder merges a repeated event into the queued one and creates it with its count when the server is back', async () => {
    const { clock, sink, tell, counts } = setUp({ queueLimit: 2 });
    sink.failure = unreachable;
    tell('First');
    await clock.settle();
    for (let times = 0; times < 20; times++) tell('BackOff');
    sink.failure = undefined;
    await clock.advance(20_000);
    expect(sink.stored).toEqual([
      ['First', 1],
      ['BackOff', 20],
    ]);
    expect(sink.calls.filter((call) => call.includes('BackOff'))).toEqual(['create BackOff x20']);
    expect(counts.get('kubelet_events_dropped_total queue_full')).toBeUndefined();
  });

  test('the recorder respects a Retry-After that is longer than its delay', async () => {
    const { clock, sink, tell } = setUp();
    sink.failure = () => Object.assign(answered(429, 'TooManyRequests'), { retryAfterMs: 30_000 });
    tell('Started');
    await clock.advance(29_999);
    expect(sink.calls).toHaveLength(1);
    await clock.advance(1);
    expect(sink.calls).toHaveLength(2);
  });

  test('the recorder treats a create whose response was lost but that succeeded as written', async () => {
    const { clock, sink, tell, counts } = setUp();
    const create = sink.createEvent.bind(sink);
    let lost = 1;
    sink.createEvent = async (event, signal) => {
      await create(event, signal);
      if (lost-- > 0) throw unreachable();
    };
    tell('Started');
    await clock.advance(60_000);
    expect(sink.stored).toEqual([['Started', 1]]);
    expect(sink.calls).toHaveLength(2);
    expect(counts.get('kubelet_events_written_total')).toBe(1);
  });
});

test.each([
  ['the API server refuses', 'warn', answered(422, 'Invalid')],
  ['the API server answers with an error', 'warn', answered(500, 'InternalError')],
  [
    'is in a terminating namespace',
    'debug',
    Object.assign(answered(403, 'Forbidden'), { details: { causes: [{ reason: 'NamespaceTerminating' }] } }),
  ],
])('an event that %s is dropped without a retry, and the next one is written', async (_name, level, error) => {
  const { clock, sink, tell, counts, lines } = setUp();
  sink.failure = () => error;
  tell('Bad');
  await clock.settle();
  sink.failure = undefined;
  tell('Good');
  await clock.settle();
  expect(sink.stored).toEqual([['Good', 1]]);
  expect(counts.get('kubelet_events_dropped_total rejected')).toBe(1);
  expect(lines.map((line) => line.level)).toEqual([level]);
});

test('an event that the API server fails to store does not prevent later events from being written', async () => {
  const { clock, sink, recorder } = setUp();
  const create = sink.createEvent.bind(sink);
  sink.createEvent = async (event, signal) => {
    if (event.metadata.namespace === 'hooked') throw answered(500, 'InternalError');
    await create(event, signal);
  };
  for (const uid of ['1', '2', '3']) {
    recorder.event({ ...pod, namespace: 'hooked', uid }, 'Warning', 'BackOff', 'text');
  }
  recorder.event(pod, 'Warning', 'FailedMount', 'text');
  await clock.settle();
  expect(sink.stored).toEqual([['FailedMount', 1]]);
});

describe('rate limits of the recorder', () => {
  test('the recorder writes a burst of events immediately and the rest at the configured rate', async () => {
    const { clock, sink, tell } = setUp({ qps: 10, burst: 5 });
    for (let number = 0; number < 20; number++) tell(`Reason${number}`);
    await clock.settle();
    expect(sink.calls).toHaveLength(5);
    await clock.advance(1_000);
    expect(sink.calls).toHaveLength(15);
  });

  test('the recorder applies a new rate limit while it runs', async () => {
    const { clock, sink, tell, recorder } = setUp({ qps: 1, burst: 1 });
    for (let number = 0; number < 24; number++) tell(`Reason${number}`);
    await clock.settle();
    expect(sink.calls).toHaveLength(1);
    recorder.setRate({ qps: 0, burst: 0 });
    await clock.advance(1_000);
    expect(sink.calls).toHaveLength(24);
    expect(() => recorder.setRate({ qps: -1, burst: 1 })).toThrow('qps');
  });

  test('the recorder writes events without a limit if the rate is 0', async () => {
    const { clock, sink, recorder } = setUp({ qps: 0, burst: 1 });
    for (let number = 0; number < 500; number++) {
      recorder.event({ ...pod, uid: `u${number}` }, 'Normal', 'Started', 'text');
    }
    await clock.settle();
    expect(sink.calls).toHaveLength(500);
  });

  test('the recorder counts events that the spam filter drops', async () => {
    const { clock, sink, tell, counts } = setUp();
    for (let number = 0; number < 30; number++) tell(`Reason${number}`);
    await clock.settle();
    expect(sink.calls).toHaveLength(25);
    expect(counts.get('kubelet_events_dropped_total spam_filter')).toBe(5);
  });
});

describe('shutdown of the recorder', () => {
  test('on abort the recorder stops writing; disposal writes queued events and the one in progress', async () => {
    const { clock, sink, recorder, controller, started, tell } = setUp();
    sink.failure = unreachable;
    tell('Killing');
    tell('Stopped');
    await clock.settle();
    controller.abort();
    await started;
    sink.failure = undefined;
    await recorder[Symbol.asyncDispose]();
    expect(sink.stored.map(([reason]) => reason)).toEqual(['Killing', 'Stopped']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('disposal of the recorder does not wait for an API server that is unavailable', async () => {
    const { clock, sink, recorder, tell, counts } = setUp();
    sink.failure = unreachable;
    for (const reason of ['A', 'B', 'C']) tell(reason);
    await clock.settle();
    await recorder[Symbol.asyncDispose]();
    expect(sink.calls).toEqual(['create A x1', 'create A x1']);
    expect(counts.get('kubelet_events_dropped_total shutdown')).toBe(3);
    expect(clock.pendingTimers).toBe(0);
  });

  test('disposal of the recorder waits at most its timeout for an API server that hangs', async () => {
    const { clock, sink, recorder, tell, counts } = setUp({ flushTimeoutMs: 2_000 });
    sink.hang = true;
    for (const reason of ['A', 'B']) tell(reason);
    await clock.settle();
    let disposed = false;
    const disposing = recorder[Symbol.asyncDispose]().then(() => {
      disposed = true;
    });
    await clock.advance(1_999);
    expect(disposed).toBe(false);
    await clock.advance(1);
    await disposing;
    expect(counts.get('kubelet_events_dropped_total shutdown')).toBe(2);
  });

  test('disposal and abort do not wait longer for a sink that ignores its signal (K4)', async () => {
    const { clock, sink, recorder, tell, counts, controller, started } = setUp({ flushTimeoutMs: 2_000 });
    sink.isDeaf = true;
    for (const reason of ['A', 'B']) tell(reason);
    await clock.settle();
    controller.abort();
    await started;
    const disposing = recorder[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await disposing;
    expect(counts.get('kubelet_events_dropped_total shutdown')).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  test('events recorded after disposal are only counted', async () => {
    const { recorder, tell, counts, sink } = setUp();
    await recorder[Symbol.asyncDispose]();
    tell('Late');
    expect(counts.get('kubelet_events_dropped_total shutdown')).toBe(1);
    expect(sink.calls).toEqual([]);
  });
});
