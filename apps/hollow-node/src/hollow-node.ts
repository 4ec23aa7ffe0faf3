import { type Clock, type Random, TaskGroup } from '@node-agent/async';
import { ApiEventRecorder, restEventSink } from '@node-agent/events';
import type { FakeRuntimeOptions } from '@node-agent/fake-cri';
import { memoryForeignFiles } from '@node-agent/host/testing';
import type { UserClients } from '@node-agent/kube-client';
import {
  type AssembledKubelet,
  assembleKubelet,
  type ClusterWatches,
  type NodePorts,
} from '@node-agent/kubelet-assembly';
import { clusterPart } from '@node-agent/kubelet-assembly/cluster';
import type { BackgroundService, KubeletView } from '@node-agent/kubelet-core';
import { goArchitecture } from '@node-agent/node-status';
import type { Endpoints, UpgradeEndpoints } from '@node-agent/server';
import type { Logger, MetricsRegistry } from '@node-agent/telemetry';
import { hollowEndpoints } from './hollow-endpoints.ts';
import { HollowMachine } from './hollow-machine.ts';
import { type HollowNodeSettings, kubeletSettings } from './kubelet-settings.ts';
import { CGROUP_MOUNT } from './machine-texts.ts';
import type { NodePlan } from './node-plan.ts';

/** Components of the process that all hollow nodes share. */
export interface HollowComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** Connection of a node to its API server. */
export interface NodeConnection {
  readonly clients: UserClients;
  readonly watched: ClusterWatches;
}

/** Handlers of a node's server. */
export interface NodeHandlers {
  readonly endpoints: Endpoints;
  readonly upgrades: UpgradeEndpoints;
}

/** Creates the kubelet server of a node. */
export type MakeServer = (plan: NodePlan, handlers: NodeHandlers) => Pick<BackgroundService, 'start'>;

/** Options that all hollow nodes of a process share. */
export interface HollowNodeOptions extends HollowNodeSettings {
  readonly kubeletVersion: string;
  /** Behaviour of containers, and durations of the operations of the runtime. */
  readonly runtime: Pick<FakeRuntimeOptions, 'script' | 'latencies'>;
}

/**
 * A node without a real machine: the kubelet of this repository, with all its managers, runs with a file system and a
 * container runtime in memory. The API server cannot distinguish such a node from other nodes.
 */
export class HollowNode {
  readonly #components: HollowComponents;
  readonly #plan: NodePlan;
  readonly #node: ClusterWatches['node'];
  readonly #machine: HollowMachine;
  readonly #events: ApiEventRecorder;
  readonly #assembled: AssembledKubelet<undefined>;

  /** Creates the node without any I/O. */
  constructor(
    components: HollowComponents,
    plan: NodePlan,
    options: HollowNodeOptions,
    { clients, watched }: NodeConnection,
    makeServer?: MakeServer,
  ) {
    const { random, metrics } = components;
    const clock = shiftedClock(components.clock, plan.phaseMs);
    const logger = components.logger.child({ node: plan.name });
    this.#components = { ...components, clock, logger };
    this.#plan = plan;
    this.#node = watched.node;
    const machine = new HollowMachine({ clock, random }, options.size, {
      ...options.runtime,
      podCidrs: [plan.podCidr],
    });
    this.#machine = machine;
    this.#events = new ApiEventRecorder(
      { clock, random, logger, metrics, sink: restEventSink(clients.events) },
      { host: plan.name, correlation: { cacheSize: EVENT_CACHE_SIZE } },
    );
    const { fs, mounter, cri } = machine;
    const foreignFiles = memoryForeignFiles({ clock, fs });
    const main =
      plan.port === undefined || makeServer === undefined
        ? {}
        : {
            main: (kubelet: KubeletView) => {
              const server = makeServer(plan, this.#handlers(kubelet));
              return { name: 'secured server', start: (signal: AbortSignal) => server.start(signal) };
            },
          };
    this.#assembled = assembleKubelet(
      {
        ...{ clock, random, logger, metrics, recorder: this.#events },
        ...{ fs, foreignFiles, mounter, cri },
        ...healthyNetwork,
        stats: {
          cgroups: async () => ({ version: 2, mount: CGROUP_MOUNT }),
          disks: { statfs: async () => diskOf(options.size.storageBytes, fs.usedBytes) },
        },
        cluster: clusterPart(
          { ...clients, watched, machine: machineFacts(plan.name, options) },
          {
            node: {
              ...{ hostname: plan.name, kubeletVersion: options.kubeletVersion, maxPods: options.maxPods },
              architecture: goArchitecture(process.arch),
              nodeLabels: options.labels,
              taints: options.taints,
              kubeletPort: plan.port ?? 0,
            },
            leaseDurationSeconds: options.leaseDurationSeconds,
            changeDetection: 'Watch',
          },
        ),
      },
      kubeletSettings(options, { nodeName: plan.name, servers: main, podCidr: plan.podCidr }),
    );
  }

  /** Handlers of the node's kubelet server, for callers in the same process. */
  get handlers(): NodeHandlers {
    return this.#handlers(this.#assembled.kubelet);
  }

  /**
   * Runs the node until `signal` is aborted; then the node's containers end. May be called only once.
   * @throws the error of the part of the kubelet that failed
   */
  async run(signal: AbortSignal): Promise<void> {
    const { kubelet } = this.#assembled;
    await this.#machine.prepare();
    kubelet.birthCry();
    // A hollow machine has no cgroups, so the kubelet's part that records this event on a machine does not run.
    const enforced = 'Updated Node Allocatable limit across pods';
    this.#events.event(kubelet.nodeRef, 'Normal', 'NodeAllocatableEnforced', enforced);
    const group = new TaskGroup(signal);
    group.add((ending) => this.#events.start(ending));
    group.add((ending) => kubelet.run(ending));
    group.add((ending) => kubelet.startGarbageCollection(ending));
    if (this.#plan.port !== undefined) group.add((ending) => kubelet.listenAndServe(ending));
    try {
      await group.ended();
    } finally {
      await this.#machine.powerOff();
    }
  }

  /** Resolves when the Node object in the API server is Ready. @throws the signal's reason */
  async ready(signal: AbortSignal): Promise<void> {
    using changes = this.#node.changes();
    for (let change = await changes.take(signal); change !== undefined; change = await changes.take(signal)) {
      if (change.type !== 'changed') continue;
      const { conditions = [] } = change.object.status ?? {};
      if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) return;
    }
  }

  #handlers(kubelet: KubeletView): NodeHandlers {
    const stats = (): AssembledKubelet<undefined>['stats'] => this.#assembled.stats;
    return hollowEndpoints({ ...this.#components, machine: this.#machine, stats }, kubelet);
  }
}

/**
 * Number of events that a node remembers to count repetitions: enough for 110 pods with four events each. With
 * upstream's 4096, the events of pods that are gone would take 2 MB on each node.
 */
const EVENT_CACHE_SIZE = 512;

/**
 * Returns a clock whose monotonic time is shifted. So the node's periodic work, which begins at multiples of a second,
 * happens at other times than that of other nodes.
 */
function shiftedClock(clock: Clock, shiftMs: number): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + shiftMs,
    setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
  };
}

/**
 * Network ports with which all probes and hooks over the network succeed: hollow pods have addresses, but no process
 * listens on them.
 */
const healthyNetwork: Pick<NodePorts, 'probePorts' | 'hookHttp'> = {
  probePorts: {
    http: async () => ({ kind: 'answer', status: 200, body: '' }),
    tcp: async () => undefined,
    grpc: async () => ({ result: 'success', output: '' }),
  },
  hookHttp: async () => ({ kind: 'answer', status: 200, body: '' }),
};

/** Sizes of huge pages that a Linux machine offers, none of them allocated: the Node object lists each size. */
const NO_HUGE_PAGES = [2 ** 21, 2 ** 30].map((pageSizeBytes) => ({ pageSizeBytes, count: 0 }));

function machineFacts(
  name: string,
  { size, address }: HollowNodeOptions,
): Parameters<typeof clusterPart>[0]['machine'] {
  const machine = {
    ...{ machineId: name, systemUuid: name, bootId: name, kernelVersion: '6.12.0', osImage: 'Hollow node' },
    ...{ cpuCount: size.cpus, memoryBytes: size.memoryBytes, swapBytes: 0, hugePages: NO_HUGE_PAGES },
  };
  return {
    machine: async () => machine,
    network: async () => ({ hostAddresses: [address], namedAddresses: [], defaultAddress: address }),
    ephemeralStorageBytes: async () => size.storageBytes,
  };
}

function diskOf(totalBytes: number, usedBytes: number) {
  const freeBytes = Math.max(0, totalBytes - usedBytes);
  return { totalBytes, freeBytes, availableBytes: freeBytes, inodes: 1_000_000, freeInodes: 999_000 };
}
