import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { type Labels, type Metrics, noMetrics, silentLogger } from '@node-agent/telemetry';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MetricsText } from '../src/endpoints/metrics-answer.ts';
import { HealthcheckSlis } from '../src/health/healthcheck-slis.ts';
import type { HealthCheck } from '../src/health/healthz.ts';
import { HealthzServer } from '../src/health/healthz-server.ts';
import { ReadOnlyServer, type ReadOnlyServerComponents } from '../src/read-only-server.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'main', image: 'busybox' }] },
  status: { phase: 'Running' },
};
const running: RuntimePod = {
  uid: 'u1',
  name: 'web',
  namespace: 'default',
  createdAtMs: 0,
  sandboxes: [],
  containers: [
    {
      id: 'c1',
      name: 'main',
      state: 'running',
      sandboxId: 's1',
      image: 'busybox',
      imageId: 'sha256:1',
      hash: '',
      restartCount: 0,
      createdAtMs: 0,
    },
  ],
};

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function startReadOnly(parts: Partial<ReadOnlyServerComponents> = {}): Promise<number> {
  const controller = new AbortController();
  const port = await new Promise<number>((resolve, reject) => {
    const server = new ReadOnlyServer(
      {
        clock: systemClock,
        logger: silentLogger,
        metrics: noMetrics,
        checks: [],
        getPods: () => [pod],
        getRunningPods: async () => [running],
        renderMetrics: () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }),
        explain: (namespace, name) => (name === 'web' ? { namespace, waitingFor: [] } : undefined),
        ...parts,
      },
      { port: 0, onListening: (got) => resolve(got.port) },
    );
    const ended = server.start(controller.signal);
    ended.catch(reject);
    ends.push(async () => {
      controller.abort();
      await ended;
    });
  });
  return port;
}

interface Got {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

function ask(port: number, path: string, method = 'GET', body?: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

describe('ReadOnlyServer', () => {
  const nothing = { clock: systemClock, logger: silentLogger, metrics: noMetrics, checks: [] };
  const sources = {
    getPods: () => [],
    getRunningPods: async () => [],
    renderMetrics: () => ({ contentType: '', text: '' }),
    explain: () => undefined,
  };

  it('the read-only server returns its pods as a v1 PodList', async () => {
    const { status, headers, body } = await ask(await startReadOnly(), '/pods');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(JSON.parse(body)).toEqual({
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [{ metadata: pod.metadata, spec: pod.spec, status: { phase: 'Running' } }],
    });
  });

  it('the read-only server returns the running pods as a v1 PodList', async () => {
    const { body } = await ask(await startReadOnly(), '/runningpods/');
    expect(JSON.parse(body).items).toEqual([
      {
        metadata: { name: 'web', namespace: 'default', uid: 'u1' },
        spec: { containers: [{ name: 'main', image: 'busybox', resources: {} }] },
        status: {},
      },
    ]);
  });

  it('the read-only server serves metrics, health and explanations', async () => {
    const port = await startReadOnly();
    expect(await ask(port, '/metrics')).toMatchObject({
      headers: { 'content-type': 'text/plain; version=0.0.4' },
      body: 'up 1\n',
    });
    expect(await ask(port, '/healthz')).toMatchObject({ status: 200, body: 'ok' });
    expect((await ask(port, '/explain/pod/default/web')).body).toBe('{"namespace":"default","waitingFor":[]}\n');
    expect(await ask(port, '/explain/pod/default/nope')).toMatchObject({
      status: 404,
      body: 'pod default/nope is not known here\n',
    });
  });

  it('the read-only server serves node stats on their own pages, and 404 without stats', async () => {
    for (const path of ['/stats/summary', '/metrics/cadvisor', '/metrics/resource', '/metrics/slis']) {
      expect(await ask(await startReadOnly(), path)).toMatchObject({ status: 404 });
    }
    const stats = {
      summary: async (only: boolean) => (only ? '{"only":true}' : '{}'),
      cadvisorMetrics: async () => 'a 1\n',
      resourceMetrics: async () => 'b 1\n',
    };
    const port = await startReadOnly({ stats, slis: new HealthcheckSlis(0) });
    expect(await ask(port, '/stats/summary')).toMatchObject({ status: 200, body: '{}\n' });
    expect(await ask(port, '/stats/summary?only_cpu_and_memory=true')).toMatchObject({ body: '{"only":true}\n' });
    expect(await ask(port, '/metrics/cadvisor')).toMatchObject({ status: 200, body: 'a 1\n' });
    expect(await ask(port, '/metrics/resource')).toMatchObject({ status: 200, body: 'b 1\n' });
    await ask(port, '/healthz');
    expect((await ask(port, '/metrics/slis')).body).toContain('kubernetes_healthcheck{name="ping",type="healthz"} 1');
    expect(await ask(port, '/metrics/slis', 'DELETE')).toMatchObject({ status: 405 });
  });

  it('the read-only server serves probe metrics on their own page, and 404 without a prober', async () => {
    const none = await startReadOnly();
    expect(await ask(none, '/metrics/probes')).toMatchObject({ status: 200, body: '' });
    const renderProbeMetrics = () => ({ contentType: 'text/plain; version=0.0.4', text: 'prober_probe_total 1\n' });
    const port = await startReadOnly({ renderProbeMetrics });
    expect(await ask(port, '/metrics/probes')).toMatchObject({ status: 200, body: 'prober_probe_total 1\n' });
  });

  it('W1: the read-only server has no run, exec, attach, port-forward or changing endpoint', async () => {
    const port = await startReadOnly();
    const paths = [
      '/exec/default/web/main',
      '/run/default/web/main',
      '/attach/default/web/main',
      '/portForward/default/web',
    ];
    for (const path of [
      ...paths,
      '/containerLogs/default/web/main',
      '/debug/pprof/',
      '/configz',
      '/checkpoint/default/web/main',
    ]) {
      for (const method of ['GET', 'POST']) expect((await ask(port, path, method)).status).toBe(404);
    }
    expect(await ask(port, '/pods', 'POST', '{}')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD', connection: 'close' },
      body: '405: Method Not Allowed',
    });
  });

  it('the read-only server answers HEAD with headers only', async () => {
    const port = await startReadOnly();
    const { body } = await ask(port, '/pods');
    const head = await ask(port, '/pods', 'HEAD');
    expect([head.body, head.headers['content-length']]).toEqual(['', String(Buffer.byteLength(body))]);
  });

  it('answers 500 if an endpoint fails, keeps the reason private (W4), and continues to serve', async () => {
    const getRunningPods = async (): Promise<never> => {
      throw new Error('runtime is gone');
    };
    const port = await startReadOnly({ getRunningPods });
    expect(await ask(port, '/runningpods/')).toMatchObject({ status: 500, body: 'Internal Server Error\n' });
    const failing = { summary: getRunningPods, cadvisorMetrics: getRunningPods, resourceMetrics: getRunningPods };
    const second = await startReadOnly({ stats: failing });
    expect(await ask(second, '/metrics/cadvisor')).toMatchObject({ status: 500, body: 'Internal Server Error\n' });
    // Upstream's summary endpoint returns the reason to every client.
    expect(await ask(second, '/stats/summary')).toMatchObject({
      status: 500,
      body: expect.stringContaining('runtime is gone'),
    });
    expect((await ask(port, '/pods')).status).toBe(200);
  });

  it.each<readonly [string, unknown]>([
    ['a content type with a line break', { contentType: 'a\nb', text: 'up 1\n' }],
    ['no content type', { text: 'up 1\n' }],
    ['no text', { contentType: 'text/plain' }],
    ['a text that is not a string', { contentType: 'text/plain', text: 5 }],
  ])('K4: answers 500 if metrics have %s, and continues to serve', async (_name, metrics) => {
    const port = await startReadOnly({ renderMetrics: () => metrics as MetricsText });
    expect((await ask(port, '/metrics')).status).toBe(500);
    expect((await ask(port, '/pods')).status).toBe(200);
  });

  it('answers 504 if an endpoint hangs, and aborts it', async () => {
    const clock = new FakeClock();
    let signal: AbortSignal | undefined;
    const getRunningPods = (given: AbortSignal): Promise<never> => {
      signal = given;
      return new Promise(() => {});
    };
    const port = await startReadOnly({ getRunningPods, clock });
    const answer = ask(port, '/runningpods/');
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await clock.advance(60_000);
    expect(await answer).toMatchObject({ status: 504, body: 'no answer within 60000 ms\n' });
    expect(signal?.aborted).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it("W2: aborts the endpoint's work when the client disconnects", async () => {
    let signal: AbortSignal | undefined;
    const getRunningPods = (given: AbortSignal): Promise<never> => {
      signal = given;
      return new Promise(() => {});
    };
    const port = await startReadOnly({ getRunningPods });
    const asked = request({ host: '127.0.0.1', port, path: '/runningpods/', agent: false });
    asked.on('error', () => {});
    asked.end();
    await vi.waitFor(() => expect(signal?.aborted).toBe(false));
    asked.destroy();
    await vi.waitFor(() => expect(signal?.aborted).toBe(true));
  });

  it.each([
    ['nonsense', 'HELLO\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['a header without end', `GET /pods HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ['a malformed path', 'GET /%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['an unwanted body', 'POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\nabc', /^HTTP\/1\.1 405 /],
    [
      'a body without end',
      'GET /pods HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
      /^HTTP\/1\.1 200 /,
    ],
    [
      'a request target without a path',
      'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      /^HTTP\/1\.1 404 /,
    ],
  ])('W3: answers %s with $2', async (_name, bytes, expected) => {
    const port = await startReadOnly();
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      socket.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      socket.on('error', reject).on('close', () => resolve(text));
    });
    expect(answer).toMatch(expected);
    expect((await ask(port, '/healthz')).body).toBe('ok');
  });

  it('counts requests by endpoint, and requests without an endpoint together', async () => {
    const counted: string[] = [];
    const levels: number[] = [];
    const tell = (labels: object): unknown => counted.push(Object.values(labels).join(' '));
    const metrics: Metrics = {
      counter: () => ({ inc: (labels: Labels<string>) => void tell(labels) }),
      gauge: () => ({ set: (_labels: unknown, value: number) => void levels.push(value) }),
      histogram: () => ({ observe: () => {} }),
    };
    const port = await startReadOnly({ metrics });
    for (const path of ['/pods', '/x1', '/x2']) await ask(port, path);
    expect(counted).toEqual(['GET pods readonly false', 'GET other readonly false', 'GET other readonly false']);
    expect(levels).toEqual([1, 0, 1, 0, 1, 0]);
  });

  it('refuses an invalid port, naming the option', async () => {
    expect(() => new ReadOnlyServer({ ...nothing, ...sources }, { port: 65_536 })).toThrow(
      expect.objectContaining({
        code: 'InvalidOptions',
        message: 'port must be a whole number from 0 to 65535, not 65536',
      }),
    );
  });

  it('reports the address on which it cannot listen', async () => {
    const port = await startReadOnly();
    const second = new ReadOnlyServer({ ...nothing, ...sources }, { port });
    await expect(second.start(new AbortController().signal)).rejects.toMatchObject({
      code: 'ListenFailed',
      message: expect.stringContaining(`cannot listen on 127.0.0.1:${port}: `),
    });
  });
});

describe('HealthzServer', () => {
  const start = async (checks: HealthCheck[], options: { port: number; clock?: FakeClock }) => {
    const controller = new AbortController();
    const listening = Promise.withResolvers<number>();
    const errors: string[] = [];
    const error = (_fields: unknown, message: string): unknown => errors.push(message);
    const server = new HealthzServer(
      { clock: options.clock ?? systemClock, logger: { ...silentLogger, error }, checks },
      { port: options.port, onListening: (got) => listening.resolve(got.port) },
    );
    const ended = server.start(controller.signal);
    ends.push(async () => {
      controller.abort();
      await ended;
    });
    return { port: listening.promise, errors };
  };

  it("the healthz server serves only the kubelet's health on its port", async () => {
    let problem: string | undefined;
    const port = await (await start([{ name: 'pleg', check: () => problem }], { port: 0 })).port;
    expect(await ask(port, '/healthz')).toMatchObject({ status: 200, body: 'ok' });
    problem = 'hangs';
    expect(await ask(port, '/healthz')).toMatchObject({ status: 500, body: expect.stringContaining('[-]pleg failed') });
    expect(await ask(port, '/healthz/pleg')).toMatchObject({ status: 500, body: 'internal server error: hangs\n' });
    expect((await ask(port, '/healthz/nope')).status).toBe(404);
    expect((await ask(port, '/pods')).status).toBe(404);
  });

  it.each([-1, 65_536, 80.5, Number.NaN])(
    'the healthz server refuses the port %s immediately, without retrying',
    (port) => {
      expect(() => new HealthzServer({ checks: [] }, { port })).toThrow(
        expect.objectContaining({
          code: 'InvalidOptions',
          message: `port must be a whole number from 0 to 65535, not ${port}`,
        }),
      );
    },
  );

  it('clients that open endless connections block nobody: the oldest connections are closed', async () => {
    const port = await (await start([], { port: 0 })).port;
    const held: Socket[] = [];
    ends.push(async () => {
      for (const socket of held) socket.destroy();
    });
    let closed = 0;
    for (let count = 0; count < 300; count++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.on('close', () => closed++);
      held.push(socket);
      await once(socket, 'connect');
    }
    expect(await ask(port, '/healthz')).toMatchObject({ status: 200, body: 'ok' });
    await vi.waitFor(() => expect(closed).toBe(45));
    expect(held[0]?.destroyed).toBe(true);
    expect(held.at(-1)?.destroyed).toBe(false);
  });

  it('the healthz server waits until a port in use is free', async () => {
    const taken = await new Promise<Server>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
    });
    const address = taken.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const clock = new FakeClock();
    const server = await start([], { port, clock });
    await vi.waitFor(() => expect(server.errors).toEqual(['Failed to start healthz server']));
    await new Promise((resolve) => taken.close(resolve));
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await clock.advance(5000);
    expect((await ask(await server.port, '/healthz')).body).toBe('ok');
  });
});
