import { FakeClock } from '@node-agent/async/testing';
import type { StatsProvider } from '@node-agent/stats';
import { MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { NodePages } from '../src/serving/stats-pages.ts';

type PodMetrics = Awaited<ReturnType<StatsProvider['podMetrics']>>;

/** Creates the pages of a node whose pod metrics are those that `answer` returns. */
function pagesOf(answer: (signal: AbortSignal) => Promise<PodMetrics>) {
  const clock = new FakeClock();
  const metrics = new MetricsRegistry();
  metrics.gauge({ name: 'up', help: 'up' }).set({}, 1);
  const pages = new NodePages({ clock, logger: silentLogger, metrics });
  let asked = 0;
  const stats = {
    podMetrics: (signal: AbortSignal) => {
      asked++;
      return answer(signal);
    },
  };
  pages.join(stats as unknown as StatsProvider);
  const { signal } = new AbortController();
  return { clock, asked: () => asked, scrape: () => textOf(pages.renderMetrics(signal).text) };
}

async function textOf(page: AsyncIterable<Uint8Array>): Promise<string> {
  const portions: Uint8Array[] = [];
  for await (const portion of page) portions.push(portion);
  return Buffer.concat(portions).toString();
}

const hung = () => new Promise<never>(() => {});
const told: PodMetrics = [
  {
    name: 'kubelet_container_log_filesystem_used_bytes',
    help: 'h',
    type: 'gauge',
    samples: [{ labels: {}, value: 7 }],
  },
];

test('W6: /metrics does not wait for a runtime that hangs, and queries the runtime once', async () => {
  const node = pagesOf(hung);
  const first = node.scrape();
  await node.clock.advance(2000);
  expect(await first).toContain('up 1');
  // Later scrapes do not wait.
  expect(await node.scrape()).toContain('up 1');
  expect(await node.scrape()).toContain('up 1');
  expect(node.asked()).toBe(1);
  await node.clock.advance(30_000);
  const again = node.scrape();
  await node.clock.advance(2000);
  await again;
  expect(node.asked()).toBe(2);
});

test('W6: /metrics serves the previous pod stats for up to a minute', async () => {
  let isHung = false;
  const node = pagesOf(() => (isHung ? hung() : Promise.resolve(told)));
  expect(await node.scrape()).toContain('kubelet_container_log_filesystem_used_bytes 7');
  isHung = true;
  const late = node.scrape();
  await node.clock.advance(2000);
  expect(await late).toContain('kubelet_container_log_filesystem_used_bytes 7');
  await node.clock.advance(60_000);
  const old = node.scrape();
  await node.clock.advance(2000);
  expect(await old).not.toContain('kubelet_container_log_filesystem_used_bytes');
});

test('NodePages serves the summary, the metrics of containers and the metrics of resources of its provider', async () => {
  const { signal } = new AbortController();
  const pages = new NodePages({ clock: new FakeClock(), logger: silentLogger, metrics: new MetricsRegistry() });
  await expect(pages.summary(false, signal)).rejects.toThrow('node has no stats provider');
  await expect(pages.cadvisorMetrics(signal)).rejects.toThrow('node has no stats provider');
  const summary = (nodeName: string) => async () => ({ node: { nodeName, startTime: null }, pods: [] });
  async function* page(text: string) {
    yield Buffer.from(text);
  }
  pages.join({
    ...{ summary: summary('all'), resourceSummary: summary('resources') },
    ...{ cadvisorPortions: () => page('containers 1\n'), resourcePortions: () => page('resources 1\n') },
  } as unknown as StatsProvider);
  expect(await textOf(await pages.summary(false, signal))).toBe(
    '{"node":{"nodeName":"all","startTime":null},"pods":[]}',
  );
  expect(await textOf(await pages.summary(true, signal))).toContain('"nodeName":"resources"');
  expect(await textOf(await pages.cadvisorMetrics(signal))).toBe('containers 1\n');
  expect(await textOf(await pages.resourceMetrics(signal))).toBe('resources 1\n');
});
