import type { CriClient } from '@node-agent/cri-client';
import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { BenchNode } from '../bench-node.ts';
import { killContainer } from '../containers.ts';
import { sumOfMetric, type WantedLabels } from '../metrics-text.ts';
import { machineCpuSeconds } from '../proc.ts';
import { RuntimeSide } from '../runtime-side.ts';
import { sleep } from '../waiting.ts';
import type { ClusterKubelet } from './cluster-kubelet.ts';
import type { ClusterPods } from './cluster-pods.ts';
import type { Changes, Turn } from './figures.ts';
import type { ClusterBenchOptions } from './options.ts';

/** Options of {@link takeTurn}. */
export interface TurnPlan {
  readonly options: ClusterBenchOptions;
  readonly controlPlane: ControlPlane;
  /** Programs of the runtime. If `undefined`, a runtime in memory is used. */
  readonly binaries: ContainerdBinaries | undefined;
  readonly program: string;
  readonly nodeName: string;
  readonly directory: string;
  readonly subnet: string;
  readonly profiles?: string | undefined;
  readonly say: (text: string) => void;
}

/** Time in ms for a process to settle after work. */
const SETTLE_MS = 20_000;
const CHANGES_PER_SECOND = 1000;
const WRITERS = 16;

/** Starts a kubelet with its own runtime, measures it, and stops both. */
export async function takeTurn(plan: TurnPlan, signal: AbortSignal): Promise<Turn> {
  plan.say(`${plan.nodeName}: waiting for the node`);
  await using node = await BenchNode.start(
    { ...plan, withoutCgroups: plan.options.withoutCgroups, configuration: {} },
    signal,
  );
  return await measure(plan, node, signal);
}

async function measure(
  { options, controlPlane, nodeName, say }: TurnPlan,
  { kubelet, pods, side }: BenchNode,
  signal: AbortSignal,
): Promise<Turn> {
  await sleep(SETTLE_MS, signal);
  const emptyRssBytes = (await kubelet.usage()).rssBytes;

  say(`${nodeName}: starting single pods`);
  const singleMs: number[] = [];
  const deletionMs: number[] = [];
  const restartMs: number[] = [];
  for (let index = 0; index < options.singles; index++) {
    const name = `${nodeName}-single-${index}`;
    const createdMs = await pods.create(name);
    singleMs.push((await pods.ready(name)) - createdMs);
    await sleep(500, signal);
    if (side instanceof RuntimeSide) {
      restartMs.push(await crashToRestart(side.client, pods, `${nodeName}-crash-${index}`, signal));
    }
    const deletedMs = await pods.delete(name);
    deletionMs.push((await pods.gone(name)) - deletedMs);
  }

  say(`${nodeName}: starting ${options.pods} pods`);
  const names = Array.from({ length: options.pods }, (_, index) => `${nodeName}-batch-${index}`);
  const before = (await kubelet.usage()).cpuSeconds;
  const writesBefore = await podWrites(controlPlane);
  const machineBefore = await machineCpuSeconds();
  const startMs = performance.now();
  const ready = Promise.all(names.map((name) => pods.ready(name)));
  // Prevents an unhandled rejection. The failure is reported by the later `await`, or by the first failed creation.
  ready.catch(() => {});
  await Promise.all(names.map((name) => pods.create(name)));
  const batchReadyMs = (await ready).map((atMs) => atMs - startMs);
  const batchCpuSeconds = (await kubelet.usage()).cpuSeconds - before;
  const machineSeconds = (await machineCpuSeconds()) - machineBefore;
  await sleep(SETTLE_MS, signal);
  const writesAfter = await podWrites(controlPlane);
  const statusWritesPerPod = (writesAfter.statuses - writesBefore.statuses) / options.pods;
  const eventsPerPod = (writesAfter.events - writesBefore.events) / options.pods;

  say(`${nodeName}: measuring at rest`);
  const idle = await kubelet.usage();
  await sleep(options.idleSeconds * 1000, signal);
  const { cpuSeconds, rssBytes } = await kubelet.usage();
  const idleCpuShare = (cpuSeconds - idle.cpuSeconds) / options.idleSeconds;

  const changes = options.changeSeconds > 0 ? await change(options, kubelet, pods, names[0] ?? '', signal) : undefined;
  say(`${nodeName}: deleting the pods`);
  await Promise.all(names.map((name) => pods.delete(name)));
  await Promise.all(names.map((name) => pods.gone(name)));
  return {
    ...{
      batchReadyMs,
      batchCpuSeconds,
      machineSeconds,
      singleMs,
      deletionMs,
      restartMs,
      idleCpuShare,
      emptyRssBytes,
      rssBytes,
    },
    ...{ statusWritesPerPod, eventsPerPod },
    ...(changes && { changes }),
  };
}

/**
 * Measures the time in ms from the kill of a pod's process until the API shows the restarted container running. The pod
 * is deleted afterwards.
 */
async function crashToRestart(
  client: CriClient,
  pods: ClusterPods,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  await pods.create(name);
  await pods.ready(name);
  await sleep(500, signal);
  const killedMs = (await killContainer(client, pods.containerId(name), signal)) - performance.timeOrigin;
  const tookMs = (await pods.restarted(name)) - killedMs;
  await pods.delete(name);
  await pods.gone(name);
  return tookMs;
}

/**
 * Returns the number of pod status writes and of event writes that the API server has received so far from all clients.
 */
async function podWrites(controlPlane: ControlPlane): Promise<{ readonly statuses: number; readonly events: number }> {
  const { text } = await controlPlane.request('GET', '/metrics');
  const count = (labels: WantedLabels): number => sumOfMetric(text, 'apiserver_request_total', labels);
  const writes = ['PATCH', 'PUT', 'POST'];
  const sum = (labels: WantedLabels): number => writes.reduce((all, verb) => all + count({ ...labels, verb }), 0);
  return { statuses: sum({ resource: 'pods', subresource: 'status' }), events: sum({ resource: 'events' }) };
}

/**
 * Changes one pod's annotations as fast as possible, up to 1,000 times a second: first with one writer, then with many.
 */
async function change(
  { changeSeconds }: ClusterBenchOptions,
  kubelet: ClusterKubelet,
  pods: ClusterPods,
  name: string,
  signal: AbortSignal,
): Promise<Changes> {
  const beforeBytes = (await kubelet.usage()).rssBytes;
  const onePerSecond = await changesPerSecond(pods, name, { writers: 1, seconds: changeSeconds }, signal);
  const perSecond = await changesPerSecond(pods, name, { writers: WRITERS, seconds: changeSeconds }, signal);
  await sleep(SETTLE_MS, signal);
  return { onePerSecond, perSecond, grownBytes: (await kubelet.usage()).rssBytes - beforeBytes };
}

async function changesPerSecond(
  pods: ClusterPods,
  name: string,
  { writers, seconds }: { readonly writers: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let nowMs = performance.now(); nowMs < endMs; nowMs = performance.now()) {
      signal.throwIfAborted();
      if (done >= ((nowMs - startMs) / 1000) * CHANGES_PER_SECOND) await sleep(1, signal);
      else await pods.annotate(name, `${done++}`);
    }
  };
  await Promise.all(Array.from({ length: writers }, worker));
  return (done * 1000) / (performance.now() - startMs);
}
