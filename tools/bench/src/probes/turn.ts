import { readFile } from 'node:fs/promises';
import type { PodSpec } from '@node-agent/pod-spec';
import { BenchNode, type BenchNodePlan } from '../bench-node.ts';
import { median } from '../statistics.ts';
import { sleep } from '../waiting.ts';
import { countOf, periodErrors } from './arrivals.ts';
import type { ProbesBenchOptions } from './options.ts';
import { PERIOD_MS, PROBES_PER_POD, probedPod, restingPod, servingPod } from './pods.ts';
import { Probed } from './probed.ts';
import { podLog, servesAtUptimeMs, uptimeOffsetMs } from './serving.ts';
import { type TimeWaits, timeWaits } from './sockets.ts';

/** Resources that a kubelet used during a measurement. */
interface Used {
  /** Share of one CPU that the kubelet used. */
  readonly cpuShare: number;
  /** Median of the kubelet's RSS, sampled every second. */
  readonly rssBytes: number;
}

/** Results of one turn of a kubelet. */
export interface ProbesTurn {
  /** Usage with the same number of pods, but without probes. */
  readonly rest: Used;
  readonly probing: Used & {
    readonly came: number;
    readonly wanted: number;
    /** Deviations from the period, for all intervals between two probes. */
    readonly periodErrorsMs: readonly number[];
    readonly timeWaits: TimeWaits;
  };
  readonly readyAfterServing: ReadyAfterServing;
}

/** Times in ms from the moment at which a pod's container serves until the API shows the pod Ready. */
interface ReadyAfterServing {
  /** Times for pods that are created all at once, so that the machine is saturated. */
  readonly atOnceMs: readonly number[];
  /** Times for pods that are created {@link PACE_MS} apart. */
  readonly pacedMs: readonly number[];
}

const PACE_MS = 500;

/** Time in ms for a newly started kubelet to settle. */
const SETTLE_MS = 15_000;

/** Starts a kubelet with its own runtime, measures its probes, and stops both. */
export async function takeProbesTurn(
  plan: BenchNodePlan & { readonly options: ProbesBenchOptions; readonly say: (text: string) => void },
  signal: AbortSignal,
): Promise<ProbesTurn> {
  const { options, nodeName, say } = plan;
  const { pods, seconds } = options;
  const tell = (text: string): void => say(`${nodeName}: ${text}`);
  using probed = await Probed.start();
  tell('waiting for the node');
  await using node = await BenchNode.start(plan, signal);
  tell(`starting ${pods} pods without probes`);
  const rest = await withPods(
    node,
    named(nodeName, 'rests', pods),
    () => restingPod(),
    signal,
    async () => {
      await settle(node, signal);
      return used(node, seconds, signal);
    },
  );
  tell(`starting ${pods} pods with ${PROBES_PER_POD} probes a second each`);
  const probing = await withPods(
    node,
    named(nodeName, 'probed', pods),
    (name) => probedPod(name, probed.port),
    signal,
    async () => {
      await settle(node, signal);
      probed.forget();
      const usage = await used(node, seconds, signal);
      const arrivals = await probed.arrivals();
      const waits = timeWaits(await readFile('/proc/net/tcp', 'utf8'), probed.port);
      const wanted = (pods * PROBES_PER_POD * seconds * 1_000) / PERIOD_MS;
      const periodErrorsMs = periodErrors(arrivals, PERIOD_MS);
      return { ...usage, came: countOf(arrivals), wanted, periodErrorsMs, timeWaits: waits };
    },
  );
  const serving = async (prefix: string, everyMs: number): Promise<readonly number[]> => {
    tell(`starting ${pods} pods that become Ready when they serve, ${everyMs} ms apart`);
    const names = named(nodeName, prefix, pods);
    const work = (readyMs: readonly number[]) => readyAfterServing(node, names, readyMs);
    return withPods(node, names, () => servingPod(), signal, work, { everyMs });
  };
  const ready = { atOnceMs: await serving('serves', 0), pacedMs: await serving('paced', PACE_MS) };
  return { rest, probing, readyAfterServing: ready };
}

async function readyAfterServing(
  { kubelet }: BenchNode,
  names: readonly string[],
  readyMs: readonly number[],
): Promise<readonly number[]> {
  const offsetMs = uptimeOffsetMs();
  const logs = await Promise.all(names.map((name) => podLog(kubelet.podLogsDirectory, 'default', name)));
  return logs.map((log, index) => {
    const servesMs = servesAtUptimeMs(log);
    if (servesMs === undefined) throw new Error(`pod ${names[index]} is Ready, but has not logged that it serves`);
    return (readyMs[index] ?? Number.NaN) - servesMs - offsetMs;
  });
}

function named(nodeName: string, prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${nodeName}-${prefix}-${index}`);
}

/** Runs work while pods are Ready, and then deletes the pods. */
async function withPods<T>(
  node: BenchNode,
  names: readonly string[],
  specOf: (name: string) => PodSpec,
  signal: AbortSignal,
  work: (readyMs: readonly number[]) => Promise<T>,
  pace?: { readonly everyMs: number },
): Promise<T> {
  const result = await work(await node.addPodsNamed(names, specOf, signal, pace));
  await Promise.all(names.map((name) => node.pods.delete(name)));
  await Promise.all(names.map((name) => node.pods.gone(name)));
  return result;
}

/**
 * Restarts the kubelet, so that memory that the kubelet used earlier does not count, and waits until it has settled.
 */
async function settle(node: BenchNode, signal: AbortSignal): Promise<void> {
  await node.kubelet.stop();
  await node.kubelet.start();
  await sleep(SETTLE_MS, signal);
}

async function used(node: BenchNode, seconds: number, signal: AbortSignal): Promise<Used> {
  const before = await node.kubelet.usage();
  const startMs = performance.now();
  const rssBytes: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    await sleep(Math.max(0, startMs + second * 1_000 - performance.now()), signal);
    rssBytes.push((await node.kubelet.usage()).rssBytes);
  }
  const { cpuSeconds } = await node.kubelet.usage();
  const cpuShare = ((cpuSeconds - before.cpuSeconds) * 1_000) / (performance.now() - startMs);
  return { cpuShare, rssBytes: median(rssBytes) };
}
