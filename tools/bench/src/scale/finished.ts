import { request } from 'node:http';
import { resources } from '@node-agent/kube-client';
import type { Pod, PodSpec } from '@node-agent/pod-spec';
import type { BenchNode } from '../bench-node.ts';
import { PLAIN } from '../cluster/cluster-pods.ts';
import { sleep, until } from '../waiting.ts';
import { watched } from './watched.ts';

/** Values of a kubelet that starts on a node with thousands of finished pods in the API. */
export interface FinishedSample {
  readonly pods: number;
  /**
   * Time in ms from the kubelet's first answer on `/healthz` until the newest pod of the list, which runs, was Ready;
   * `Infinity` if it was not Ready within {@link TIMEOUT_MS}.
   */
  readonly takenInMs: number;
  /** CPU time of the kubelet in that time, in ms. */
  readonly cpuMs: number;
  /**
   * Time in ms from the kubelet's first answer on `/healthz` until the kubelet was at rest, because it had checked and
   * cleaned up after every finished pod.
   */
  readonly atRestMs: number;
  /**
   * Longest time in ms for which the event loop was blocked before the kubelet was at rest; `NaN` for a program that
   * does not run with Node.
   */
  readonly holdMs: number;
  /**
   * Longest response time of `/healthz` in ms before the kubelet was at rest; failed requests count with the time until
   * they failed.
   */
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
/** Interval over which the kubelet's CPU time is measured to find out whether the kubelet is at rest, in ms. */
const REST_WINDOW_MS = 1_000;
/** Share of one CPU below which the kubelet is at rest. */
const REST_CPU = 0.3;
/** Time in ms to wait until the last status write for a finished pod is done. */
const SETTLE_MS = 3_000;

/** Stops the node's kubelet, creates finished pods and a newer one that runs, and starts the kubelet again. */
export async function measureFinished(node: BenchNode, count: number, signal: AbortSignal): Promise<FinishedSample> {
  const { kubelet, pods } = node;
  const status = await finishedStatus(node, signal);
  await kubelet.stop();
  await createFinished(node, count, status, signal);
  const newest = `${node.nodeName}-newest`;
  await pods.create(newest);
  await kubelet.start();
  const { healthzPort } = kubelet;
  await until('the kubelet is healthy', () => healthz(healthzPort).then(({ ok }) => ok), signal);
  const startMs = performance.now();
  const before = (await kubelet.usage()).cpuSeconds;
  const holds = await watched(kubelet);
  const answers: { readonly ok: boolean; readonly ms: number }[] = [];
  let takenInMs = Number.POSITIVE_INFINITY;
  void pods.ready(newest).then(
    (readyMs) => {
      takenInMs = readyMs - startMs;
    },
    () => {},
  );
  const askUntil = async (isDone: () => boolean): Promise<void> => {
    while (!isDone() && performance.now() - startMs < TIMEOUT_MS) {
      answers.push(await healthz(healthzPort));
      await sleep(HEALTHZ_EVERY_MS, signal);
    }
  };
  await askUntil(() => takenInMs < Number.POSITIVE_INFINITY);
  const { cpuSeconds, rssBytes } = await kubelet.usage();
  for (let last = cpuSeconds, cpu = 1; cpu >= REST_CPU && performance.now() - startMs < TIMEOUT_MS; ) {
    const fromMs = performance.now();
    await askUntil(() => performance.now() - fromMs >= REST_WINDOW_MS);
    const now = (await kubelet.usage()).cpuSeconds;
    cpu = (now - last) / ((performance.now() - fromMs) / 1000);
    last = now;
  }
  const atRestMs = performance.now() - startMs;
  const { holdMs } = await holds();
  return {
    ...{ pods: count, takenInMs, atRestMs, holdMs, rssBytes, cpuMs: (cpuSeconds - before) * 1000 },
    healthzMs: Math.max(...answers.map(({ ms }) => ms)),
    unhealthy: answers.filter(({ ok }) => !ok).length,
  };
}

/** Spec of a pod whose containers exit by themselves. */
const ENDING: PodSpec = { ...PLAIN, restartPolicy: 'Never', containers: PLAIN.containers.map(endingContainer) };

function endingContainer(container: PodSpec['containers'][number]): PodSpec['containers'][number] {
  return { ...container, command: ['true'] };
}

/**
 * Runs a pod until it has finished. @returns the complete final status: the kubelet has nothing to write for pods that
 * are created with it
 */
async function finishedStatus({ client, pods }: BenchNode, signal: AbortSignal): Promise<Pod['status']> {
  const name = 'template';
  await pods.create(name, ENDING);
  await until('a pod has finished', () => pods.phase(name) === 'Succeeded', signal);
  await sleep(SETTLE_MS, signal);
  const { status } = await client.get(resources.pods, { namespace: NAMESPACE, name });
  await pods.delete(name);
  await pods.gone(name);
  return status;
}

async function createFinished(
  { client, nodeName }: BenchNode,
  count: number,
  status: Pod['status'],
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) {
      signal.throwIfAborted();
      const name = `${nodeName}-finished-${next++}`;
      const metadata = { name, namespace: NAMESPACE, uid: '' };
      await client.create(resources.pods, { metadata, spec: { ...ENDING, nodeName } });
      const key = { namespace: NAMESPACE, name, subresource: 'status' };
      await client.patch(resources.pods, { type: 'merge', body: { status } }, key);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

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
