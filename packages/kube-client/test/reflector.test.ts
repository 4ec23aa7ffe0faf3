import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, expect, test } from 'vitest';
import { type ObjectChange, Reflector, type ReflectorOptions, RestClient, resources } from '../src/index.ts';
import { failure, ScriptedTransport, Stream, systemError } from './scripted-transport.ts';

const stop: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of stop.splice(0)) await end();
});

function pod(name: string, resourceVersion: string, uid = `${name}-uid`): Pod {
  return { metadata: { name, namespace: 'ns', uid, resourceVersion }, spec: { containers: [] } };
}

function podList(resourceVersion: string, ...items: readonly Pod[]): { readonly json: object } {
  return { json: { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion }, items } };
}

function setUp(options: Partial<ReflectorOptions<Pod>> = {}) {
  const clock = new FakeClock();
  const transport = new ScriptedTransport();
  const { logger, lines } = captureLogger();
  const client = new RestClient({ transport, clock });
  const random = seededRandom(1);
  const reflector = new Reflector<Pod>({ client, clock, random, logger }, { resource: resources.pods, ...options });
  const controller = new AbortController();
  const start = (): void => {
    const done = reflector.start(controller.signal);
    stop.push(async () => {
      controller.abort();
      await clock.settle();
      await done;
    });
  };
  return { clock, transport, lines, reflector, start, controller };
}

/** The `ERROR` event that a watch gets for a version that the server no longer has. */
const expired = {
  kind: 'Status',
  status: 'Failure',
  code: 410,
  reason: 'Expired',
  message: 'too old resource version',
};

const plain = { streamingLists: false };
const names = (reflector: Reflector<Pod>): readonly string[] => [...reflector.objects.keys()].sort();

test('the reflector starts with a streaming list and continues on the same stream', async () => {
  const { clock, transport, reflector, start } = setUp({ fieldSelector: 'spec.nodeName=a' });
  const stream = new Stream();
  transport.script({ stream });
  start();
  stream.event('ADDED', pod('b', '7'));
  stream.event('ADDED', pod('a', '5'));
  await clock.settle();
  expect(reflector.hasSynced).toBe(false);
  expect(names(reflector)).toEqual([]);

  stream.initialEventsEnd('9');
  await clock.settle();
  await reflector.waitForSync();
  expect(names(reflector)).toEqual(['ns/a', 'ns/b']);
  expect(reflector.lastSyncResourceVersion).toBe('9');

  stream.event('MODIFIED', pod('a', '10'));
  stream.event('DELETED', pod('b', '11'));
  await clock.settle();
  expect(names(reflector)).toEqual(['ns/a']);
  expect(reflector.objects.get('ns/a')?.metadata.resourceVersion).toBe('10');
  expect(reflector.lastSyncResourceVersion).toBe('11');
  const [path] = transport.paths;
  expect(path).toMatch(/^\/api\/v1\/pods\?fieldSelector=spec.nodeName=a&resourceVersionMatch=NotOlderThan/);
  expect(path).toContain('sendInitialEvents=true&allowWatchBookmarks=true');
  expect(path).toMatch(/timeoutSeconds=[345]\d\d&watch=true/);
});

test('if the server refuses streaming lists, then the reflector sends a plain list immediately', async () => {
  const { clock, transport, reflector, start } = setUp();
  transport.script(failure(422, 'Invalid'), podList('5', pod('a', '3')), { stream: new Stream() });
  start();
  await clock.settle();
  expect(names(reflector)).toEqual(['ns/a']);
  expect(transport.paths[1]).toBe('/api/v1/pods?resourceVersion=0&limit=500');
  expect(transport.paths[2]).toMatch(/^\/api\/v1\/pods\?resourceVersion=5&allowWatchBookmarks=true/);
});

test('if a streaming list is unanswered for 30 s, then the reflector sends a plain list', async () => {
  const { clock, transport, reflector, start } = setUp();
  transport.script({ stream: new Stream() }, podList('5', pod('a', '3')), { stream: new Stream() });
  start();
  await clock.advance(29_999);
  expect(transport.requests.length).toBe(1);
  await clock.advance(1);
  await clock.settle();
  expect(names(reflector)).toEqual(['ns/a']);
});

test('N6: listAnew lists the collection again immediately, during a watch as well as during a back-off', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  transport.script(podList('500', pod('a', '3')), { stream: new Stream() }, podList('7', pod('b', '6')), {
    stream: new Stream(),
  });
  start();
  await clock.settle();
  expect(names(reflector)).toEqual(['ns/a']);
  reflector.listAnew();
  await clock.settle();
  expect(names(reflector)).toEqual(['ns/b']);
  expect(transport.paths[2]).toMatch(/^\/api\/v1\/pods(\?limit=500)?$/);
  expect(transport.paths[3]).toContain('resourceVersion=7&');
  expect(reflector.lastError).toBeUndefined();
});

test('a watch that the server ends is resumed from its last version, without a list', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const first = new Stream();
  transport.script(podList('5'), { stream: first }, { stream: new Stream() });
  start();
  first.bookmark('42');
  await clock.advance(2000);
  first.end();
  await clock.settle();
  expect(transport.paths.length).toBe(3);
  expect(transport.paths[2]).toContain('resourceVersion=42&');
  expect(reflector.lastSyncResourceVersion).toBe('42');
});

test('a watch that ends immediately without an event is retried only after a back-off', async () => {
  const { clock, transport, start } = setUp(plain);
  const short = new Stream();
  short.end();
  transport.script(podList('5'), { stream: short }, { stream: new Stream() });
  start();
  await clock.advance(799);
  expect(transport.requests.length).toBe(2);
  await clock.advance(801);
  expect(transport.requests.length).toBe(3);
});

test.each(['Expired', 'Gone'])(
  'after a watch of a version that is %s, the reflector lists again, no older than the last version seen',
  async (reason) => {
    const { clock, transport, reflector, start } = setUp(plain);
    const first = new Stream();
    transport.script(podList('5', pod('a', '3'), pod('b', '4')), { stream: first });
    transport.script(podList('90', pod('b', '80')), { stream: new Stream() });
    start();
    await clock.advance(5000);
    const status = { kind: 'Status', status: 'Failure', code: 410, reason, message: 'too old resource version' };
    first.event('ERROR', status);
    await clock.settle();
    expect(transport.paths[2]).toBe('/api/v1/pods?resourceVersion=5');
    expect(names(reflector)).toEqual(['ns/b']);
    expect(transport.paths[3]).toContain('resourceVersion=90');
  },
);

test('if a list of the last version seen fails as Expired, the reflector lists the newest version', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const first = new Stream();
  transport.script(podList('5'), { stream: first }, failure(410, 'Expired'));
  transport.script(podList('90', pod('a', '80')), { stream: new Stream() });
  start();
  await clock.settle();
  first.event('ERROR', expired);
  await clock.advance(2000);
  expect(transport.paths[2]).toBe('/api/v1/pods?resourceVersion=5');
  expect(transport.paths[3]).toBe('/api/v1/pods?limit=500');
  expect(names(reflector)).toEqual(['ns/a']);
});

test('if the server lost its history (the version is too large), then the reflector lists the newest version', async () => {
  const { clock, transport, reflector, start } = setUp();
  const first = new Stream();
  const second = new Stream();
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  const tooLarge = failure(504, 'Timeout', { details: { causes, retryAfterSeconds: 1 } });
  transport.script({ stream: first }, { stream: new Stream() }, tooLarge, { stream: second });
  start();
  first.event('ADDED', pod('old', '900'));
  first.initialEventsEnd('1000');
  await clock.settle();
  first.break();
  // A server that lost its history sends nothing to a watch of a version in its future.
  await clock.advance(95_000);
  expect(transport.paths[1]).toMatch(/resourceVersion=1000&allowWatchBookmarks=true&timeoutSeconds/);
  expect(transport.paths[2]).toContain('resourceVersion=1000&resourceVersionMatch');
  expect(transport.paths[3]).toMatch(/pods\?resourceVersionMatch/);
  second.event('ADDED', pod('new', '7'));
  second.initialEventsEnd('9');
  await clock.settle();
  expect(names(reflector)).toEqual(['ns/new']);
  expect(reflector.lastSyncResourceVersion).toBe('9');
});

test('a bookmark with an older version shows that the server lost its history', async () => {
  const { clock, transport, reflector, start, lines } = setUp(plain);
  const first = new Stream();
  transport.script(podList('1000', pod('old', '900')), { stream: first });
  transport.script(podList('20', pod('new', '7')), { stream: new Stream() });
  start();
  await clock.settle();
  first.bookmark('9');
  await clock.advance(2000);
  expect(transport.paths[2]).toBe('/api/v1/pods?limit=500');
  expect(names(reflector)).toEqual(['ns/new']);
  expect(lines.map(({ message }) => message)).toContain('Resource version went back; listing the collection again');
});

test('K3: while the server is down the objects are kept, and the retry delays double up to their maximum', async () => {
  const { clock, transport, reflector, start, lines } = setUp({ ...plain, maxBackOffMs: 4000 });
  const first = new Stream();
  transport.script(podList('5', pod('a', '3')), { stream: first });
  for (let i = 0; i < 6; i++) transport.script({ fail: systemError('ECONNREFUSED') });
  const last = new Stream();
  transport.script({ stream: last });
  start();
  await clock.settle();
  first.break();
  const times: number[] = [];
  for (let seen = transport.requests.length; transport.requests.length < 9 && times.length < 7; ) {
    await clock.advanceToNext();
    if (transport.requests.length === seen) continue;
    seen = transport.requests.length;
    times.push(clock.monotonic());
    if (times.length < 7) expect(reflector.lastError?.code).toBe('ConnectionFailed');
  }
  const waits = times.map((time, i) => time - (times[i - 1] ?? 0));
  for (const [i, leastMs] of [800, 1600, 3200, 4000, 4000, 4000, 4000].entries()) {
    expect(waits[i]).toBeGreaterThanOrEqual(leastMs);
    expect(waits[i]).toBeLessThan(leastMs * 2);
  }
  last.event('ADDED', pod('b', '8'));
  await clock.settle();
  expect(names(reflector)).toEqual(['ns/a', 'ns/b']);
  expect(reflector.lastError).toBeUndefined();
  expect(lines.filter(({ level }) => level === 'warn').length).toBe(1);
  expect(lines.at(-1)?.message).toBe('Watching the collection again');
});

test("retryNow ends the reflector's back-off", async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  transport.script({ fail: systemError('ECONNREFUSED') }, podList('5'), { stream: new Stream() });
  start();
  await clock.settle();
  expect(transport.requests.length).toBe(1);
  reflector.retryNow();
  await clock.settle();
  expect(reflector.hasSynced).toBe(true);
  expect(clock.monotonic()).toBe(0);
});

test('after a 429 the reflector waits for Retry-After and resumes the watch from the same version', async () => {
  const { clock, transport, start } = setUp(plain);
  transport.script(podList('5'));
  transport.script({ ...failure(429, 'TooManyRequests'), headers: { 'retry-after': '7' } }, { stream: new Stream() });
  start();
  await clock.advance(6999);
  expect(transport.requests.length).toBe(2);
  await clock.advance(1);
  expect(transport.paths[2]).toContain('resourceVersion=5&');
});

test('a silent watch is restarted if the server is known to send bookmarks', async () => {
  const { clock, transport, start } = setUp(plain);
  const first = new Stream();
  transport.script(podList('5'), { stream: first }, { stream: new Stream() });
  start();
  await clock.settle();
  first.bookmark('6');
  await clock.advance(60_000);
  first.bookmark('7');
  await clock.advance(89_999);
  expect(transport.requests.length).toBe(2);
  await clock.advance(2000);
  expect(first.aborted).toBe(true);
  expect(transport.paths[2]).toContain('resourceVersion=7&');
});

test('a quiet watch without a bookmark so far is resumed from its last version after twice the idle timeout', async () => {
  const { clock, transport, start } = setUp(plain);
  const first = new Stream();
  transport.script(podList('5'), { stream: first }, { stream: new Stream() });
  start();
  await clock.settle();
  first.event('ADDED', pod('a', '6'));
  await clock.advance(179_999);
  expect(transport.requests.length).toBe(2);
  await clock.advance(2001);
  expect(first.aborted).toBe(true);
  expect(transport.requests.length).toBe(3);
  expect(transport.paths[2]).toContain('resourceVersion=6&');
});

test('a silent watch without bookmarks is restarted shortly after the server should have ended it', async () => {
  const { clock, transport, start } = setUp({ ...plain, idleTimeoutMs: 3_600_000 });
  transport.script(podList('5'), { stream: new Stream() }, { stream: new Stream() });
  start();
  await clock.settle();
  const timeoutMs = Number(/timeoutSeconds=(\d+)/.exec(transport.paths[1] ?? '')?.[1]) * 1000;
  await clock.advance(timeoutMs + 29_999);
  expect(transport.requests.length).toBe(2);
  await clock.advance(2001);
  expect(transport.requests.length).toBe(3);
});

test('a broken watch is resumed from the last version immediately, without a list', async () => {
  const { clock, transport, reflector, start } = setUp();
  const first = new Stream();
  const second = new Stream();
  transport.script(
    { stream: first },
    { stream: second },
    { fail: systemError('ECONNREFUSED') },
    { stream: new Stream() },
  );
  start();
  first.event('ADDED', pod('a', '3'));
  first.initialEventsEnd('5');
  await clock.advance(5000);
  first.bookmark('42');
  await clock.settle();
  first.break();
  await clock.settle();
  expect(transport.paths.length).toBe(2);
  expect(transport.paths[1]).toMatch(
    /pods\?resourceVersion=42&allowWatchBookmarks=true&timeoutSeconds=\d+&watch=true$/,
  );
  expect(reflector.lastError).toBeUndefined();

  second.event('MODIFIED', pod('a', '50'));
  await clock.advance(5000);
  second.break();
  await clock.advance(2000);
  expect(transport.paths.length).toBe(4);
  for (const path of transport.paths.slice(2)) expect(path).toContain('resourceVersion=50&allowWatchBookmarks');
  expect(names(reflector)).toEqual(['ns/a']);
});

test('if the server is not ready yet, then the watch is retried after Retry-After', async () => {
  const { clock, transport, start } = setUp(plain);
  transport.script(podList('5'), { ...failure(503, 'ServiceUnavailable'), headers: { 'retry-after': '9' } });
  transport.script({ stream: new Stream() });
  start();
  await clock.advance(8999);
  expect(transport.requests.length).toBe(2);
  await clock.advance(1);
  expect(transport.paths[2]).toContain('resourceVersion=5&allowWatchBookmarks');
});

test('if a resumed watch delivers nothing, then the reflector lists again', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const first = new Stream();
  transport.script(podList('1000', pod('old', '900')), { stream: first }, { stream: new Stream() });
  transport.script(failure(504, 'Timeout', { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }));
  transport.script(podList('20', pod('new', '7')), { stream: new Stream() });
  start();
  await clock.settle();
  first.bookmark('1001');
  await clock.advance(5000);
  first.break();
  await clock.advance(89_999);
  expect(transport.requests.length).toBe(3);
  await clock.advance(5000);
  expect(transport.paths.slice(3, 5)).toEqual(['/api/v1/pods?resourceVersion=1001', '/api/v1/pods?limit=500']);
  expect(names(reflector)).toEqual(['ns/new']);
});

test('retryNow does not shorten a wait that the server requested with Retry-After', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  transport.script(podList('5'));
  transport.script({ ...failure(429, 'TooManyRequests'), headers: { 'retry-after': '7' } }, { stream: new Stream() });
  start();
  await clock.advance(1000);
  reflector.retryNow();
  await clock.advance(5999);
  expect(transport.requests.length).toBe(2);
  await clock.advance(1);
  expect(transport.requests.length).toBe(3);
});

test('a list or watch whose response trickles in or never ends is aborted', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const drip = new Stream();
  transport.script(podList('5', pod('a', '3')), { stream: drip }, { stream: new Stream() });
  start();
  await clock.settle();
  // Single bytes, empty lines and unknown events must not count as signs that the watch works.
  for (let i = 0; i < 180; i++) {
    drip.write(['\n', '{"type":"NEWER","object":{}}\n', ' '][i % 3] ?? '');
    await clock.advance(1000);
  }
  await clock.advance(2000);
  expect(drip.aborted).toBe(true);
  expect(transport.paths[2]).toContain('resourceVersion=5&allowWatchBookmarks');
  expect(reflector.objects.size).toBe(1);
});

test('an event above the size limit ends the watch, and the reflector keeps its objects', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const flood = new Stream();
  transport.script(podList('5', pod('a', '3')), { stream: flood }, podList('6', pod('a', '3')), {
    stream: new Stream(),
  });
  start();
  await clock.settle();
  const megabyte = new Uint8Array(1 << 20).fill(0x20);
  flood.write('{"type":"ADDED","object":{"metadata":{"name":"b"');
  for (let i = 0; i < 17; i++) flood.write(megabyte);
  await clock.settle();
  expect(reflector.lastError?.message).toContain('longer than 16777216 bytes');
  await clock.advance(2000);
  expect(reflector.lastError).toBeUndefined();
  expect(names(reflector)).toEqual(['ns/a']);
});

test('a watch accepts an event of 10 MB', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const stream = new Stream();
  transport.script(podList('5'), { stream });
  start();
  await clock.settle();
  const annotations = { long: 'x'.repeat(10_000_000) };
  const object = pod('a', '6');
  stream.event('ADDED', { ...object, metadata: { ...object.metadata, annotations } });
  await clock.settle();
  expect(reflector.objects.get('ns/a')?.metadata.annotations?.long?.length).toBe(10_000_000);
});

test('a list whose items are not objects is rejected and requested again', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  transport.script({ json: { metadata: { resourceVersion: '5' }, items: [null, 7] } }, podList('6'), {
    stream: new Stream(),
  });
  start();
  await clock.settle();
  expect(reflector.lastError?.code).toBe('InvalidResponse');
  await clock.advance(2000);
  expect(reflector.hasSynced).toBe(true);
});

test('a watch that ends in the middle of a line is resumed from its last version', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const first = new Stream();
  transport.script(podList('5', pod('a', '3')), { stream: first }, { stream: new Stream() });
  start();
  await clock.settle();
  first.write('{"type":"ADDED","object":{"metadata":{"na');
  first.end();
  await clock.settle();
  expect(reflector.lastError?.code).toBe('ConnectionFailed');
  await clock.advance(2000);
  expect(reflector.lastError).toBeUndefined();
  expect(transport.paths[2]).toContain('resourceVersion=5&allowWatchBookmarks');
});

test('after a watch ends with ConnectionReplaced, it is resumed immediately from its last version', async () => {
  const { clock, transport, start } = setUp(plain);
  const { KubeError } = await import('../src/index.ts');
  const first = new Stream();
  transport.script(podList('5'), { stream: first }, { stream: new Stream() });
  start();
  await clock.advance(5000);
  first.fail(new KubeError({ code: 'ConnectionReplaced', message: 'the client certificate has changed' }));
  await clock.settle();
  expect(transport.paths[2]).toContain('resourceVersion=5&');
});

test('a paged list continues page by page, and is requested as a whole if its pages expire', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const page = (next: string | undefined, ...items: readonly Pod[]): object => ({
    json: { metadata: { resourceVersion: '5', continue: next }, items },
  });
  transport.script(page('p2', pod('a', '1')), page('p3', pod('b', '2')), failure(410, 'Expired'));
  transport.script(podList('8', pod('a', '1'), pod('c', '7')), { stream: new Stream() });
  start();
  await clock.settle();
  expect(transport.paths.slice(0, 4)).toEqual([
    '/api/v1/pods?resourceVersion=0&limit=500',
    '/api/v1/pods?limit=500&continue=p2',
    '/api/v1/pods?limit=500&continue=p3',
    '/api/v1/pods?resourceVersion=0',
  ]);
  expect(names(reflector)).toEqual(['ns/a', 'ns/c']);
});

test('a feed starts with the existing objects, merges changes of one object, and ends when the reflector ends', async () => {
  const { clock, transport, reflector, start, controller } = setUp(plain);
  const stream = new Stream();
  transport.script(podList('5', pod('a', '3'), pod('b', '4')), { stream });
  start();
  await clock.settle();
  const feed = reflector.changes();
  const take = async (): Promise<ObjectChange<Pod> | undefined> => await feed.take();
  expect(await take()).toMatchObject({ type: 'changed', key: 'ns/a', previous: undefined });
  expect(await take()).toMatchObject({ type: 'changed', key: 'ns/b' });
  expect(await take()).toEqual({ type: 'synced' });

  for (let version = 6; version < 1006; version++) stream.event('MODIFIED', pod('a', String(version)));
  stream.event('ADDED', pod('c', '1006'));
  stream.event('DELETED', pod('c', '1007'));
  stream.event('DELETED', pod('b', '1008'));
  stream.event('ADDED', pod('b', '1009', 'another-uid'));
  await clock.settle();
  expect(feed.size).toBe(2);
  const a = await take();
  expect(a).toMatchObject({
    object: { metadata: { resourceVersion: '1005' } },
    previous: { metadata: { resourceVersion: '3' } },
  });
  const b = await take();
  expect(b).toMatchObject({ object: { metadata: { uid: 'another-uid' } }, previous: { metadata: { uid: 'b-uid' } } });
  controller.abort();
  await clock.settle();
  expect(await take()).toBeUndefined();
});

test('a list that changes nothing adds no change to a feed', async () => {
  const { clock, transport, reflector, start } = setUp(plain);
  const first = new Stream();
  transport.script(podList('5', pod('a', '3')), { stream: first }, podList('6', pod('a', '3')), {
    stream: new Stream(),
  });
  start();
  await clock.settle();
  const feed = reflector.changes();
  await feed.take();
  await feed.take();
  first.event('ERROR', expired);
  await clock.advance(2000);
  expect(transport.requests.length).toBe(4);
  expect(feed.size).toBe(0);
});

test('an abort ends the reflector during any request or wait, and leaves no timer', async () => {
  for (const answers of [[{ hang: true }], [podList('5'), { hang: true }], [podList('5'), { stream: new Stream() }]]) {
    const { clock, transport, reflector, controller } = setUp(plain);
    transport.script(...answers);
    const done = reflector.start(controller.signal);
    await clock.settle();
    controller.abort();
    await done;
    expect(clock.pendingTimers).toBe(0);
    expect(transport.requests.length).toBe(answers.length);
  }
});

test('transform gets the stored version of the object as its second argument, for a list and for a watch', async () => {
  const seen: string[] = [];
  const transform = (object: Pod, previous: Pod | undefined): Pod => {
    const versionOf = (one: Pod | undefined): string => one?.metadata.resourceVersion ?? 'none';
    seen.push(`${object.metadata.name}: ${versionOf(previous)} -> ${versionOf(object)}`);
    return object;
  };
  const { clock, transport, reflector, start } = setUp({ ...plain, transform });
  const stream = new Stream();
  transport.script(podList('5', pod('a', '4'), pod('b', '5')), { stream });
  start();
  await clock.settle();
  stream.event('MODIFIED', pod('a', '6'));
  stream.event('DELETED', pod('b', '7'));
  stream.event('ADDED', pod('b', '8'));
  await clock.settle();
  transport.script(podList('9', pod('a', '6'), pod('b', '9')), { stream: new Stream() });
  reflector.listAnew();
  await clock.settle();
  expect(seen).toEqual(['a: none -> 4', 'b: none -> 5', 'a: 4 -> 6', 'b: none -> 8', 'a: 6 -> 6', 'b: 8 -> 9']);
});

test('the time in which a long list is stored does not count as silence of the watch', async () => {
  const clock = new FakeClock();
  const transport = new ScriptedTransport();
  let isStoring = false;
  let spentMs = 0;
  // Storing uses up each time slice, and each turn for which it waits takes 3 s, because the machine is overloaded.
  const busy = {
    now: () => clock.now(),
    monotonic: () => {
      if (isStoring) spentMs += 20;
      return clock.monotonic() + spentMs;
    },
    setTimer: (delayMs: number, callback: () => void) =>
      clock.setTimer(delayMs === 0 && isStoring ? 3000 : delayMs, callback),
  };
  const { logger, lines } = captureLogger();
  const reflector = new Reflector<Pod>(
    { logger, client: new RestClient({ transport, clock }), clock: busy },
    { resource: resources.pods },
  );
  const abort = new AbortController();
  const stream = new Stream();
  transport.script({ stream });
  const done = reflector.start(abort.signal);
  for (let index = 0; index < 60; index++)
    stream.event('ADDED', {
      metadata: { name: `m-${index}`, namespace: 'ns', uid: `m-${index}`, resourceVersion: `${index + 1}` },
      spec: { containers: [] },
    });
  await clock.settle();
  isStoring = true;
  stream.initialEventsEnd('100');
  await clock.settle();
  for (let turn = 0; turn < 100 && !reflector.hasSynced; turn++) await clock.advance(1000);
  isStoring = false;
  await clock.advance(1000);
  expect(reflector.hasSynced).toBe(true);
  expect(lines.map((line) => JSON.stringify(line))).toEqual([expect.stringContaining('Listed the collection')]);
  abort.abort();
  await clock.settle();
  await done;
});
