import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Fetch, HttpSource, type HttpSourceOptions } from '../src/http-source.ts';
import { LastGoodDirectory, type LastGoodStore } from '../src/last-good-store.ts';
import { splitCredentials } from '../src/manifest-url.ts';
import { formatProblem } from '../src/problem.ts';
import { bytesOf, manifestOf } from './helpers.ts';

const URL = 'http://manifests.example/web';
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

interface Answer {
  readonly status?: number;
  readonly etag?: string;
  readonly body?: unknown;
  readonly hang?: 'answer' | 'body';
  readonly error?: Error;
}

async function setUp(answers: Answer[], options: Partial<HttpSourceOptions> = {}, lastGood?: LastGoodStore) {
  const clock = new FakeClock();
  const requests: Record<string, string>[] = [];
  const never = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  const fetch: Fetch = async (_url, { headers, signal }) => {
    requests.push(Object.fromEntries(headers));
    const { status = 200, etag, body = '', hang, error } = answers.shift() ?? {};
    if (error !== undefined) throw error;
    if (hang === 'answer') await never(signal);
    const content = async function* (): AsyncGenerator<Uint8Array> {
      yield bytesOf(body);
      if (hang === 'body') await never(signal);
    };
    return { status, headers: { get: (name) => (name === 'etag' ? (etag ?? null) : null) }, body: content() };
  };
  const told: string[] = [];
  const set = (pods: readonly { metadata: { name: string } }[]): unknown =>
    told.push(pods.map(({ metadata }) => metadata.name).join(' '));
  const source = new HttpSource(
    { fetch, clock, logger: silentLogger, set, ...(lastGood && { lastGood }) },
    { url: URL, nodeName: 'n', ...options },
  );
  const controller = new AbortController();
  const ended = source.start(controller.signal);
  ends.push(async () => {
    controller.abort();
    await ended;
    expect(clock.pendingTimers).toBe(0);
  });
  await clock.settle();
  return {
    clock,
    told,
    requests,
    problems: () => source.problems.map(formatProblem),
    look: () => clock.advance(20_000),
  };
}

const listOf = (...names: string[]): unknown => ({
  apiVersion: 'v1',
  kind: 'PodList',
  items: names.map((name) => manifestOf(name)),
});

it('W6: HttpSource reads a large manifest in a worker thread', async () => {
  const clock = new FakeClock();
  const sizes: number[] = [];
  const body = `# ${'-'.repeat(40_000)}\n${JSON.stringify(listOf('a'))}`;
  const source = new HttpSource(
    {
      fetch: async () => ({
        status: 200,
        headers: { get: () => null },
        body: (async function* () {
          yield bytesOf(body);
        })(),
      }),
      clock,
      set: () => {},
      readApart: async ({ length }) => {
        sizes.push(length);
        return { pods: [], problems: [] };
      },
    },
    { url: URL, nodeName: 'n' },
  );
  const controller = new AbortController();
  const ended = source.start(controller.signal);
  await clock.settle();
  controller.abort();
  await ended;
  expect(sizes).toEqual([body.length]);
});

describe('HttpSource', () => {
  it.each([
    ['a line break', { Authorization: ['Bearer top\nSECRET'] }, 'invalid header field value for "Authorization"'],
    ['an invalid name', { 'X Y': ['SECRET'] }, 'invalid header field name "X Y"'],
  ])(
    'W4: reports a manifest URL header with %s without its value, and sends no request',
    async (_what, headers, message) => {
      const { problems, requests } = await setUp([{ body: manifestOf('a') }], { headers });
      expect(problems()).toEqual([`${URL}: ${message}`]);
      expect(requests).toEqual([]);
    },
  );

  it('sends a header value that is not Latin-1 as UTF-8 bytes', async () => {
    const { requests } = await setUp([{ body: manifestOf('a') }], { headers: { 'X-Name': ['\u20ac'] } });
    expect(requests).toEqual([{ 'X-Name': '\u00e2\u0082\u00ac' }]);
  });

  it('reads a Pod or a PodList from the manifest URL, and requests it again every period', async () => {
    const { told, look } = await setUp([{ body: manifestOf('a') }, { body: listOf('a', 'b') }, { body: listOf() }]);
    await look();
    await look();
    expect(told).toEqual(['a-n', 'a-n b-n', '']);
  });

  it('sends If-None-Match if the server returned an entity tag, and keeps the pods on 304', async () => {
    const { told, requests, look } = await setUp([
      { body: manifestOf('a'), etag: '"1"' },
      { status: 304 },
      { body: manifestOf('b'), etag: '"2"' },
    ]);
    await look();
    await look();
    expect(requests).toEqual([{}, { 'If-None-Match': '"1"' }, { 'If-None-Match': '"1"' }]);
    expect(told).toEqual(['a-n', 'b-n']);
  });

  it('sends all configured headers with the request', async () => {
    const { requests } = await setUp([], { headers: { 'Metadata-Flavor': ['x'], Authorization: ['t'] } });
    expect(requests[0]).toEqual({ 'Metadata-Flavor': 'x', Authorization: 't' });
  });

  it('W4: sends user and password of the manifest URL as an Authorization header and reports neither in problems', async () => {
    const { requests, problems, look } = await setUp([{ body: '{' }, { error: new Error('no route') }], {
      url: 'http://me:s%40cret@manifests.example/web',
    });
    expect(requests[0]).toEqual({ Authorization: `Basic ${btoa('me:s@cret')}` });
    expect(problems()).toEqual([expect.stringMatching(/^http:\/\/manifests\.example\/web:1:2: /)]);
    await look();
    expect(problems()).toEqual([`${URL}: no route`]);
  });

  it('a configured Authorization header takes precedence over user and password of the manifest URL', async () => {
    const { requests } = await setUp([], {
      url: 'http://me:s%40cret@manifests.example/web',
      headers: { authorization: ['Bearer t'] },
    });
    expect(requests).toEqual([{ authorization: 'Bearer t' }]);
  });

  it('reports no update if the response is unchanged', async () => {
    const { told, look } = await setUp([{ body: manifestOf('a') }, { body: manifestOf('a') }]);
    await look();
    expect(told).toEqual(['a-n']);
  });

  it.each<[string, Answer, string]>([
    [
      'a failed request',
      { error: new Error('fetch failed', { cause: new Error('connect ECONNREFUSED') }) },
      'fetch failed: connect ECONNREFUSED',
    ],
    ['an HTTP error status', { status: 503, body: listOf() }, 'answered with status 503'],
    ['an empty response', { body: '' }, 'the answer has no content'],
    ['a response above the size limit', { body: ' '.repeat(2000) }, 'the answer is larger than 1000 bytes'],
    ['a request without a response before the timeout', { hang: 'answer' }, 'no complete response within 10000 ms'],
    [
      'a response that is incomplete at the timeout',
      { body: '{', hang: 'body' },
      'no complete response within 10000 ms',
    ],
  ])('F2: keeps the last valid pods after %s, and reports the problem', async (_name, answer, problem) => {
    const { told, problems, look, clock } = await setUp(
      [{ body: manifestOf('a') }, answer, { body: manifestOf('a') }],
      { limitBytes: 1000 },
    );
    await look();
    await clock.advance(10_000);
    expect(problems()).toEqual([`${URL}: ${problem}`]);
    expect(told).toEqual(['a-n']);
    await look();
    expect([told, problems()]).toEqual([['a-n'], []]);
  });

  it('F2: keeps pods that are missing from a response with an invalid part', async () => {
    const broken = `${JSON.stringify(manifestOf('b'))}\n---\nx: [`;
    const { told, problems, look } = await setUp([{ body: listOf('a', 'b') }, { body: broken }]);
    await look();
    expect(told.at(-1)).toBe('b-n a-n');
    expect(problems()).toHaveLength(1);
  });

  it.each<[string, Answer]>([
    ['a failed request', { error: new Error('no route') }],
    ['an invalid manifest', { body: '{' }],
    ['304 although no entity tag was sent', { status: 304 }],
  ])('F1: the source is not ready if the first response is %s', async (_name, answer) => {
    const { told, look } = await setUp([answer, { body: manifestOf('a') }]);
    expect(told).toEqual([]);
    await look();
    expect(told).toEqual(['a-n']);
  });

  it.each<[string, Answer, string]>([
    ['a failed request', { error: new Error('no route') }, 'a-n b-n'],
    ['an invalid response', { body: '{' }, 'a-n b-n'],
    ['a response with an invalid part', { body: `${JSON.stringify(manifestOf('b'))}\n---\n{` }, 'b-n a-n'],
    ['an empty response at the start', { body: '' }, 'a-n b-n'],
  ])(
    'F2: after a restart with %s, the pods of the last valid response run until the next valid response',
    async (_name, answer, pods) => {
      const store = new LastGoodDirectory({ fs: new MemoryFileSystem({ clock: new FakeClock() }) }, { path: '/store' });
      await setUp([{ body: listOf('a', 'b') }], {}, store);
      const next = await setUp([answer, { body: listOf('c') }], {}, store);
      expect([next.told, next.problems()]).toEqual([[pods], [expect.any(String)]]);
      await next.look();
      expect([next.told.at(-1), next.problems()]).toEqual(['c-n', []]);
    },
  );

  it('F1: the source is not ready if the saved response is invalid and the first request fails', async () => {
    const store: LastGoodStore = {
      load: async () => bytesOf({ ...manifestOf('a'), spec: { containers: [] } }),
      save: async () => {},
      retain: async () => {},
    };
    const { told, look } = await setUp([{ error: new Error('no route') }, { body: manifestOf('a') }], {}, store);
    expect(told).toEqual([]);
    await look();
    expect(told).toEqual(['a-n']);
  });

  it('F1: the source is ready without pods if the first response is empty', async () => {
    const { told, problems } = await setUp([{ body: '' }]);
    expect([told, problems()]).toEqual([[''], [`${URL}: the answer has no content`]]);
  });
});

it.each([
  ['http://h/a?b#c', { url: 'http://h/a?b#c' }],
  ['http://u@h/', { url: 'http://h/', authorization: `Basic ${btoa('u:')}` }],
  ['http://u%zz:p@h/', { url: 'http://h/', authorization: `Basic ${btoa('u%zz:p')}` }],
  ['no url', { url: 'no url' }],
])('splitCredentials separates user and password from the URL %s', (url, expected) => {
  expect(splitCredentials(url)).toEqual(expected);
});

describe('HttpSource with a real HTTP server', () => {
  let server: Server;
  const listen = async (handler: RequestListener): Promise<string> => {
    server = createServer(handler).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    ends.push(() => new Promise((resolve) => void server.close(() => resolve())));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
  };

  it("works with the platform's fetch, and closes the connection of a response above the size limit", async () => {
    let asked = 0;
    let closed = 0;
    const url = await listen((request, response) => {
      asked++;
      response.on('close', () => closed++);
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end();
      else if (asked < 2) response.writeHead(200, { etag: '"1"' }).end(JSON.stringify(manifestOf('a')));
      else response.writeHead(200).end();
    });
    const clock = new FakeClock();
    const set = vi.fn();
    const source = new HttpSource(
      { fetch: globalThis.fetch, clock, logger: silentLogger, set },
      { url, nodeName: 'n' },
    );
    const controller = new AbortController();
    const ended = source.start(controller.signal);
    await vi.waitFor(() => expect(set).toHaveBeenCalledOnce());
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await clock.advance(20_000);
    await vi.waitFor(() => expect(asked).toBe(2));
    await vi.waitFor(() => expect(closed).toBe(2));
    controller.abort();
    await ended;
    expect(set).toHaveBeenCalledOnce();
    expect(source.problems).toEqual([]);
  });
});
