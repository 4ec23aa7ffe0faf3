import { type ContainerdBinaries, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { BenchNode } from '../bench-node.ts';
import { sleep, within } from '../waiting.ts';
import { type HostileKind, hostileSpec } from './kinds.ts';

/** Options of {@link takeHostileTurn}. */
export interface HostilePlan {
  readonly controlPlane: ControlPlane;
  readonly binaries: ContainerdBinaries;
  readonly program: string;
  readonly nodeName: string;
  readonly directory: string;
  readonly subnet: string;
  readonly kinds: readonly HostileKind[];
  readonly say: (text: string) => void;
}

/** Cost of one kind of pods for the kubelet and for other pods. */
export interface Harm {
  /** Maximum growth of the kubelet's memory. */
  readonly peakBytes: number;
  readonly cpuSeconds: number;
  /** Time from the creation of a healthy pod, while the hostile pods are being deleted, until it is Ready. */
  readonly otherReadyMs: number;
  /** Time from the deletion of the hostile pods until all are gone; infinite if that takes more than five minutes. */
  readonly goneMs: number;
}

const READY_TIMEOUT_MS = 180_000;
const GONE_TIMEOUT_MS = 300_000;
const SETTLE_MS = 5000;

/** Runs the pods of each kind, one kind after another, with a kubelet that has its own runtime. */
export async function takeHostileTurn(plan: HostilePlan, signal: AbortSignal): Promise<ReadonlyMap<string, Harm>> {
  const { nodeName, say } = plan;
  await using node = await BenchNode.start({ ...plan, configuration: {} }, signal);
  const harm = new Map<string, Harm>();
  for (const kind of plan.kinds) {
    say(`${nodeName}: ${kind.name}`);
    harm.set(kind.name, await bear(kind, nodeName, node, signal));
  }
  return harm;
}

async function bear(
  kind: HostileKind,
  nodeName: string,
  { kubelet, pods }: BenchNode,
  signal: AbortSignal,
): Promise<Harm> {
  const id = kind.name.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
  const names = Array.from({ length: kind.pods }, (_, index) => `${nodeName}-${id}-${index}`);
  await sleep(SETTLE_MS, signal);
  await kubelet.resetPeak();
  const before = await kubelet.usage();
  await Promise.all(names.map((name) => pods.create(name, hostileSpec(kind, PAUSE_IMAGE))));
  await within(READY_TIMEOUT_MS, Promise.all(names.map((name) => pods.ready(name))));
  const deletedMs = performance.now();
  await Promise.all(names.map((name) => pods.delete(name)));
  const other = `${nodeName}-${id}-other`;
  const createdMs = await pods.create(other);
  const otherReadyMs = (await pods.ready(other)) - createdMs;
  const gone = await within(GONE_TIMEOUT_MS, Promise.all(names.map((name) => pods.gone(name))));
  const { peakRssBytes, cpuSeconds } = await kubelet.usage();
  await pods.delete(other);
  return {
    peakBytes: peakRssBytes - before.rssBytes,
    cpuSeconds: cpuSeconds - before.cpuSeconds,
    otherReadyMs,
    goneMs: gone === undefined ? Number.POSITIVE_INFINITY : Math.max(...gone) - deletedMs,
  };
}
