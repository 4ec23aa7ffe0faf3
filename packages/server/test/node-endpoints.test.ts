import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Call, Endpoint } from '../src/endpoints/call.ts';
import { explanationText } from '../src/endpoints/explanation-text.ts';
import { zpageForm } from '../src/endpoints/zpages.ts';
import { prefersText, takesGzip } from '../src/http/accept.ts';
import type { Answer } from '../src/http/exchange.ts';
import {
  checkpointEndpoints,
  disabledEndpoints,
  HealthcheckSlis,
  type HostLogFiles,
  hostLogEndpoints,
  stateEndpoints,
  statsEndpoints,
  verbosityEndpoints,
  zpageEndpoints,
} from '../src/index.ts';

interface Asked {
  readonly params?: Partial<Call['params']>;
  readonly query?: string;
  readonly accept?: string;
  readonly body?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function callOf(
  { params, query = '', accept, body = '', method = 'GET', headers = {} }: Asked,
  signal = new AbortController().signal,
): Call {
  const all = { namespace: '', pod: '', uid: '', container: '', check: '', rest: [] };
  return {
    method,
    headers: { ...headers, ...(accept !== undefined && { accept }) },
    remoteAddress: '127.0.0.1',
    signal,
    takeTime() {},
    body: async (limitBytes) => (body.length > limitBytes ? undefined : Buffer.from(body)),
    user: { name: 'u', groups: [] },
    path: '/',
    params: { ...all, ...params },
    query: new URLSearchParams(query),
  };
}

/** Calls an endpoint and reads a streamed response to its end. */
async function ask(
  endpoint: Endpoint | undefined,
  asked: Asked = {},
): Promise<{ status: number; headers: Readonly<Record<string, string>>; body: string }> {
  if (endpoint === undefined) throw new Error('there is no such endpoint');
  const answer: Answer = await endpoint(callOf(asked));
  if ('body' in answer) return answer;
  const { status, headers } = answer;
  if ('bytes' in answer) return { status, headers, body: Buffer.from(answer.bytes).toString('latin1') };
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.stream) chunks.push(chunk);
  return { status, headers, body: Buffer.concat(chunks).toString() };
}

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'main', image: 'i' }] },
};

describe('configz', () => {
  it('/configz shows how the configuration in force differs from the configuration files', async () => {
    let reload: object | undefined = { needsRestart: ['port'] };
    const { configz } = stateEndpoints({
      ...{ checks: [], getPods: () => [], getRunningPods: async () => [] },
      renderMetrics: () => ({ contentType: '', text: '' }),
      configuration: () => ({ port: 1 }),
      configurationReload: () => reload,
    });
    const shown = async () => JSON.parse((await ask(configz)).body);
    expect(await shown()).toEqual({ kubeletconfig: { port: 1 }, kubeletconfigReload: { needsRestart: ['port'] } });
    reload = undefined;
    expect(await shown()).toEqual({ kubeletconfig: { port: 1 } });
  });
});

describe('state', () => {
  const state = stateEndpoints({
    logger: silentLogger,
    checks: [{ name: 'syncloop', check: () => 'stuck' }],
    getPods: () => [pod],
    getRunningPods: async () => [],
    renderMetrics: () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }),
    renderProbeMetrics: () => ({ contentType: 'text/plain', text: 'probes 1\n' }),
    explain: (_namespace, name) => (name === 'web' ? { pod: { name }, waitingFor: ['a volume'] } : undefined),
    explainNode: () => ({ problems: [], waiting: [] }),
    configuration: () => ({ kind: 'KubeletConfiguration' }),
  });

  it('healthz reports each check, including log and ping', async () => {
    expect(await ask(state.healthz, { params: { check: 'ping' } })).toMatchObject({ status: 200, body: 'ok' });
    expect(await ask(state.healthz, { params: { check: 'log' } })).toMatchObject({ status: 200, body: 'ok' });
    expect(await ask(state.healthz, { params: { check: 'syncloop' } })).toMatchObject({
      status: 500,
      body: 'internal server error: stuck\n',
    });
    expect(await ask(state.healthz, { params: { check: 'none' } })).toMatchObject({ status: 404 });
    expect((await ask(state.healthz, { query: 'exclude=syncloop' })).body).toBe('ok');
  });

  it('node metrics and probe metrics are served separately', async () => {
    expect((await ask(state.metrics)).body).toBe('up 1\n');
    expect((await ask(state.probeMetrics)).body).toBe('probes 1\n');
  });

  it("configz returns the configuration under upstream's name", async () => {
    expect(JSON.parse((await ask(state.configz)).body)).toEqual({ kubeletconfig: { kind: 'KubeletConfiguration' } });
  });

  it('/debug/explain explains a pod and the node as JSON or text', async () => {
    const params = { namespace: 'default', pod: 'web' };
    expect(JSON.parse((await ask(state.explain, { params })).body)).toMatchObject({ waitingFor: ['a volume'] });
    expect((await ask(state.explain, { params, accept: 'text/plain' })).body).toBe(
      'pod:\n  name: web\nwaiting for:\n  - a volume\n',
    );
    expect((await ask(state.explain, { params: { ...params, pod: 'x' } })).status).toBe(404);
    expect((await ask(state.explain, { accept: 'text/plain' })).body).toBe('problems: none\nwaiting: none\n');
  });

  it('text explanations are formatted by the component explanationText; the query format takes precedence over Accept', async () => {
    const { explain } = stateEndpoints({
      ...{ logger: silentLogger, checks: [], getPods: () => [], getRunningPods: async () => [] },
      renderMetrics: () => ({ contentType: '', text: '' }),
      explainNode: () => ({ pods: 3 }),
      explain: () => undefined,
      explanationText: (value) => `in words: ${JSON.stringify(value)}\n`,
    });
    expect((await ask(explain, { query: 'format=text' })).body).toBe('in words: {"pods":3}\n');
    expect((await ask(explain, { accept: 'text/plain' })).body).toBe('in words: {"pods":3}\n');
    expect((await ask(explain, { query: 'format=json', accept: 'text/plain' })).body).toBe('{"pods":3}\n');
  });

  it('an optional endpoint (/configz, /explain, /metrics/probes) does not exist if the components lack its source', () => {
    const { configz, explain, probeMetrics } = stateEndpoints({
      ...{ logger: silentLogger, checks: [], getPods: () => [], getRunningPods: async () => [] },
      renderMetrics: () => ({ contentType: '', text: '' }),
    });
    expect([configz, explain, probeMetrics]).toEqual([undefined, undefined, undefined]);
  });
});

describe('node stats', () => {
  const stats = {
    summary: async (only: boolean) => JSON.stringify({ node: { nodeName: 'n' }, pods: [], ...(only && { only }) }),
    cadvisorMetrics: async () => 'container_last_seen 1\n',
    resourceMetrics: async () => 'node_cpu_usage_seconds_total 1\n',
  };
  const endpoints = statsEndpoints({ stats });

  it('/stats/summary returns the summary, with only CPU and memory if the query or form requests that', async () => {
    const all = await ask(endpoints.stats);
    expect(all).toMatchObject({ status: 200, body: '{"node":{"nodeName":"n"},"pods":[]}\n' });
    expect(all.headers['Content-Type']).toBe('application/json');
    const only = '{"node":{"nodeName":"n"},"pods":[],"only":true}\n';
    expect((await ask(endpoints.stats, { query: 'only_cpu_and_memory=true' })).body).toBe(only);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const form = { method: 'POST', headers, body: 'only_cpu_and_memory=true' };
    expect((await ask(endpoints.stats, form)).body).toBe(only);
    // The parameter has no effect if it is repeated, or if its value is not exactly `true`.
    for (const query of ['only_cpu_and_memory=1', 'only_cpu_and_memory=true&only_cpu_and_memory=true']) {
      expect((await ask(endpoints.stats, { query })).body).toBe(all.body);
    }
  });

  it("/stats/summary reports in upstream's words why there is no summary", async () => {
    const summary = async (): Promise<string> => {
      throw new Error('failed to list pod stats: gone');
    };
    const broken = statsEndpoints({ stats: { ...stats, summary } });
    const answer = await ask(broken.stats);
    expect(answer).toMatchObject({ status: 500, body: 'Internal Error: failed to list pod stats: gone' });
  });

  it('/metrics/cadvisor returns the metrics of containers, and /metrics/resource those of resources', async () => {
    expect(await ask(endpoints.cadvisorMetrics)).toMatchObject({
      headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
      body: 'container_last_seen 1\n',
    });
    expect((await ask(endpoints.resourceMetrics)).body).toBe('node_cpu_usage_seconds_total 1\n');
  });

  it('/metrics/slis counts the results of health checks only if all checks are requested, and DELETE resets the counts', async () => {
    let problem: string | undefined;
    const slis = new HealthcheckSlis(1_500_000);
    const state = stateEndpoints({
      ...{ slis, getPods: () => [], getRunningPods: async () => [] },
      checks: [{ name: 'syncloop', check: () => problem }],
      renderMetrics: () => ({ contentType: '', text: '' }),
    });
    await ask(state.healthz);
    problem = 'stuck';
    await ask(state.healthz);
    await ask(state.healthz, { params: { check: 'syncloop' } });
    await ask(state.healthz, { query: 'exclude=syncloop' });
    const { body } = await ask(state.slis);
    const lines = body.split('\n');
    expect(lines).toContain('kubernetes_healthcheck{name="syncloop",type="healthz"} 0');
    expect(lines).toContain('kubernetes_healthcheck{name="ping",type="healthz"} 1');
    expect(lines).toContain('kubernetes_healthchecks_total{name="syncloop",status="success",type="healthz"} 1');
    expect(lines).toContain('kubernetes_healthchecks_total{name="syncloop",status="error",type="healthz"} 1');
    expect(lines).toContain('process_start_time_seconds 1500');
    expect((await ask(state.slis, { method: 'DELETE' })).body).toBe('metrics reset\n');
    expect((await ask(state.slis)).body).not.toContain('kubernetes_healthcheck');
  });
});

describe('content negotiation of responses', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/json', false],
    ['text/plain', true],
    ['text/*', true],
    ['text/plain, application/json', false],
    ['text/plain, application/json;q=0.5', true],
    ['application/json, text/plain;q=0.9', false],
    ['text/plain;q=0', false],
  ])('a client with the Accept header %s prefers text to JSON: %s', (accept, expected) => {
    expect(prefersText(accept)).toBe(expected);
  });

  it.each([
    [undefined, false],
    ['gzip', true],
    ['deflate, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip;q=0.00', false],
    ['*', false],
    ['x-gzip', false],
  ])('a client with the Accept-Encoding header %s accepts gzip: %s', (acceptEncoding, expected) => {
    expect(takesGzip(acceptEncoding)).toBe(expected);
  });

  it('W5: an explanation keeps its line structure, whatever its values contain', () => {
    expect(explanationText({ message: 'a\nb\u001b[31m', list: [{ x: 1, y: [] }, 'z'], none: undefined })).toBe(
      'message: "a\\nb\\u001b[31m"\nlist:\n  - x: 1\n    y: none\n  - z\n',
    );
    fc.assert(
      fc.property(fc.object({ maxDepth: 4 }), (value) => {
        expect(explanationText(value)).not.toMatch(/[^\P{Cc}\n]/u);
      }),
    );
  });
});

describe('/statusz and /flagz', () => {
  const statusz = { startTimeMs: 1000, binaryVersion: 'v1.36.3', runtimeVersion: 'node v24', paths: ['/healthz'] };
  const pages = zpageEndpoints({
    clock: { now: () => 63_999 },
    statusz,
    flagz: () => ({ v: '2', 'anonymous-auth': 'false' }),
  });
  const JSON_OF = (kind: string, version: string): string => `application/json;v=${version};g=config.k8s.io;as=${kind}`;

  it.each([
    [undefined, 'text'],
    ['', 'text'],
    ['*/*', 'text'],
    ['application/json, */*', 'text'],
    ['text/plain', 'text'],
    ['application/json', undefined],
    ['text/html', undefined],
    [JSON_OF('Statusz', 'v1beta1'), { type: 'application/json', version: 'v1beta1' }],
    [JSON_OF('Statusz', 'v1alpha1').replace('json', 'yaml'), { type: 'application/yaml', version: 'v1alpha1' }],
    [JSON_OF('Statusz', 'v2'), undefined],
    [JSON_OF('Flagz', 'v1beta1'), undefined],
    ['application/json;as=Statusz', undefined],
  ])('for the Accept header %s, /statusz selects the format %j', (accept, form) => {
    expect(zpageForm(accept, 'Statusz')).toEqual(form);
  });

  it('statusz and flagz show the start time and the flags of the program', async () => {
    const { body, headers } = await ask(pages.statusz);
    expect(headers['Content-Type']).toMatch(/^text\/plain/);
    expect(body).toMatch(
      /^\nkubelet statusz\nWarning: .*\n\nStarted: Thu Jan {2}1 00:00:01 UTC 1970\nUp: 0 hr 01 min 02 sec\nGo version: node v24\nBinary version: v1.36.3\nPaths: \/healthz\n$/,
    );
    expect((await ask(pages.flagz)).body).toMatch(/^\nkubelet flagz\nWarning: .*\nanonymous-auth=false\nv=2\n$/);
    const yaml = await ask(pages.flagz, { accept: JSON_OF('Flagz', 'v1beta1').replace('json', 'yaml') });
    expect(yaml.headers['Content-Type']).toBe('application/yaml');
    expect(yaml.body).toBe(
      'kind: "Flagz"\napiVersion: "config.k8s.io/v1beta1"\nmetadata:\n  name: "kubelet"\nflags:\n  v: "2"\n  anonymous-auth: "false"\n',
    );
    expect(JSON.parse((await ask(pages.statusz, { accept: JSON_OF('Statusz', 'v1beta1') })).body)).toEqual({
      ...{ kind: 'Statusz', apiVersion: 'config.k8s.io/v1beta1', metadata: { name: 'kubelet' } },
      ...{ startTime: '1970-01-01T00:00:01Z', uptimeSeconds: 62, goVersion: 'node v24', binaryVersion: 'v1.36.3' },
      paths: ['/healthz'],
    });
    const old = await ask(pages.flagz, { accept: JSON_OF('Flagz', 'v1alpha1') });
    expect(JSON.parse(old.body)).toMatchObject({ apiVersion: 'config.k8s.io/v1alpha1', flags: { v: '2' } });
    expect(old.headers.Warning).toContain('deprecated');
    expect((await ask(pages.statusz, { accept: 'application/yaml' })).status).toBe(406);
  });
});

describe('/debug/flags/v', () => {
  it('PUT /debug/flags/v sets the log verbosity, and refuses values that are not numbers', async () => {
    const set: number[] = [];
    const { verbosity } = verbosityEndpoints({ set: (level) => void set.push(level) });
    for (const body of ['4', '007', '2147483647']) {
      const said = `successfully set klog.logging.verbosity to ${body}`;
      expect(await ask(verbosity, { method: 'PUT', body })).toMatchObject({ status: 200, body: said });
    }
    for (const [body, words] of [
      ['', 'strconv.ParseUint: parsing "": invalid syntax'],
      ['x', 'strconv.ParseUint: parsing "x": invalid syntax'],
      ['-1', 'strconv.ParseUint: parsing "-1": invalid syntax'],
      ['1.5', 'strconv.ParseUint: parsing "1.5": invalid syntax'],
      ['4294967296', 'strconv.ParseUint: parsing "4294967296": value out of range'],
      ['9'.repeat(40), `strconv.ParseUint: parsing "${'9'.repeat(40)}": value out of range`],
      [
        '2147483648',
        'failed set klog.logging.verbosity 2147483648: strconv.ParseInt: parsing "2147483648": value out of range',
      ],
      ['9'.repeat(100), 'error reading request body: more than 64 bytes'],
    ] as const) {
      expect(await ask(verbosity, { method: 'PUT', body })).toMatchObject({ status: 400, body: words });
    }
    expect(set).toEqual([4, 7, 2_147_483_647]);
  });

  it('the log verbosity changes by PUT only', async () => {
    const { verbosity } = verbosityEndpoints({ set: () => expect.unreachable() });
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
      expect(await ask(verbosity, { method, body: '4' })).toMatchObject({
        status: 406,
        body: 'unsupported http method',
      });
    }
  });
});

describe('disabled endpoints', () => {
  it("a disabled endpoint answers in upstream's words", async () => {
    const { logs, pprof, verbosity } = disabledEndpoints(['logs', 'pprof', 'verbosity']);
    for (const [endpoint, body] of [
      [logs, 'logs endpoint is disabled.\n'],
      [pprof, 'profiling endpoint is disabled.\n'],
      [verbosity, 'flags endpoint is disabled.\n'],
    ] as const) {
      expect(await ask(endpoint)).toMatchObject({ status: 405, body });
    }
  });
});

describe('/checkpoint', () => {
  const container = {
    ...{ id: 'c1', name: 'main', sandboxId: 's1', image: 'i', imageId: 'x', hash: '', restartCount: 0, createdAtMs: 1 },
    state: 'running' as const,
  };
  const running: RuntimePod = {
    ...{ uid: 'u1', name: 'web', namespace: 'default', createdAtMs: 0, sandboxes: [] },
    containers: [container],
  };
  const params = { namespace: 'default', pod: 'web', container: 'main' };
  const make = (pods: readonly RuntimePod[] = [running], failure?: Error) => {
    const asked: unknown[] = [];
    const { checkpoint } = checkpointEndpoints(
      {
        clock: { now: () => 1_234 },
        getPodByName: (_namespace, name) => (name === 'web' ? pod : undefined),
        getRunningPods: async () => pods,
        runtime: {
          async checkpointContainer(request) {
            if (failure) throw failure;
            asked.push(request);
          },
        },
      },
      { directory: '/var/lib/kubelet/checkpoints', fs: { mkdir: async (path) => void asked.push(path) } },
    );
    return { checkpoint, asked };
  };

  it('a checkpoint is made by the runtime, in a directory that other users cannot read', async () => {
    const { checkpoint, asked } = make();
    const location = '/var/lib/kubelet/checkpoints/checkpoint-web_default-main-1970-01-01T00:00:01Z.tar';
    expect(await ask(checkpoint, { params, query: 'timeout=1&timeout=7' })).toMatchObject({
      status: 200,
      body: JSON.stringify({ items: [location] }),
    });
    expect(asked).toEqual(['/var/lib/kubelet/checkpoints', { containerId: 'c1', location, timeout: 7 }]);
  });

  it.each([
    [{ params: { ...params, pod: 'x' } }, 404, 'pod does not exist'],
    [{ params: { ...params, container: 'x' } }, 404, 'container x does not exist'],
    [{ params, query: 'timeout=x' }, 404, 'cannot parse value of timeout parameter'],
  ])('checkpoint request %j is rejected with %d: %s', async (asked, status, body) => {
    expect(await ask(make().checkpoint, asked)).toMatchObject({ status, body });
  });

  it('/checkpoint reports why no checkpoint was made', async () => {
    expect(await ask(make([]).checkpoint, { params })).toMatchObject({
      status: 500,
      body: 'checkpointing of default/web/main failed (container main not found)',
    });
    expect((await ask(make([running], new Error('no criu')).checkpoint, { params })).body).toBe(
      'checkpointing of default/web/main failed (no criu)',
    );
  });
});

describe('/logs/', () => {
  const failing = (code: string): Error => Object.assign(new Error(code), { code });
  const make = (over: Partial<HostLogFiles> = {}) => {
    const open = { files: 0 };
    const files: HostLogFiles = {
      async openBeneath(directory, path, options) {
        expect([directory, options]).toEqual(['/var/log', { links: 'within' }]);
        if (path === 'sub') throw failing('EISDIR');
        if (path !== 'messages') throw failing('ENOENT');
        open.files++;
        const content = Buffer.from('x'.repeat(100_000));
        return {
          read: async (position, length) => content.subarray(position, position + length),
          stat: async () => ({ sizeBytes: 99_999 }),
          close: async () => void open.files--,
        };
      },
      readdir: async (path) => [
        { name: path === '/var/log' ? 'messages' : 'inner', kind: 'file' },
        { name: '<b>"&', kind: 'directory' },
      ],
      realpath: async (path) => path,
      ...over,
    };
    return { logs: hostLogEndpoints({ files }).logs, open };
  };

  it('/logs/ serves a file up to its size when opened, and closes it', async () => {
    const { logs, open } = make();
    const { status, headers, body } = await ask(logs, { params: { rest: ['messages'] } });
    expect([status, headers['Content-Type'], body.length]).toEqual([200, 'text/plain; charset=utf-8', 99_999]);
    expect(open.files).toBe(0);
  });

  it('W2: /logs/ closes a file whose response nobody reads', async () => {
    const { logs, open } = make();
    const controller = new AbortController();
    await logs?.(callOf({ params: { rest: ['messages'] } }, controller.signal));
    expect(open.files).toBe(1);
    controller.abort();
    expect(open.files).toBe(0);
  });

  it("/logs/ lists directories in the format of Go's file server", async () => {
    const { body, headers } = await ask(make().logs);
    expect(headers['Content-Type']).toBe('text/html; charset=utf-8');
    expect(body).toContain('<a href="messages">messages</a>\n');
    expect(body).toContain('<a href="%3Cb%3E%22&/">&lt;b&gt;&#34;&amp;/</a>\n');
    expect((await ask(make().logs, { params: { rest: ['sub'] } })).body).toContain('inner');
  });

  it('W3: /logs/ lists a directory that contains a name that is not UTF-8', async () => {
    const readdir = async () => [
      { name: 'a\udcff', kind: 'file' },
      { name: 'b', kind: 'file' },
    ];
    expect((await ask(make({ readdir }).logs)).body).toContain('<a href="a%EF%BF%BD">a\ufffd</a>\n<a href="b">b</a>\n');
  });

  it('W3: /logs/ serves nothing that a symbolic link leads to outside', async () => {
    const realpath = async (path: string) => (path.endsWith('/sub') ? '/etc' : path);
    expect((await ask(make({ realpath }).logs, { params: { rest: ['sub'] } })).status).toBe(404);
    for (const [code, status] of [
      ['ELOOP', 404],
      ['EXDEV', 404],
      ['ENXIO', 404],
      ['EACCES', 403],
    ] as const) {
      const openBeneath = () => Promise.reject(failing(code));
      expect((await ask(make({ openBeneath }).logs, { params: { rest: ['a'] } })).status).toBe(status);
    }
    await expect(
      ask(make({ openBeneath: () => Promise.reject(failing('EIO')) }).logs, { params: { rest: ['a'] } }),
    ).rejects.toThrow();
  });
});
