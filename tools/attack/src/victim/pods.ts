import { posix } from 'node:path';
import { CoalescingQueue, systemClock as clock, systemRandom as random } from '@node-agent/async';
import { busyboxImage, FakeRuntime } from '@node-agent/fake-cri';
import { nodeFileSystem } from '@node-agent/host';
import { MemoryFileSystem, memoryForeignFiles } from '@node-agent/host/testing';
import { assembleKubelet } from '@node-agent/kubelet-assembly';
import { ApiSource, FileSource, type PodFeed, type PodFeedChange } from '@node-agent/pod-config';
import type { Pod } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';

/** The kubelet's own directories. A file written elsewhere is a stray file. */
const OWN = ['/var/lib/kubelet', '/var/log/containers', '/var/log/pods'];

/**
 * A kubelet over an in-memory runtime and file system. Its pods come from a manifest directory and from a simulated API
 * server.
 */
export interface AttackedPods {
  readonly kubelet: { run(signal: AbortSignal): Promise<void> };
  show(pods: readonly Pod[]): void;
  /** Returns the keys `namespace/name` of the pods with at least one started container. */
  started(): readonly string[];
  strayFiles(): readonly string[];
}

export function attackedPods(manifestDirectory: string): AttackedPods {
  const fs = new MemoryFileSystem({ clock });
  const written = new Set<string>();
  const started = new Set<string>();
  const feed = new ShownPods();
  const { kubelet } = assembleKubelet(
    {
      ...{ clock, random, fs: noting(fs, written), logger: silentLogger, metrics: noMetrics },
      foreignFiles: memoryForeignFiles({ clock, fs }),
      cri: new FakeRuntime({ fs }, { images: [busyboxImage('busybox')] }),
      mounter: {
        mountPoints: async () => new Map(),
        mountsOfSame: async () => [],
        ...{ mount: async () => {}, bind: async () => {}, rebind: async () => {}, unmount: async () => {} },
      },
      recorder: {
        event: (object, _type, reason) => {
          if (reason === 'Started') started.add(`${object.namespace}/${object.name}`);
        },
      },
    },
    {
      ...{ configuration: {}, servers: {}, nodeName: 'victim', nodeIps: [] },
      rootDirectory: '/var/lib/kubelet',
      containerLogsDirectory: '/var/log/containers',
      node: {
        podLogsDirectory: '/var/log/pods',
        seccompProfileRoot: '/var/lib/kubelet/seccomp',
        ...{ seccompDefault: false, extraMaskedPaths: [], containerStopSignals: false },
        resources: {
          ...{ cgroupVersion: 2, cpuCfsQuota: true, cpuCfsQuotaPeriodUs: 100_000, memoryCapacityBytes: 2 ** 30 },
          ...{ swapCapacityBytes: 0, swapControllerAvailable: false, swapBehavior: 'NoSwap', hugePageSizes: [] },
          singleProcessOomKill: false,
        },
      },
      sources: [
        {
          name: 'file',
          make: (set) => new FileSource({ fs: nodeFileSystem, set }, { path: manifestDirectory, nodeName: 'victim' }),
        },
        { name: 'api', make: (set) => new ApiSource({ feed, set }) },
      ],
      admitHandlers: [],
      dns: { resolvConfPath: '', clusterDns: [], clusterDomain: '' },
      ...{ syncFrequencyMs: 60_000, backOff: { initialMs: 10_000, maxMs: 300_000 } },
      pulls: { serialize: false, maxParallel: undefined, qps: 5, burst: 10 },
      logs: { maxSizeBytes: -1, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 },
      containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
      startConcurrency: 4,
    },
  );
  return {
    kubelet,
    show: (pods) => feed.show(pods),
    started: () => [...started],
    strayFiles: () => [...written].filter((path) => !OWN.some((own) => path === own || path.startsWith(`${own}/`))),
  };
}

/** Pods of a simulated API server. `show` sets all pods, and each change is delivered. */
class ShownPods implements PodFeed {
  readonly #changes = new CoalescingQueue<string, PodFeedChange>();
  #shown: ReadonlyMap<string, Pod> = new Map();

  constructor() {
    this.#changes.push('/', { type: 'synced' });
  }

  show(pods: readonly Pod[]): void {
    const next = new Map(pods.map((pod, index) => [String(index), pod]));
    for (const [key, object] of this.#shown) {
      if (!next.has(key)) this.#changes.push(key, { type: 'deleted', key, object });
    }
    for (const [key, object] of next) this.#changes.push(key, { type: 'changed', key, object });
    this.#shown = next;
  }

  async waitForSync(): Promise<void> {}

  changes(): ReturnType<PodFeed['changes']> {
    const queue = this.#changes;
    return {
      get size() {
        return queue.size;
      },
      async *[Symbol.asyncIterator]() {
        for await (const [, change] of queue) yield change;
      },
      [Symbol.dispose]: () => queue.close(),
    };
  }
}

/** Index of the argument that is the changed path, by method name. */
const CHANGED: ReadonlyMap<PropertyKey, number> = new Map([
  ...(['mkdir', 'writeFile', 'writeFileAtomic', 'chmod', 'chown', 'remove', 'removeAll'] as const).map(
    (name): [string, number] => [name, 0],
  ),
  ['rename', 1],
  ['symlink', 1],
]);

/** Wraps a file system so that each changed path, without `.` and `..`, is added to `written`. */
function noting(fs: MemoryFileSystem, written: Set<string>): MemoryFileSystem {
  return new Proxy(fs, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        const index = CHANGED.get(name);
        const path = index === undefined ? undefined : given[index];
        if (isPath(path)) written.add(posix.normalize(path));
        return Reflect.apply(value, target, given);
      };
    },
  });
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('/');
}
