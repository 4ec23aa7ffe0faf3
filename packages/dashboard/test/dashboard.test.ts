import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Dashboard, type DashboardAnswer } from '../src/index.ts';
import { SseReader } from '../src/page/sse-reader.ts';
import type { PodStory, PodsNews } from '../src/wire.ts';
import { crashExplanation, FakeLog, FakeNode, fakePod } from './fake-node.ts';

let clock: FakeClock;
let node: FakeNode;
let dashboard: Dashboard;
let leaving: AbortController[];

beforeEach(() => {
  clock = new FakeClock();
  node = new FakeNode();
  node.list = [fakePod({ name: 'web' })];
  dashboard = new Dashboard({ clock, node }, { maxPages: 3, maxLogs: 2 });
  leaving = [];
});
afterEach(() => {
  for (const one of leaving) one.abort();
});

function ask(target: string, headers: Record<string, string> = {}): DashboardAnswer & { readonly leave: () => void } {
  const { pathname, searchParams } = new URL(target, 'http://n/dashboard/');
  const leave = new AbortController();
  leaving.push(leave);
  const path = pathname.split('/').slice(2);
  const answer = dashboard.answer({ root: 'dashboard', path, query: searchParams, headers, signal: leave.signal });
  return { ...answer, leave: () => leave.abort() };
}

/** Reads events one by one, as a client does. */
function eventsOf(answer: DashboardAnswer) {
  if (!('stream' in answer)) throw new Error(`no stream: ${answer.status} ${answer.body}`);
  const iterator = answer.stream[Symbol.asyncIterator]();
  const sse = new SseReader();
  return async () => {
    const { value } = await iterator.next();
    const [event] = sse.push(value ?? new Uint8Array());
    return { name: event?.name, id: event?.id, data: JSON.parse(event?.data ?? 'null') };
  };
}

/** Reads events until an event has this name. */
async function until(next: ReturnType<typeof eventsOf>, name: string) {
  for (;;) {
    const event = await next();
    if (event.name === name) return event;
  }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('the responses of the dashboard', () => {
  it('the page has a strict Content-Security-Policy, and no response may be cached, framed or sniffed', () => {
    const page = ask('/dashboard/');
    expect(page.status).toBe(200);
    const policy = page.headers['Content-Security-Policy'] ?? '';
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; connect-src/,
    );
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(policy).not.toMatch(/unsafe|\*|http/);
    for (const answer of [page, ask('/dashboard/x'), ask('/dashboard/events'), ask('/dashboard')]) {
      expect(answer.headers).toMatchObject({
        'Cache-Control': 'no-store',
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
      });
    }
  });

  it('the page refers to no other host, and all its URLs are relative', () => {
    const page = ask('/dashboard/');
    const body = 'body' in page ? page.body.replaceAll('http://www.w3.org/2000/svg', '') : '';
    expect(body).not.toMatch(/https?:\/\/|src=|@import/);
    expect(body.match(/href="[^"]*"/g)?.map((link) => link.slice(0, 12))).toEqual(['href="data:i']);
  });

  it('the dashboard redirects to the page relative to the address, so that a proxy may add a prefix', () => {
    expect(ask('/dashboard')).toMatchObject({ status: 302, headers: { Location: 'dashboard/' } });
  });

  it.each(['/dashboard/x', '/dashboard/events/', '/dashboard/log/x', '/dashboard//'])(
    'the response to %s has status 404',
    (target) => {
      expect(ask(target).status).toBe(404);
    },
  );

  it.each([
    ['/dashboard/events?pod=web', 'pod: must be NAMESPACE/NAME'],
    ['/dashboard/events?pod=a/b/c', 'pod: must be NAMESPACE/NAME'],
    ['/dashboard/log', 'pod: must be NAMESPACE/NAME'],
    ['/dashboard/log?pod=default/web&container=main&tail=-1', 'tail: must be a number up to 10000'],
    ['/dashboard/log?pod=default/web&container=main&previous=1', 'there is no previous instance'],
  ])('the response to %s has status 400 and says why', (target, body) => {
    expect(ask(target)).toMatchObject({ status: 400, body: `${body}\n` });
  });

  it('W1: the dashboard rejects requests for data that another web site starts, and serves those of its own page', () => {
    for (const site of ['cross-site', 'same-site']) {
      expect(ask('/dashboard/events', { 'sec-fetch-site': site }).status).toBe(403);
      expect(ask('/dashboard/log?pod=default/web&container=main', { 'sec-fetch-site': site }).status).toBe(403);
    }
    expect(dashboard.openPages).toBe(0);
    for (const site of ['same-origin', 'none']) {
      expect(ask('/dashboard/events', { 'sec-fetch-site': site }).status).toBe(200);
    }
  });

  it('the dashboard limits the number of open pages and logs, and frees their places when clients leave', () => {
    const pages = [1, 2, 3].map(() => ask('/dashboard/events'));
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(ask('/dashboard/events')).toMatchObject({ status: 429, body: '3 pages are open, which is the maximum\n' });
    pages[0]?.leave();
    expect(ask('/dashboard/events').status).toBe(200);
    const log = '/dashboard/log?pod=default/web&container=main';
    const logs = [ask(log), ask(log)];
    expect(ask(log).status).toBe(429);
    logs[0]?.leave();
    expect(ask(log).status).toBe(200);
  });
});

describe('the stream of events', () => {
  it('before the first page is opened and after the last page is closed, nothing is read and no timer runs', async () => {
    const before = structuredClone(node.calls);
    await clock.advance(60_000);
    expect(node.calls).toEqual(before);
    expect(clock.pendingTimers).toBe(0);
    const first = ask('/dashboard/events');
    const second = ask('/dashboard/events');
    await settle();
    for (let second = 0; second < 10; second += 1) {
      await clock.advance(1000);
      await settle();
    }
    // Two open pages cause no more reads than one.
    expect(node.calls).toMatchObject({ stats: 3, node: 1 });
    expect(node.calls.pods).toBeLessThanOrEqual(12);
    first.leave();
    second.leave();
    await settle();
    // A timer would keep the process alive after its other parts have ended.
    expect(clock.pendingTimers).toBe(0);
    const after = structuredClone(node.calls);
    await clock.advance(120_000);
    await settle();
    expect(node.calls).toEqual(after);
    expect(clock.pendingTimers).toBe(0);
  });

  it('the stream of events begins with all pods, then sends only changes', async () => {
    const next = eventsOf(ask('/dashboard/events'));
    expect((await until(next, 'pods')).data).toMatchObject({ isAll: true, changed: [{ name: 'web', ready: '1/1' }] });
    node.list = [...node.list, fakePod({ name: 'api', state: 'waiting' })];
    await settle();
    const change = until(next, 'pods');
    await clock.advance(1000);
    expect((await change).data).toMatchObject({ isAll: false, changed: [{ name: 'api' }], gone: [] });
    node.list = node.list.slice(1);
    const removal = until(next, 'pods');
    await clock.advance(1000);
    expect((await removal).data).toEqual({ isAll: false, changed: [], gone: ['uid-default-web'] });
  });

  it('a client that does not read is sent one set of changes, and nothing is queued for it', async () => {
    const next = eventsOf(ask('/dashboard/events'));
    await until(next, 'pods');
    for (let round = 1; round <= 50; round += 1) {
      node.list = [fakePod({ name: 'web', restarts: round })];
      await clock.advance(1000);
      await settle();
    }
    const { data } = await until(next, 'pods');
    expect((data as PodsNews).changed).toMatchObject([{ restarts: 50 }]);
  });

  it('a page that reconnects within 30 s gets only what it missed; later it gets all pods', async () => {
    const first = ask('/dashboard/events');
    const { id } = await until(eventsOf(first), 'pods');
    first.leave();
    node.list = [...node.list, fakePod({ name: 'api' })];
    await clock.advance(20_000);
    const again = ask(`/dashboard/events?after=${id}`);
    const missed = await until(eventsOf(again), 'pods');
    expect(missed.data).toMatchObject({ isAll: false, changed: [{ name: 'api' }] });
    again.leave();
    await clock.advance(40_000);
    const late = await until(eventsOf(ask(`/dashboard/events?after=${missed.id}`)), 'pods');
    expect(late.data).toMatchObject({ isAll: true });
  });

  it.each(['', 'x', 'x.1', '../../etc.1', `${'9'.repeat(400)}.${'9'.repeat(400)}`])(
    'a stream from the unknown position %j starts with all pods',
    async (after) => {
      const next = eventsOf(ask(`/dashboard/events?after=${encodeURIComponent(after)}`));
      expect((await until(next, 'pods')).data).toMatchObject({ isAll: true });
    },
  );

  it('the stream of events sends a keep-alive after 15 s without changes', async () => {
    node.summary = { node: { nodeName: 'n', startTime: null }, pods: [] };
    node.statsError = new Error('no runtime');
    const quiet = new Dashboard({ clock, node }, { usagePeriodMs: 3_600_000 });
    const leave = new AbortController();
    leaving.push(leave);
    const query = new URLSearchParams();
    const next = eventsOf(quiet.answer({ root: 'd', path: ['events'], query, headers: {}, signal: leave.signal }));
    await until(next, 'node');
    const beat = until(next, 'beat');
    for (let second = 0; second < 17; second += 1) {
      await settle();
      await clock.advance(1000);
    }
    expect((await beat).data).toEqual({ nowMs: expect.any(Number) });
  });

  it('the stream of events contains the reason why usage cannot be read, and continues', async () => {
    node.statsError = new Error('failed to list pod stats: runtime is down');
    const next = eventsOf(ask('/dashboard/events'));
    expect((await until(next, 'node')).data).toMatchObject({
      statsProblem: expect.stringContaining('runtime is down'),
    });
    node.statsError = undefined;
    const usage = until(next, 'usage');
    for (let second = 0; second < 6; second += 1) {
      await settle();
      await clock.advance(1000);
    }
    expect((await usage).data).toMatchObject({ node: { diskCapacityBytes: 80 * 2 ** 30 } });
  });

  it('the stream of events sends the timeline of the chosen pod when it changes, and reports that the pod is gone', async () => {
    node.explanations.set('default/web', crashExplanation(clock.now()));
    const next = eventsOf(ask('/dashboard/events?pod=default/web'));
    const { data } = await until(next, 'story');
    expect((data as PodStory).steps.map(({ step }) => step)).toContain('Sandbox');
    expect((data as PodStory).waits).toHaveLength(1);
    node.explanations.clear();
    await settle();
    const gone = until(next, 'story');
    await clock.advance(1000);
    expect((await gone).data).toMatchObject({ isKnown: false });
  });

  it('the stream of events contains the first cause why a pod is not ready', async () => {
    node.list = [fakePod({ name: 'web', state: 'crashing' })];
    node.explanations.set('default/web', crashExplanation(0));
    const { data } = await until(eventsOf(ask('/dashboard/events')), 'pods');
    expect((data as PodsNews).changed[0]?.why).toBe('main: Error (exit 1), 4 restarts; next restart in 38 s');
  });

  it('K5: the feed reads 1000 pods in portions, and the event loop serves other events in between', async () => {
    node.list = Array.from({ length: 1000 }, (_none, index) => fakePod({ name: `pod-${index}` }));
    let nowMs = 0;
    let pauses = 0;
    const slow = {
      now: () => clock.now(),
      // The clock advances by a millisecond each time it is read.
      monotonic: () => ++nowMs,
      setTimer(delayMs: number, callback: () => void) {
        if (delayMs === 0) pauses += 1;
        return clock.setTimer(delayMs, callback);
      },
    };
    const busy = new Dashboard({ clock: slow, node });
    const leave = new AbortController();
    leaving.push(leave);
    const query = new URLSearchParams();
    const next = eventsOf(busy.answer({ root: 'd', path: ['events'], query, headers: {}, signal: leave.signal }));
    const first = until(next, 'pods');
    await clock.advance(500);
    expect(((await first).data as PodsNews).changed).toHaveLength(1000);
    expect(pauses).toBeGreaterThan(10);
  });
});

describe('the log of a container', () => {
  it('the page follows the log of a container, and its files are closed when the client leaves while no line is written', async () => {
    const log = new FakeLog();
    node.logs.set('containerd://uid-default-web', log);
    const answer = ask('/dashboard/log?pod=default/web&container=main');
    if (!('stream' in answer)) throw new Error('no stream');
    const iterator = answer.stream[Symbol.asyncIterator]();
    log.write('one\n');
    expect(Buffer.from((await iterator.next()).value ?? []).toString()).toBe('one\n');
    const next = iterator.next();
    expect(log.readers).toBe(1);
    answer.leave();
    await next;
    expect(log.readers).toBe(0);
  });

  it('for a container that waits for its restart, the log of its last instance is shown', async () => {
    node.list = [fakePod({ name: 'web', state: 'crashing' })];
    const log = new FakeLog();
    log.write('last words\n');
    log.end();
    node.logs.set('containerd://uid-default-web-0', log);
    const answer = ask('/dashboard/log?pod=default/web&container=main');
    if (!('stream' in answer)) throw new Error('no stream');
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.stream) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('last words\n');
  });

  it('the log of an unknown pod or container is not found', () => {
    expect(ask('/dashboard/log?pod=default/x&container=main').status).toBe(404);
    expect(ask('/dashboard/log?pod=default/web&container=x').status).toBe(404);
  });
});
