import { gunzipSync } from 'node:zlib';
import { encodePortions } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import type { Call } from '../src/endpoints/call.ts';
import { joinPortions } from '../src/endpoints/join-portions.ts';
import { listReply } from '../src/endpoints/list-reply.ts';
import { metricsAnswer, type PageText } from '../src/endpoints/metrics-answer.ts';
import type { Answer } from '../src/http/exchange.ts';
import { inventoryEndpoints, stateEndpoints, statsEndpoints } from '../src/index.ts';

const GZIP = { 'accept-encoding': 'gzip' };
const callOf = (headers: Call['headers'] = {}, signal = new AbortController().signal): Call => ({
  ...{ method: 'GET', headers, remoteAddress: '127.0.0.1', signal, user: { name: 'u', groups: [] }, path: '/' },
  ...{ takeTime() {}, body: async () => undefined, query: new URLSearchParams() },
  params: { namespace: '', pod: '', uid: '', container: '', check: '', rest: [] },
});

function textOf(answer: Answer): string {
  if ('body' in answer) return answer.body;
  if ('stream' in answer) throw new Error('the answer is a stream');
  const isZipped = answer.headers['Content-Encoding'] === 'gzip';
  return (isZipped ? gunzipSync(answer.bytes) : Buffer.from(answer.bytes)).toString();
}

async function* portionsOf(...texts: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield Buffer.from(text);
}

describe('lists of many concurrent requests', () => {
  /** Lists that take 30 ms to encode each, and the names of those whose encoding began but did not end. */
  function lists() {
    const clock = new FakeClock();
    const begun = new Set<string>();
    const most = { atOnce: 0 };
    const ask = async (name: string, signal = new AbortController().signal): Promise<string> => {
      function* items() {
        for (let index = 0; index < 60; index++) {
          clock.spend(0.5);
          begun.add(name);
          most.atOnce = Math.max(most.atOnce, begun.size);
          yield { name, index };
        }
        begun.delete(name);
      }
      const list = { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: items() } as const;
      await listReply(list, clock, signal);
      return name;
    };
    return { clock, most, begun, ask };
  }

  it('encodes at most two lists at a time, in the order of the requests', async () => {
    const { clock, most, ask } = lists();
    const ended: string[] = [];
    const names = Array.from({ length: 20 }, (_, index) => `list ${index}`);
    const all = names.map(async (name) => ended.push(await ask(name)));
    await clock.advance(10_000);
    await Promise.all(all);
    expect([ended, most.atOnce]).toEqual([names, 2]);
  });

  it('drops a waiting request whose client disconnects, and encodes the lists behind it', async () => {
    const { clock, begun, ask } = lists();
    const abort = new AbortController();
    const first = [ask('a'), ask('b')];
    const waiting = ask('c', abort.signal);
    const last = ask('d');
    await clock.settle();
    expect([...begun]).toEqual(['a', 'b']);
    abort.abort(new Error('the client disconnected'));
    await expect(waiting).rejects.toThrow('the client disconnected');
    await clock.advance(10_000);
    expect(await Promise.all([...first, last])).toEqual(['a', 'b', 'd']);
  });

  it('encodes at most 24 events in one turn of the event loop if each takes half a millisecond', async () => {
    const clock = new FakeClock();
    const turns = new Map<number, number>();
    const events = Array.from({ length: 100 }, (_, index) => ({
      get object() {
        clock.spend(0.5);
        turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? 0) + 1);
        return { kind: 'Pod', namespace: 'default', name: `p${index}` };
      },
      ...{ type: 'Normal' as const, reason: 'Started', message: 'm', count: 1, firstAtMs: 0, lastAtMs: index },
    }));
    const none = { images: async () => [], node: async () => ({}) };
    const answer = inventoryEndpoints({ clock, events: () => events, ...none }).events?.(callOf());
    await clock.advance(1000);
    expect([...turns.values()]).toEqual([24, 24, 24, 24, 4]);
    const { kind, items } = JSON.parse(textOf(await (answer as Promise<Answer>)));
    expect([kind, items.length, items[99].metadata.name]).toEqual(['EventList', 100, 'p99']);
  });
});

describe('pages in portions', () => {
  const clock = new FakeClock();
  const emoji = '\u{1f600}';

  it.each<[string, () => PageText, string]>([
    ['portions', () => portionsOf('a \u00e4\n', 'b\n'), 'a \u00e4\nb\n'],
    ['no portions', () => portionsOf(), ''],
    ['a short string', () => 'a \u00e4\n', 'a \u00e4\n'],
    ['an empty string', () => '', ''],
    // The surrogate pairs are at odd offsets, so that a piece of even length would divide one.
    ['a long string', () => `x${emoji.repeat(100_000)}`, `x${emoji.repeat(100_000)}`],
  ])('metricsAnswer sends every byte of %s, with and without compression', async (_name, page, expected) => {
    for (const headers of [{}, GZIP]) {
      const answer = await metricsAnswer({ contentType: 'text/plain', text: page() }, callOf(headers), clock);
      expect(textOf(answer)).toBe(expected);
      expect(answer.headers).toMatchObject({ 'Content-Type': 'text/plain', Vary: 'Accept-Encoding' });
    }
  });

  it('a page whose client disconnects is not made further', async () => {
    const abort = new AbortController();
    let isClosed = false;
    async function* portions() {
      try {
        for (;;) {
          yield Buffer.alloc(1024);
          abort.abort(new Error('the client disconnected'));
        }
      } finally {
        isClosed = true;
      }
    }
    const page = { contentType: 'text/plain', text: portions() };
    await expect(metricsAnswer(page, callOf(GZIP, abort.signal), clock)).rejects.toThrow();
    expect(isClosed).toBe(true);
  });

  it('joinPortions copies at most 24 portions in one turn of the event loop if each takes half a millisecond', async () => {
    const slow = new FakeClock();
    const turns = new Map<number, number>();
    const source = Array.from({ length: 100 }, (_, index) => {
      const portion = Buffer.from([index]);
      let reads = 0;
      Object.defineProperty(portion, 'length', {
        get: () => {
          // The length is read when the portion arrives and, a second time, when it is copied.
          reads += 1;
          if (reads === 1) return 1;
          slow.spend(0.5);
          turns.set(slow.firedTimers, (turns.get(slow.firedTimers) ?? 0) + 1);
          return 1;
        },
      });
      return portion;
    });
    async function* portions() {
      yield* source;
    }
    const joined = joinPortions(portions(), slow, new AbortController().signal);
    await slow.advance(1000);
    expect([...(await joined)]).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect([...turns.values()]).toEqual([24, 24, 24, 24, 4]);
  });

  it('/stats/summary in portions ends with a newline', async () => {
    const page = async () => encodePortions(['{"node":', '{}}'], { clock });
    const endpoints = statsEndpoints({ clock, stats: { summary: page, cadvisorMetrics: page, resourceMetrics: page } });
    for (const headers of [{}, GZIP]) {
      const answer = (await endpoints.stats?.(callOf(headers))) as Answer;
      expect([textOf(answer), answer.headers['Content-Type']]).toEqual(['{"node":{}}\n', 'application/json']);
    }
  });

  it('/metrics and /metrics/probes are served in portions, which get the signal of the request', async () => {
    const { signal } = new AbortController();
    const given: AbortSignal[] = [];
    const render = (text: string) => (requestSignal: AbortSignal) => {
      given.push(requestSignal);
      return { contentType: 'text/plain', text: portionsOf(text) };
    };
    const endpoints = stateEndpoints({
      ...{ clock, checks: [], getPods: () => [], getRunningPods: async () => [] },
      ...{ renderMetrics: render('up 1\n'), renderProbeMetrics: render('probes 1\n') },
    });
    const call = callOf(GZIP, signal);
    expect(textOf((await endpoints.metrics?.(call)) as Answer)).toBe('up 1\n');
    expect(textOf((await endpoints.probeMetrics?.(call)) as Answer)).toBe('probes 1\n');
    expect(given).toEqual([signal, signal]);
  });
});
