import { fileURLToPath } from 'node:url';
import type { CriClient } from '@node-agent/cri-client';
import type { PodSpec } from '@node-agent/pod-spec';
import { freePorts } from '@node-agent/tools-ports';
import { type BenchApi, BenchNode } from '../bench-node.ts';
import type { ClusterKubelet } from '../cluster/cluster-kubelet.ts';
import { type ClusterPods, PLAIN } from '../cluster/cluster-pods.ts';
import { sleep } from '../waiting.ts';
import { type FinishedSample, measureFinished } from './finished.ts';
import type { ScaleOptions } from './options.ts';
import { watched } from './watched.ts';

/** Options of {@link takeScaleTurn}. */
export interface ScalePlan {
  readonly options: Pick<ScaleOptions, 'sizes' | 'restSeconds' | 'finished' | 'withoutCgroups' | 'profiles'>;
  readonly api: BenchApi;
  /** Whether the API server supports only JSON. */
  readonly onlyJson: boolean;
  readonly program: string;
  readonly nodeName: string;
  readonly directory: string;
  readonly say: (text: string) => void;
}

/**
 * Values with one number of pods on the node. CPU times are times of the kubelet's process in ms, minus its usual CPU
 * time at rest. Values that need a program that runs with Node are `NaN` for other programs.
 */
export interface SizeSample {
  readonly pods: number;
  readonly restCpuShare: number;
  readonly rssBytes: number;
  /** CPU time per started pod, in batches of {@link BATCH} pods. */
  readonly startCpuMs: number;
  /** Time in ms from the creation of each pod of the batches until it was seen Ready. */
  readonly readyMs: readonly number[];
  readonly deleteCpuMs: number;
  /** CPU time in ms per container restart, including the status writes for its stop and its start. */
  readonly restartCpuMs: number;
  /** Time in ms from the stop of a container until the API showed its replacement. */
  readonly restartMs: readonly number[];
  /**
   * CPU time in ms per changed annotation of a pod, which causes a watch event, an iteration of the sync loop and a
   * sync of the pod.
   */
  readonly changeCpuMs: number;
  /** Time in ms that the kubelet spends on housekeeping after a batch of pods is deleted. */
  readonly housekeepingMs: number;
  /** CPU time in ms per request of the page `/pods`. The next field is the CPU time for `/metrics`. */
  readonly podsPageMs: number;
  readonly metricsPageMs: number;
  /** Longest time in ms for which the event loop was blocked while pods started and terminated and pages were read. */
  readonly holdMs: number;
}

/** Results of one kubelet. The kubelets are measured in turn, each with all sizes. */
export interface ScaleTurn {
  readonly emptyRssBytes: number;
  readonly sizes: readonly SizeSample[];
  readonly finished?: FinishedSample;
}

/** Spec of the pods. The pods have resource requests, so that admission and the pod cgroups must sum them. */
const POD: PodSpec = {
  ...PLAIN,
  containers: PLAIN.containers.map((container) => ({
    ...container,
    resources: { requests: { cpu: '1m', memory: '1Mi' } },
  })),
};
/** Number of pods that are started and deleted together on top of the pods of a size. */
const BATCH = 10;
const BATCHES = 3;
const WARM_UP = 50;
/** Maximum number of pods that are created at once to reach a size. */
const PORTION = 100;
const RESTARTS = 10;
const CHANGES = 50;
const PAGES = 5;
/** Time in ms for a process to settle after work. */
const SETTLE_MS = 10_000;
/** Time in ms to wait until the API writes that follow a change are done. */
const AFTER_MS = 1_500;
const PROBE = fileURLToPath(new URL('./probe.ts', import.meta.url));
/** Name of the function of this repository's kubelet that performs a housekeeping pass. */
const HOUSEKEEPING = 'handlePodCleanups';

/** Starts a kubelet with a runtime in memory, and measures it with each number of pods. */
export async function takeScaleTurn(plan: ScalePlan, signal: AbortSignal): Promise<ScaleTurn> {
  const { options, api, onlyJson, program, nodeName, directory, say } = plan;
  const [readOnlyPort = 0] = await freePorts(1);
  const largest = options.sizes.at(-1) ?? 0;
  say(`${nodeName}: waiting for the node`);
  await using node = await BenchNode.start(
    {
      ...{ controlPlane: api, binaries: undefined, program, nodeName, directory, subnet: '', preload: PROBE },
      ...{ profiles: options.profiles, withoutCgroups: options.withoutCgroups },
      configuration: {
        readOnlyPort,
        maxPods: largest + Math.max(options.finished, 0) + WARM_UP + BATCH,
        ...(onlyJson && { contentType: 'application/json' }),
      },
    },
    signal,
  );
  const page = async (path: string): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${readOnlyPort}${path}`, { signal });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`GET ${path}: ${response.status}`);
  };
  const { kubelet, pods } = node;
  await sleep(SETTLE_MS, signal);
  const emptyRssBytes = (await kubelet.usage()).rssBytes;
  say(`${nodeName}: warming up`);
  for (const prefix of ['warm', 'hot']) await removed(pods, await node.addPods(WARM_UP, signal, POD, prefix));
  const scene: Scene = { node, kubelet, pods, client: node.side.client, page, restSeconds: options.restSeconds };
  const sizes: SizeSample[] = [];
  const names: string[] = [];
  for (const size of options.sizes) {
    say(`${nodeName}: ${size} pods`);
    sizes.push(await measureSize(scene, names, size, signal));
  }
  if (options.finished === 0) return { emptyRssBytes, sizes };
  say(`${nodeName}: ${options.finished} finished pods`);
  await inPortions(names, (portion) => removed(pods, portion));
  return { emptyRssBytes, sizes, finished: await measureFinished(node, options.finished, signal) };
}

interface Scene {
  readonly node: BenchNode;
  readonly kubelet: ClusterKubelet;
  readonly pods: ClusterPods;
  readonly client: CriClient;
  readonly page: (path: string) => Promise<void>;
  readonly restSeconds: number;
}

async function measureSize(scene: Scene, names: string[], size: number, signal: AbortSignal): Promise<SizeSample> {
  const { node, kubelet, pods, page, restSeconds } = scene;
  const holds: number[] = [];
  const filling = await watched(kubelet);
  const wanted = Array.from({ length: size - names.length }, (_, index) => index + names.length);
  await inPortions(wanted, async ([first = 0, ...others]) => {
    names.push(...(await node.addPods(1 + others.length, signal, POD, `from-${first}`)));
  });
  holds.push((await filling()).holdMs);
  await sleep(SETTLE_MS, signal);

  const idle = await kubelet.usage();
  await sleep(restSeconds * 1000, signal);
  const { cpuSeconds, rssBytes } = await kubelet.usage();
  const restCpuShare = (cpuSeconds - idle.cpuSeconds) / restSeconds;
  const cost = (work: () => Promise<void>): Promise<number> => cpuMs(kubelet, restCpuShare, work, signal);

  const readyMs: number[] = [];
  let [startMs, deleteMs, housekeepingMs] = [0, 0, 0];
  for (let batch = 0; batch < BATCHES; batch++) {
    const added = Array.from({ length: BATCH }, (_, index) => `${size}-batch-${batch}-${index}`);
    startMs += await cost(async () => {
      readyMs.push(...(await started(pods, added)));
    });
    const deleting = await watched(kubelet, batch === 0 ? [HOUSEKEEPING] : undefined);
    const tookMs = await cost(() => removed(pods, added));
    const report = await deleting();
    if (batch === 0) housekeepingMs = report.functionMs[HOUSEKEEPING] ?? Number.NaN;
    else {
      deleteMs += tookMs;
      holds.push(report.holdMs);
    }
  }
  const restartMs: number[] = [];
  const victims = names.slice(-Math.min(RESTARTS, size));
  const restarts = await cost(async () => {
    for (const name of victims) restartMs.push(await restarted(scene, name, signal));
  });
  const changed = names.slice(-Math.min(CHANGES, size));
  const changes = await cost(async () => {
    for (let index = 0; index < CHANGES; index++)
      await pods.annotate(changed[index % changed.length] ?? '', `${index}`);
  });
  const reading = await watched(kubelet);
  const podsPage = await cost(() => times(PAGES, () => page('/pods')));
  const metricsPage = await cost(() => times(PAGES, () => page('/metrics')));
  holds.push((await reading()).holdMs);
  return {
    ...{ pods: size, restCpuShare, rssBytes, readyMs, restartMs, housekeepingMs },
    startCpuMs: startMs / (BATCHES * BATCH),
    deleteCpuMs: deleteMs / ((BATCHES - 1) * BATCH),
    restartCpuMs: restarts / victims.length,
    changeCpuMs: changes / CHANGES,
    podsPageMs: podsPage / PAGES,
    metricsPageMs: metricsPage / PAGES,
    holdMs: Math.max(...holds),
  };
}

/** Creates pods at once. @returns the time in ms from the creation of each until it was seen Ready */
async function started(pods: ClusterPods, names: readonly string[]): Promise<readonly number[]> {
  return Promise.all(
    names.map(async (name) => {
      const startMs = await pods.create(name, POD);
      return (await pods.ready(name)) - startMs;
    }),
  );
}

async function removed(pods: ClusterPods, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => pods.delete(name)));
  await Promise.all(names.map((name) => pods.gone(name)));
}

/** Stops a pod's container in the runtime. @returns the time in ms until the API showed its replacement */
async function restarted({ pods, client }: Scene, name: string, signal: AbortSignal): Promise<number> {
  const containerId = pods.containerId(name);
  const startMs = performance.now();
  await client.stopContainer({ containerId, timeout: 0 }, signal);
  return (await pods.nextContainer(name, containerId)) - startMs;
}

/**
 * Returns the CPU time in ms that the kubelet used during `work` and shortly after it, minus its usual CPU time at
 * rest.
 */
async function cpuMs(
  kubelet: ClusterKubelet,
  restCpuShare: number,
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<number> {
  const startMs = performance.now();
  const before = (await kubelet.usage()).cpuSeconds;
  await work();
  await sleep(AFTER_MS, signal);
  const usedMs = ((await kubelet.usage()).cpuSeconds - before) * 1000;
  return usedMs - restCpuShare * (performance.now() - startMs);
}

async function inPortions<T>(items: readonly T[], work: (portion: readonly T[]) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += PORTION) await work(items.slice(start, start + PORTION));
}

async function times(count: number, work: () => Promise<void>): Promise<void> {
  for (let index = 0; index < count; index++) await work();
}
