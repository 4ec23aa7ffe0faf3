import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { protocolsWithoutToken } from '../src/access/bearer-token.ts';
import { ANONYMOUS, withAuthenticatedGroup } from '../src/access/user.ts';
import { directoryPage } from '../src/endpoints/directory-page.ts';
import { disabledEndpoints } from '../src/endpoints/disabled-endpoints.ts';
import { explanationText } from '../src/endpoints/explanation-text.ts';
import { listReply } from '../src/endpoints/list-reply.ts';
import { podList, runningPodList } from '../src/endpoints/pod-list.ts';
import { zpageEndpoints, zpageForm } from '../src/endpoints/zpages.ts';
import { prefersText, takesGzip } from '../src/http/accept.ts';
import { json, text } from '../src/http/reply.ts';
import { taskProfile } from '../src/pprof/async-tasks.ts';
import { indexPage } from '../src/pprof/index-page.ts';
import { profileText } from '../src/pprof/profile-text.ts';
import { asksForCommandChannels, tunnelProtocol } from '../src/streams/web-socket-protocols.ts';

const HTML = { 'Content-Type': 'text/html; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };
const TEXT = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

describe('response headers and bodies', () => {
  it('a text response has a content type that browsers do not sniff', () => {
    expect(text(404, 'x')).toEqual({ status: 404, headers: TEXT, body: 'x' });
    expect(text(200, 'x', { Allow: 'GET', 'Content-Type': 'a/b' }).headers).toEqual({
      ...{ ...TEXT, 'Content-Type': 'a/b', Allow: 'GET' },
    });
  });

  it('a JSON response ends with a newline', () => {
    expect(json({ a: 1 })).toEqual({ status: 200, headers: { 'Content-Type': 'application/json' }, body: '{"a":1}\n' });
  });

  it("a disabled endpoint answers in upstream's words", () => {
    const endpoints = disabledEndpoints(['logs', 'pprof', 'verbosity']);
    const said = Object.entries(endpoints).map(([name, endpoint]) => [name, endpoint?.({} as never)]);
    expect(Object.fromEntries(said)).toEqual({
      logs: { status: 405, headers: TEXT, body: 'logs endpoint is disabled.\n' },
      pprof: { status: 405, headers: TEXT, body: 'profiling endpoint is disabled.\n' },
      verbosity: { status: 405, headers: TEXT, body: 'flags endpoint is disabled.\n' },
    });
    expect(disabledEndpoints([])).toEqual({});
  });
});

describe('content negotiation', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['text/plain', true],
    ['text/*', true],
    ['TEXT/PLAIN', true],
    ['application/json', false],
    ['application/json, text/plain', false],
    ['application/json;q=0.5, text/plain', true],
    ['application/json;q=0.5, text/plain;q=0.5', false],
    ['application/*;q=0.5, text/plain;q=0.6', true],
    ['application/*;q=0.6, text/plain;q=0.5', false],
    ['text/plain; q=0.9 , application/json ; q=0.8', true],
    ['text/plain;charset=utf-8;q=0.5, application/json;q=0.4', true],
    ['text/plain;q=1', true],
    ['application/json;q=1, text/plain', false],
    ['text/plain;q=0', false],
    ['text/plain;q=x', false],
    ['text/plain;q=0, text/plain', true],
    ['text/plain;q=0.1, text/plain;q=1, application/json;q=0.5', false],
    ['text/html, text/*;q=0.1', true],
    ['application/json;q=0.5;q=1, text/plain;q=0.7', true],
  ])('the Accept header %j prefers text to JSON: %s', (accept, isText) => expect(prefersText(accept)).toBe(isText));

  it.each<[string | undefined, boolean]>([
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['GZIP', true],
    ['deflate, gzip;q=1.0', true],
    [' gzip ; q=0.5', true],
    ['gzip;q=0', false],
    ['gzip;q=0.', false],
    ['gzip;q=0.000', false],
    ['gzip;q=0.001', true],
    ['gzip;x=1;q=0', false],
    ['gzipped', false],
    ['*', false],
  ])('the Accept-Encoding header %j accepts gzip: %s', (accept, isGzip) => expect(takesGzip(accept)).toBe(isGzip));
});

describe('page contents', () => {
  it("a directory listing has Go's format", () => {
    const entries = [
      { name: 'a', kind: 'file' },
      { name: 'b', kind: 'directory' },
      { name: 'c:d', kind: 'file' },
      { name: 'e/f:g', kind: 'symlink' },
      { name: `&<>"'`, kind: 'file' },
      { name: "x y!'()*$&+,;=@%", kind: 'file' },
      { name: '\ud800', kind: 'file' },
    ];
    const rows = [
      '<a href="a">a</a>',
      '<a href="b/">b/</a>',
      '<a href="./c:d">c:d</a>',
      '<a href="e/f:g">e/f:g</a>',
      '<a href="&%3C%3E%22%27">&amp;&lt;&gt;&#34;&#39;</a>',
      '<a href="x%20y%21%27%28%29%2A$&+,;=@%25">x y!&#39;()*$&amp;+,;=@%</a>',
      '<a href="%EF%BF%BD">\ufffd</a>',
    ];
    const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n';
    expect(directoryPage(entries)).toEqual({ status: 200, headers: HTML, body: `${head}${rows.join('\n')}\n</pre>\n` });
    expect(directoryPage([]).body).toBe(`${head}</pre>\n`);
    const many = Array.from({ length: 10_001 }, (_, index) => ({ name: `${index}`, kind: 'file' }));
    const { body } = directoryPage(many);
    expect([body.includes('>9999<'), body.includes('>10000<')]).toEqual([true, false]);
  });

  it('the profile index lists the profiles', () => {
    const { status, headers, body } = indexPage(3);
    expect([status, headers]).toEqual([200, HTML]);
    const terms = [...body.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>\n/g)].map(([, term]) => term);
    expect(terms).toEqual([
      '<a href="allocs">allocs</a>',
      '<a href="cmdline">cmdline</a>',
      '<a href="goroutine?debug=1">goroutine</a> (3)',
      '<a href="heap?debug=1">heap</a>',
      '<a href="profile">profile</a>',
      '<a href="symbol">symbol</a>',
      '<a href="trace">trace</a>',
    ]);
    expect(body).toMatch(/^<!doctype html>\n<title>\/debug\/pprof\/<\/title>\n<h1>\/debug\/pprof\/<\/h1>\n<dl>\n<dt>/);
    expect(body).toMatch(/<\/dl>\n<p>Profiles are in the format of pprof; with \?debug=1 they are text\.<\/p>\n$/);
    expect(body).not.toContain('<dd></dd>');
    expect(body.split('\n').filter((line) => !/^<dt>.*<\/dd>$/.test(line))).toHaveLength(7);
  });

  it('a text profile is sorted by value, largest first', () => {
    const frame = (name: string, file = '', line = 0) => ({ name, file, line });
    const samples = [
      { stack: [frame('a', '/x.js', 3), frame('main')], values: [1, 10] },
      { stack: [frame('b')], values: [9, 20] },
      { stack: [frame('c')], values: [2, 15] },
    ];
    const sampleTypes = [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ];
    const common = { defaultType: 'cpu', timeMs: 0 };
    expect(profileText('cpu', { ...common, sampleTypes, samples, durationMs: 1500 })).toBe(
      'cpu profile: total 45 nanoseconds (cpu) in 1.500 s\n\n9 20 @\n#\tb\n\n2 15 @\n#\tc\n\n1 10 @\n#\ta\t/x.js:3\n#\tmain\n',
    );
    const counted = { ...common, sampleTypes: sampleTypes.slice(0, 1), samples };
    expect(profileText('x', counted)).toBe(
      'x profile: total 12 samples\n\n9 20 @\n#\tb\n\n2 15 @\n#\tc\n\n1 10 @\n#\ta\t/x.js:3\n#\tmain\n',
    );
    expect(profileText('x', { ...counted, samples: [] })).toBe('x profile: total 0 samples\n');
  });

  it('tasks are counted by what they wait for', () => {
    const tasks = [['a', 'b'], ['c'], ['a', 'b'], ['a,b']];
    const frame = (name: string) => ({ name, file: '', line: 0 });
    expect(taskProfile(tasks, 7)).toEqual({
      sampleTypes: [{ type: 'goroutine', unit: 'count' }],
      defaultType: 'goroutine',
      period: { type: 'goroutine', unit: 'count', value: 1 },
      timeMs: 7,
      samples: [
        { stack: [frame('a'), frame('b')], values: [2] },
        { stack: [frame('c')], values: [1] },
        { stack: [frame('a,b')], values: [1] },
      ],
    });
  });

  it('a pod list omits list metadata', () => {
    const [metadata, spec] = [{ name: 'p', namespace: 'ns', uid: 'u' }, { containers: [{ name: 'c' }] }];
    const list = { kind: 'PodList', apiVersion: 'v1', metadata: {} };
    const pods = [
      { apiVersion: 'v1', kind: 'Pod', metadata, spec },
      { metadata, spec, status: { phase: 'Running' } },
    ];
    expect(podList(pods)).toEqual({
      ...list,
      items: [
        { metadata, spec, status: {} },
        { metadata, spec, status: { phase: 'Running' } },
      ],
    });
    const containers = [
      { name: 'init', image: 'i', id: 'v', state: 'exited' },
      { name: 'c', image: 'i', id: 'w', state: 'exited' },
      { name: 'c', image: 'i', id: 'x', state: 'running' },
      { name: 'd', image: 'i', id: 'y', state: 'created' },
      { name: 'e', image: 'i', id: 'z', state: 'unknown' },
    ];
    expect(runningPodList([{ ...metadata, createdAtMs: 1, sandboxes: [], containers } as never])).toEqual({
      ...list,
      items: [{ metadata, spec: { containers: [{ name: 'c', image: 'i', resources: {} }] }, status: {} }],
    });
  });

  it.each([0, 1, 7, 8, 9, 30])('the reply of a list of %i pods is its JSON with a newline', async (count) => {
    const items = Array.from({ length: count }, (_, index) => ({ metadata: { name: `p-${index}-\u00e4"\u2028` } }));
    const list = { kind: 'PodList', apiVersion: 'v1', metadata: {}, items } as const;
    const { status, headers, bytes } = await listReply(list, new FakeClock(), new AbortController().signal);
    expect({ status, headers, body: Buffer.from(bytes).toString() }).toEqual(json(list));
  });

  it('encodes at most 24 pods of a long list in one turn of the event loop if each takes half a millisecond', async () => {
    const clock = new FakeClock();
    const turns = new Map<number, number>();
    const items = Array.from({ length: 100 }, (_, index) => ({
      get uid() {
        clock.spend(0.5);
        turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? 0) + 1);
        return `${index}`;
      },
    }));
    const abort = new AbortController();
    const list = { kind: 'PodList', apiVersion: 'v1', metadata: {}, items } as const;
    const reply = listReply(list, clock, abort.signal);
    await clock.advance(1000);
    expect([...turns.values()]).toEqual([24, 24, 24, 24, 4]);
    expect(JSON.parse(Buffer.from((await reply).bytes).toString()).items).toHaveLength(100);
    const second = listReply(list, clock, abort.signal);
    await clock.settle();
    abort.abort(new Error('the client disconnected'));
    await expect(second).rejects.toThrow('the client disconnected');
  });

  it('the text explanation has one line per value, including lists, empty values and nested values', () => {
    const value = {
      waitingFor: 'a volume',
      none: undefined,
      empty: {},
      gone: [],
      nothing: null,
      control: 'a\nb',
      steps: ['x', '  y', {}, { at: 1, by: { name: 'n' } }, [2, 3]],
    };
    expect(explanationText(value)).toBe(
      [
        ...['waiting for: a volume', 'empty: none', 'gone: none', 'nothing: null', 'control: "a\\nb"', 'steps:'],
        ...['  - x', '  -   y', '  - ', '  - at: 1', '    by:', '      name: n', '  - - 2', '    - 3', ''],
      ].join('\n'),
    );
    const deep = (depth: number): unknown => (depth === 0 ? { x: 1 } : { a: deep(depth - 1) });
    const lines = explanationText(deep(12)).split('\n');
    expect(lines.slice(11)).toEqual([`${'  '.repeat(11)}a:`, `${'  '.repeat(12)}x: 1`, '']);
    expect(explanationText(deep(13)).split('\n').at(-2)).toBe(`${'  '.repeat(12)}a: {"x":1}`);
    expect(explanationText('x')).toBe('x\n');
  });
});

describe('/statusz and /flagz', () => {
  const JSON_TYPE = 'application/json;as=Statusz;v=v1beta1;g=config.k8s.io';
  const call = (accept?: string) => ({ headers: accept === undefined ? {} : { accept } }) as never;
  const bodyOf = (answer: unknown): string => (answer as { readonly body: string }).body;
  const clock = { now: () => Date.UTC(2026, 0, 3, 4, 5, 6, 700) };
  const startTimeMs = Date.UTC(2026, 0, 2, 1, 4, 3, 800);
  const statusz = { startTimeMs, binaryVersion: '1.36.3', runtimeVersion: 'v1', paths: ['/pods', '/healthz'] };
  const flags = { 'node-ip': '', v: '2', 'a b': 'x: "y"' };
  const endpoints = zpageEndpoints({ clock, statusz, flagz: () => flags });
  const warning =
    'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

  it('statusz and flagz are served as text', async () => {
    expect(await endpoints.statusz?.(call())).toEqual({
      status: 200,
      headers: TEXT,
      body: `\nkubelet statusz\n${warning}\n\nStarted: Fri Jan  2 01:04:03 UTC 2026\nUp: 27 hr 01 min 02 sec\nGo version: v1\nBinary version: 1.36.3\nPaths: /healthz /pods\n`,
    });
    expect(await endpoints.flagz?.(call('text/plain'))).toEqual({
      status: 200,
      headers: TEXT,
      body: `\nkubelet flagz\n${warning}\na b=x: "y"\nnode-ip=\nv=2\n`,
    });
  });

  it('statusz and flagz are served as versioned JSON and YAML', async () => {
    const object = {
      ...{ kind: 'Statusz', apiVersion: 'config.k8s.io/v1beta1', metadata: { name: 'kubelet' } },
      ...{ startTime: '2026-01-02T01:04:03Z', uptimeSeconds: 97_262, goVersion: 'v1', binaryVersion: '1.36.3' },
      paths: ['/healthz', '/pods'],
    };
    expect(await endpoints.statusz?.(call(JSON_TYPE))).toEqual({
      ...{ status: 200, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(object)}\n` },
    });
    expect(await endpoints.flagz?.(call('application/yaml;as=Flagz;v=v1alpha1;g=config.k8s.io'))).toEqual({
      status: 200,
      headers: {
        'Content-Type': 'application/yaml',
        Warning: '299 - "This version of the flagz endpoint is deprecated. Please use a newer version."',
      },
      body: 'kind: "Flagz"\napiVersion: "config.k8s.io/v1alpha1"\nmetadata:\n  name: "kubelet"\nflags:\n  node-ip: ""\n  v: "2"\n  "a b": "x: \\"y\\""\n',
    });
    const yaml = await endpoints.statusz?.(call(JSON_TYPE.replace('json', 'yaml')));
    expect(bodyOf(yaml)).toContain('uptimeSeconds: 97262\n');
    expect(bodyOf(yaml)).toContain('paths:\n- "/healthz"\n- "/pods"\n');
  });

  it('statusz and flagz list the supported media types if none is acceptable', async () => {
    const types = ['v1alpha1', 'v1beta1'].flatMap((version) =>
      ['json', 'yaml'].map((type) => `application/${type};as=Flagz;v=${version};g=config.k8s.io`),
    );
    const body = `only the following media types are accepted: text/plain, ${types.join(', ')}\n`;
    expect(await endpoints.flagz?.(call('a/b'))).toEqual({ status: 406, headers: TEXT, body });
  });

  it('statusz omits unknown values, and shows no negative uptime if the clock went back', async () => {
    expect([zpageEndpoints({}), Object.keys(zpageEndpoints({ statusz }))]).toEqual([{}, ['statusz']]);
    const hour = zpageEndpoints({ clock: { now: () => startTimeMs + 3_600_000 }, statusz });
    expect(bodyOf(await hour.statusz?.(call()))).toContain('Up: 1 hr 00 min 00 sec\n');
    const early = zpageEndpoints({ clock: { now: () => startTimeMs - 5000 }, statusz });
    expect(bodyOf(await early.statusz?.(call()))).toContain('Up: 0 hr 00 min 00 sec\n');
  });

  it.each<[string | undefined, unknown]>([
    [undefined, 'text'],
    [' ', 'text'],
    ['*/*', 'text'],
    ['text/*', 'text'],
    ['text/plain;q=0.5', 'text'],
    ['a/b, text/plain', 'text'],
    ['text/plain;as=Statusz', undefined],
    ['text/plain;v=v1', undefined],
    ['*/*;g=x', undefined],
    ['a/b', undefined],
    ['application/json', undefined],
    [JSON_TYPE, { type: 'application/json', version: 'v1beta1' }],
    [JSON_TYPE.replaceAll(';', ' ; '), { type: 'application/json', version: 'v1beta1' }],
    [`a/b, ${JSON_TYPE}`, { type: 'application/json', version: 'v1beta1' }],
    [JSON_TYPE.replace('beta', 'alpha'), { type: 'application/json', version: 'v1alpha1' }],
    [JSON_TYPE.replace('json', 'yaml'), { type: 'application/yaml', version: 'v1beta1' }],
    [JSON_TYPE.replace('json', 'cbor'), undefined],
    [JSON_TYPE.replace('Statusz', 'Flagz'), undefined],
    [JSON_TYPE.replace('v1beta1', 'v2'), undefined],
    [JSON_TYPE.replace('config.', 'x.'), undefined],
  ])('the Accept header %j selects the format %j', (accept, form) =>
    expect(zpageForm(accept, 'Statusz')).toEqual(form),
  );
});

describe('users and WebSocket protocols', () => {
  it('adds the group system:authenticated once, and not to unauthenticated users', () => {
    expect(ANONYMOUS).toEqual({ name: 'system:anonymous', groups: ['system:unauthenticated'] });
    const [user, odd] = [
      { name: 'u', groups: ['g'] },
      { name: 'u', groups: ['system:unauthenticated'] },
    ];
    expect(withAuthenticatedGroup(user).groups).toEqual(['g', 'system:authenticated']);
    expect(withAuthenticatedGroup(withAuthenticatedGroup(user)).groups).toEqual(['g', 'system:authenticated']);
    expect([withAuthenticatedGroup(odd), withAuthenticatedGroup({ ...user, name: ANONYMOUS.name }).groups]).toEqual([
      ...[odd, ['g']],
    ]);
  });

  it('the WebSocket subprotocol of a SPDY tunnel is SPDY/3.1+ and the tunnelled protocol; a request without headers offers no subprotocol', () => {
    expect(tunnelProtocol('portforward.k8s.io')).toBe('SPDY/3.1+portforward.k8s.io');
    expect(asksForCommandChannels({})).toBe(false);
    expect(protocolsWithoutToken({ upgrade: 'websocket' })).toEqual([]);
  });
});
