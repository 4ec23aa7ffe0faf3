import { request } from 'node:http';
import { resources } from '@node-agent/kube-client';
import type { BenchNode } from '../bench-node.ts';
import { sleep, until } from '../waiting.ts';
import { watched } from './watched.ts';

/** Values of a kubelet that starts on a node with thousands of finished pods in the API. */
export interface FinishedSample {
  readonly pods: number;
  /** Time in ms from the kubelet's first answer on `/healthz` until the newest pod of the list, which runs, was Ready. */
  readonly takenInMs: number;
  /** CPU time of the kubelet in that time, in ms. */
  readonly cpuMs: number;
  /** Longest hold of its event loop in that time; `NaN` for a program that does not run with Node. */
  readonly holdMs: number;
  /** Longest response time of `/healthz` in that time; failed requests count with the time until they failed. */
  readonly healthzMs: number;
  /** Number of requests of `/healthz` that failed. */
  readonly unhealthy: number;
  readonly rssBytes: number;
}

const NAMESPACE = 'default';
/** Number of concurrent requests that create pods. */
const WRITERS = 16;
const HEALTHZ_EVERY_MS = 50;
const HEALTHZ_TIMEOUT_MS = 30_000;
const TIMEOUT_MS = 300_000;

/** Stops the node's kubelet, creates finished pods and a newer one that runs, and starts the kubelet again. */
export async function measureFinished(node: BenchNode, count: number, signal: AbortSignal): Promise<FinishedSample> {
  const { kubelet, pods } = node;
  await kubelet.stop();
  await createFinished(node, count, signal);
  await pods.create('newest');
  await kubelet.start();
  const { healthzPort } = kubelet;
  await until('the kubelet is healthy', () => healthz(healthzPort).then(({ ok }) => ok), signal);
  const startMs = performance.now();
  const before = (await kubelet.usage()).cpuSeconds;
  const holds = await watched(kubelet);
  const answers: { readonly ok: boolean; readonly ms: number }[] = [];
  let isReady = false;
  const ready = pods.ready('newest').finally(() => {
    isReady = true;
  });
  ready.catch(() => {});
  while (!isReady && performance.now() - startMs < TIMEOUT_MS) {
    answers.push(await healthz(healthzPort));
    await sleep(HEALTHZ_EVERY_MS, signal);
  }
  if (!isReady) throw new Error(`the newest pod was not Ready within ${TIMEOUT_MS / 1000} s`);
  const takenInMs = (await ready) - startMs;
  const { cpuSeconds, rssBytes } = await kubelet.usage();
  const { holdMs } = await holds();
  return {
    ...{ pods: count, takenInMs, holdMs, rssBytes, cpuMs: (cpuSeconds - before) * 1000 },
    healthzMs: Math.max(...answers.map(({ ms }) => ms)),
    unhealthy: answers.filter(({ ok }) => !ok).length,
  };
}

async function createFinished({ client, nodeName }: BenchNode, count: number, signal: AbortSignal): Promise<void> {
  const terminated = { exitCode: 0, reason: 'Completed', startedAt: EARLIER, finishedAt: EARLIER };
  const status = {
    phase: 'Succeeded',
    startTime: EARLIER,
    containerStatuses: [
      { name: 'main', image: 'busybox', imageID: '', ready: false, restartCount: 0, state: { terminated } },
    ],
  };
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) {
      signal.throwIfAborted();
      const name = `finished-${next++}`;
      const spec = { nodeName, restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] };
      await client.create(resources.pods, { metadata: { name, namespace: NAMESPACE, uid: '' }, spec });
      const key = { namespace: NAMESPACE, name, subresource: 'status' };
      await client.patch(resources.pods, { type: 'merge', body: { status } }, key);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

const EARLIER = '2026-01-01T00:00:00Z';

/** Requests `/healthz`. Never rejects. */
function healthz(port: number): Promise<{ readonly ok: boolean; readonly ms: number }> {
  const startMs = performance.now();
  return new Promise((resolve) => {
    const end = (ok: boolean): void => resolve({ ok, ms: performance.now() - startMs });
    const sent = request({ host: '127.0.0.1', port, path: '/healthz', timeout: HEALTHZ_TIMEOUT_MS }, (response) => {
      response.resume();
      response.on('error', () => end(false));
      response.on('end', () => end(response.statusCode === 200));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => end(false));
    sent.end();
  });
}
