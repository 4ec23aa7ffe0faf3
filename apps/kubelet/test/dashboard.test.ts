import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { KubeletView } from '@node-agent/kubelet-core';
import { noMetrics, RecordingTracer } from '@node-agent/telemetry';
import { captureLogger, type LogLine } from '@node-agent/telemetry/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { NodeDashboard } from '../src/serving/dashboard.ts';

type Components = ConstructorParameters<typeof NodeDashboard>[0];
type WriteFile = (path: string, data: string | Uint8Array) => Promise<void>;

const kubelet = {
  getPods: () => [],
  health: () => ({}),
  explainEviction: () => undefined,
} as unknown as KubeletView;

const cri = { containerStatus: async () => ({}) } as unknown as Components['cri'];

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function make(more: Partial<Components> = {}): { dashboard: NodeDashboard; lines: readonly LogLine[] } {
  const { logger, lines } = captureLogger();
  const parts = {
    ...{ clock: systemClock, logger, metrics: noMetrics, events: { eventsOf: () => [] }, cri },
    ...{ inventory: { node: async () => ({}) }, stats: () => undefined },
  };
  // Copies property descriptors, because a spread would call the getters.
  const components = Object.defineProperties(parts, Object.getOwnPropertyDescriptors(more)) as unknown as Components;
  return { dashboard: new NodeDashboard(components, 'n1'), lines };
}

/** Serves the dashboard page on the loopback port until the test ends, or until `stop` is called. */
async function serve(port: number, writeFileAtomic: WriteFile) {
  const { dashboard, lines } = make();
  const ending = new AbortController();
  const run = dashboard.loopback({ writeFileAtomic }, { port, rootDir: '/r' }, () => kubelet).start(ending.signal);
  const stop = async (): Promise<void> => {
    ending.abort();
    await run;
  };
  cleanUps.push(stop);
  const listening = await vi.waitFor(() => {
    const line = lines.find(({ message }) => message === 'Dashboard is listening');
    if (line === undefined) throw new Error('not listening');
    return line;
  });
  return { port: Number(listening.fields.port), lines, stop };
}

describe('the dashboard on the loopback port', () => {
  test('a restarted dashboard server responds with 404 to the address of the previous run', async () => {
    let file = '';
    const writeFileAtomic: WriteFile = async (path, data) => {
      file = `${path} ${data}`;
    };
    const address = (): string => /^\/r\/dashboard-url (http:\S+\/)\n$/.exec(file)?.[1] ?? '';
    const first = await serve(0, writeFileAtomic);
    const before = address();
    expect((await fetch(before)).status).toBe(200);
    await first.stop();
    await serve(first.port, writeFileAtomic);
    expect(new URL(address()).port).toBe(new URL(before).port);
    expect((await fetch(address())).status).toBe(200);
    expect((await fetch(before)).status).toBe(404);
  });

  test('serves the dashboard page although the disk is full, and logs that the address could not be written', async () => {
    const { port, lines } = await serve(0, () => Promise.reject(new Error('ENOSPC: no space left on device')));
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'Failed to write the address of the dashboard', fields: { file: '/r/dashboard-url' } },
    ]);
  });

  test("does not write the file with the dashboard's address while another process uses the port", async () => {
    const { port } = await serve(0, async () => {});
    const { dashboard, lines } = make({ clock: new FakeClock() });
    const ending = new AbortController();
    const write = vi.fn<WriteFile>(async () => {});
    const run = dashboard.loopback({ writeFileAtomic: write }, { port, rootDir: '/r' }, () => kubelet);
    const ended = run.start(ending.signal);
    await vi.waitFor(() => expect(lines.map(({ level }) => level)).toEqual(['error']));
    ending.abort();
    await ended;
    expect(write).not.toHaveBeenCalled();
  });
});

describe('the dashboard endpoint', () => {
  const call = (path: string, signal: AbortSignal = new AbortController().signal) => {
    const rest = path.split('/').filter((segment) => segment !== '');
    const given = { params: { rest }, path: `/dashboard/${path}`, query: new URLSearchParams(), headers: {}, signal };
    return given as unknown as Parameters<ReturnType<NodeDashboard['endpoint']>>[0];
  };

  test("after the dashboard's code could not be loaded for one request, the next request succeeds", async () => {
    let loads = 0;
    const { dashboard } = make({
      get cri(): Components['cri'] {
        loads++;
        if (loads === 1) throw new Error('too many open files');
        return cri;
      },
    });
    const answer = dashboard.endpoint(kubelet);
    await expect(answer(call(''))).rejects.toThrow('too many open files');
    expect(await answer(call(''))).toMatchObject({ status: 200 });
  });

  test("the dashboard's readings of the node do not belong to the trace of the request that opened the first page", async () => {
    const names: string[] = [];
    const tracer = new RecordingTracer(
      { exporter: { add: ({ name }) => void names.push(name) } },
      { samplingRatePerMillion: 0 },
    );
    const read = vi.fn(async (name: string) => {
      tracer.begin({ name, kind: 'client' }).end();
      return {};
    });
    const { dashboard } = make({
      inventory: { node: () => read('Version') },
      stats: () => ({ summary: () => read('ListPodSandboxStats') }),
    } as unknown as Partial<Components>);
    const leaving = new AbortController();
    cleanUps.push(async () => leaving.abort());
    const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true };
    await tracer.span({ name: 'dashboard', kind: 'server', parent }, async () =>
      dashboard.endpoint(kubelet)(call('events', leaving.signal)),
    );
    await vi.waitFor(() => expect(read.mock.calls.flat().sort()).toEqual(['ListPodSandboxStats', 'Version']));
    expect(names).toEqual(['dashboard']);
  });
});
