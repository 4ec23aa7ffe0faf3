import { sleep } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { defaultPod, isCriticalPod, type Pod, type PodStatus } from '@node-agent/pod-spec';
import { MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';
import {
  type DiskLayout,
  type EvictionComponents,
  type EvictionKill,
  EvictionManager,
  type EvictionOptions,
  type EvictionPodStats,
  type EvictionSummary,
  type FsStats,
  parseThresholds,
  type ThresholdSettings,
} from '../src/index.ts';

export const MI: number = 2 ** 20;
export const ONE_DISK: DiskLayout = { dedicatedImageFs: false, splitContainerFs: false };

/** Creates a pod with one container, `main`. */
export function makePod(name: string, spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return defaultPod({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata },
    spec: { containers: [{ name: 'main', image: 'busybox' }], ...spec },
  });
}

/** Returns the `containers` of a pod spec: one container, `main`, with these requests and limits. */
export function asking(requests: Record<string, string>, limits: Record<string, string> = {}): Partial<Pod['spec']> {
  return { containers: [{ name: 'main', image: 'busybox', resources: { requests, limits } }] };
}

export function podStats(pod: Pod, more: Partial<EvictionPodStats> = {}): EvictionPodStats {
  const { name, namespace, uid } = pod.metadata;
  return { podRef: { name, namespace, uid }, ...more };
}

const time = '2020-01-01T00:00:00Z';

/** Returns stats of a pod whose container uses this much memory. */
export function usingMemory(pod: Pod, bytes: number): EvictionPodStats {
  const memory = { time, workingSetBytes: bytes };
  return podStats(pod, { memory, containers: [{ name: 'main', memory }] });
}

export function files(usedBytes: number, inodesUsed = 0): FsStats {
  return { time, usedBytes, inodesUsed };
}

/** A fake node: it holds stats, pods, disks and the log of actions. */
export class World {
  readonly clock: FakeClock = new FakeClock();
  readonly events: MemoryEventRecorder = new MemoryEventRecorder(() => this.clock.now(), 100);
  readonly metrics: MetricsRegistry = new MetricsRegistry();
  pods: Pod[] = [];
  /** The available memory and the capacity, in bytes. */
  readonly memory: { available: number; capacity: number } = { available: 900 * MI, capacity: 1000 * MI };
  readonly disk: { available: number; capacity: number } = { available: 900 * MI, capacity: 1000 * MI };
  stats: EvictionPodStats[] = [];
  layout: DiskLayout = ONE_DISK;
  arePodsKnown = true;
  /** Actions in order. */
  readonly log: string[] = [];
  readonly kills: { readonly pod: Pod; readonly how: EvictionKill }[] = [];
  /** Performs a kill. By default, a kill completes immediately and frees the pod's memory. */
  kill: (pod: Pod, signal: AbortSignal) => Promise<void> = async (pod) => this.gone(pod);
  /** Returns the stats. If absent, the stats show the true state of the node. */
  summary: ((signal: AbortSignal) => Promise<EvictionSummary>) | undefined;
  summaries = 0;
  onReclaim: (what: string) => void = () => {};
  /** Number of dead containers that each removal finds. */
  deadContainers = 0;
  /** Duration of each removal in milliseconds. */
  reclaimMs = 0;
  readonly #gone = new Set<string>();

  /** Removes a pod and frees its memory. */
  gone(pod: Pod): void {
    const { uid } = pod.metadata;
    const used = this.stats.find(({ podRef }) => podRef.uid === uid)?.memory?.workingSetBytes ?? 0;
    this.memory.available += used;
    this.#gone.add(uid);
    this.pods = this.pods.filter(({ metadata }) => metadata.uid !== uid);
    this.stats = this.stats.filter(({ podRef }) => podRef.uid !== uid);
    this.log.push(`gone ${pod.metadata.name}`);
  }

  /** Returns the current state of the node as stats. @param atMs time of the stats */
  truth(atMs: number = this.clock.now()): EvictionSummary {
    const at = new Date(atMs).toISOString();
    const { memory, disk } = this;
    const fs = {
      ...{ time: at, availableBytes: disk.available, capacityBytes: disk.capacity },
      ...{ inodes: 1000, inodesFree: 900, inodesUsed: 100 },
    };
    return {
      node: {
        memory: {
          ...{ time: at, availableBytes: memory.available },
          workingSetBytes: memory.capacity - memory.available,
        },
        fs,
        runtime: { imageFs: fs, containerFs: fs },
      },
      pods: this.stats,
    };
  }

  podsPort(): EvictionComponents['pods'] {
    return {
      active: () => this.pods,
      areKnown: () => this.arePodsKnown,
      isCritical: isCriticalPod,
      kill: async (pod, how, signal) => {
        this.log.push(`kill ${pod.metadata.name}`);
        this.kills.push({ pod, how });
        await this.kill(pod, signal);
      },
      isGone: ({ metadata }) => this.#gone.has(metadata.uid),
    };
  }

  manager(
    thresholds: ThresholdSettings,
    options: Partial<EvictionOptions> = {},
    components: Partial<EvictionComponents> = {},
  ): EvictionManager {
    const nodeRef = { kind: 'Node', name: 'n1', uid: 'n1' };
    return new EvictionManager(
      {
        ...{ clock: this.clock, recorder: this.events, metrics: this.metrics },
        pods: this.podsPort(),
        stats: {
          summary: async (_options, signal) => {
            this.summaries += 1;
            return this.summary === undefined ? this.truth() : await this.summary(signal);
          },
        },
        disks: { layout: async () => this.layout },
        reclaim: {
          deleteUnusedContainers: async () => {
            this.log.push('containers');
            if (this.reclaimMs > 0) await sleep(this.clock, this.reclaimMs);
            this.onReclaim('containers');
            return this.deadContainers;
          },
          deleteUnusedImages: async () => {
            this.log.push('images');
            if (this.reclaimMs > 0) await sleep(this.clock, this.reclaimMs);
            this.onReclaim('images');
          },
        },
        ...components,
      },
      { nodeRef, thresholds: parseThresholds(thresholds), ...options },
    );
  }

  /** Starts a manager. @returns a function that stops the manager and waits for its end */
  run(manager: EvictionManager): () => Promise<void> {
    const controller = new AbortController();
    const ended = manager.start(controller.signal);
    return async () => {
      controller.abort();
      await this.clock.advance(0);
      await ended;
    };
  }

  /** Returns the names of the killed pods, in order. */
  killed(): readonly string[] {
    return this.kills.map(({ pod }) => pod.metadata.name);
  }

  /** Returns the status that the newest kill of the pod sets. */
  statusAfter(name: string, before: PodStatus = { phase: 'Running' }): PodStatus {
    const kill = this.kills.findLast(({ pod }) => pod.metadata.name === name);
    if (kill === undefined) throw new Error(`${name} was not killed`);
    return kill.how.statusFn(before);
  }
}
