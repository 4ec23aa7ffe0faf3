import { join } from 'node:path';
import type { DriverProcess } from '@node-agent/tools-csi-driver';
import type { BenchNode } from '../bench-node.ts';
import { machineCpuSeconds } from '../proc.ts';
import { sleep, until } from '../waiting.ts';
import { type CallCounts, countCalls } from './calls.ts';
import { claimingPod } from './claimed-volumes.ts';
import { type ClaimsPlan, type ClaimsScene, withClaims } from './claims-scene.ts';
import { ExtraMounts } from './extra-mounts.ts';
import { leftIn } from './left.ts';
import type { ClaimsBenchOptions } from './options.ts';

/** Resources of a kubelet at rest. */
interface Rest {
  /** Share of one CPU that the kubelet and its child processes used. */
  readonly cpuShare: number;
  readonly rssBytes: number;
}

/** Results of one turn of a kubelet. CPU times of the kubelet include its child processes. */
export interface ClaimsTurn {
  readonly pods: number;
  /** Time in ms from the creation of the first pod until each pod was Ready. */
  readonly readyMs: readonly number[];
  readonly startCpuSeconds: number;
  /** CPU seconds of the whole machine until all pods were Ready. */
  readonly machineSeconds: number;
  /** Numbers of RPCs that the CSI driver received from the creation of the pods until all were Ready. */
  readonly startCalls: CallCounts;
  /** Usage at rest: first with the pods only, then with the additional mounts as well; undefined if not measured. */
  readonly rest: { readonly pods: Rest; readonly mounts: Rest } | undefined;
  /** Time in ms from the first deletion until all pods' objects were gone. */
  readonly goneMs: number;
  /** Time in ms from the first deletion until all mounts of the pods were gone again. */
  readonly unmountedMs: number;
  readonly endCpuSeconds: number;
  /** Numbers of RPCs that the CSI driver received from the first deletion until the mounts were gone. */
  readonly endCalls: CallCounts;
}

/** Time in ms for a kubelet to settle before a measurement at rest. */
const SETTLE_MS = 20_000;
/** Interval in ms at which the mount table is read. The tables are long, so that reading costs CPU time. */
const LOOK_MS = 100;

/** Starts a node with its own runtime and driver, measures pods with claims, and stops everything. */
export function takeClaimsTurn(plan: ClaimsPlan, signal: AbortSignal): Promise<ClaimsTurn> {
  return withClaims(plan, plan.options.pods, (scene) => withPods(plan, scene, signal), signal);
}

async function withPods(
  { options, directory }: ClaimsPlan,
  { node, driver, names, tell }: ClaimsScene,
  signal: AbortSignal,
): Promise<ClaimsTurn> {
  const { kubelet, pods } = node;
  tell(`starting ${names.length} pods with a claim each`);
  const before = await leftIn(directory, kubelet.rootDirectory);
  const start = await usedDuring(kubelet, driver, async () => {
    const startMs = performance.now();
    const seenMs = await node.addPodsNamed(names, claimingPod, signal);
    return seenMs.map((ms) => ms - startMs);
  });
  const rest = options.seconds === 0 ? undefined : await atRest(node, join(directory, 'm'), options, tell, signal);
  tell('deleting the pods');
  const end = await usedDuring(kubelet, driver, async () => {
    const startMs = performance.now();
    await Promise.all(names.map((name) => pods.delete(name)));
    await Promise.all(names.map((name) => pods.gone(name)));
    const goneMs = performance.now() - startMs;
    let left: readonly string[] = [];
    const isAsBefore = async (): Promise<boolean> => {
      left = await leftIn(directory, kubelet.rootDirectory);
      return left.join() === before.join();
    };
    await until('the mounts are as before', isAsBefore, signal, { everyMs: LOOK_MS }).catch((error: unknown) => {
      throw new Error(`${left.length} mounts and directories instead of ${before.length}, such as ${left.at(-1)}`, {
        cause: error,
      });
    });
    return { goneMs, unmountedMs: performance.now() - startMs };
  });
  return {
    pods: names.length,
    readyMs: start.result,
    startCpuSeconds: start.cpuSeconds,
    machineSeconds: start.machineSeconds,
    startCalls: start.calls,
    rest,
    ...end.result,
    endCpuSeconds: end.cpuSeconds,
    endCalls: end.calls,
  };
}

/** Runs work, and returns the kubelet's CPU time and the driver's calls during it. */
async function usedDuring<T>(
  kubelet: BenchNode['kubelet'],
  driver: DriverProcess,
  work: () => Promise<T>,
): Promise<{
  readonly result: T;
  readonly cpuSeconds: number;
  readonly machineSeconds: number;
  readonly calls: CallCounts;
}> {
  const fromMs = Date.now();
  const [cpuBefore, machineBefore] = [await kubelet.cpuSecondsOfFamily(), await machineCpuSeconds()];
  const result = await work();
  const machineSeconds = (await machineCpuSeconds()) - machineBefore;
  const cpuSeconds = (await kubelet.cpuSecondsOfFamily()) - cpuBefore;
  return { result, cpuSeconds, machineSeconds, calls: countCalls(await driver.calls(), fromMs, Date.now()) };
}

async function atRest(
  { kubelet }: BenchNode,
  directory: string,
  { seconds, mounts }: ClaimsBenchOptions,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<NonNullable<ClaimsTurn['rest']>> {
  const measure = async (): Promise<Rest> => {
    await sleep(SETTLE_MS, signal);
    const [cpuBefore, startMs] = [await kubelet.cpuSecondsOfFamily(), performance.now()];
    await sleep(seconds * 1_000, signal);
    const cpuSeconds = (await kubelet.cpuSecondsOfFamily()) - cpuBefore;
    const cpuShare = (cpuSeconds * 1_000) / (performance.now() - startMs);
    return { cpuShare, rssBytes: (await kubelet.usage()).rssBytes };
  };
  tell(`resting for ${seconds} s`);
  const pods = await measure();
  tell(`resting for ${seconds} s with ${mounts} more mounts`);
  await using _extra = await ExtraMounts.make(directory, mounts);
  return { pods, mounts: await measure() };
}
