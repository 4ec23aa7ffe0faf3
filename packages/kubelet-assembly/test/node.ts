import { type Random, seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { busyboxImage, FakeRuntime, type FakeRuntimeOptions } from '@node-agent/fake-cri';
import { MemoryFileSystem, memoryForeignFiles } from '@node-agent/host/testing';
import type { AdmitHandler } from '@node-agent/kubelet-core';
import { defaultPod, type Pod, type PodSource } from '@node-agent/pod-spec';
import { MemoryEventRecorder, noMetrics, silentLogger } from '@node-agent/telemetry';
import { type AssembledKubelet, assembleKubelet } from '../src/assemble.ts';
import type { ClusterPart } from '../src/cluster-part.ts';
import type { AssemblySettings, NodePorts } from '../src/ports.ts';

/** Returns a static pod with one container that runs until it is stopped. */
export function makePod(name: string, spec: Partial<Pod['spec']> = {}): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file' };
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  return defaultPod({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: { containers: [container], terminationGracePeriodSeconds: 1, ...spec },
  });
}

/** An in-memory machine: clock, files, runtime, and recorded events and logs. */
export interface World {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly fs: MemoryFileSystem;
  readonly cri: FakeRuntime;
  readonly events: MemoryEventRecorder;
  /** The current mounts by path, each with its type and options. */
  readonly mounts: Map<string, string>;
  /** Results of `statfs` for every path. */
  readonly disk: { totalBytes: number; availableBytes: number };
}

export async function makeWorld(runtime: FakeRuntimeOptions = {}): Promise<World> {
  const clock = new FakeClock();
  const random = seededRandom(7);
  const fs = new MemoryFileSystem({ clock });
  await fs.mkdir('/etc');
  await fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
  const cri = new FakeRuntime({ clock, random, fs }, { images: [busyboxImage('busybox')], ...runtime });
  const events = new MemoryEventRecorder(() => clock.now());
  const disk = { totalBytes: 20_000_000, availableBytes: 18_000_000 };
  return { clock, random, fs, cri, events, mounts: new Map(), disk };
}

/** Settings of sandboxes and containers of a test node. */
export const nodeSettings: AssemblySettings['node'] = {
  podLogsDirectory: '/logs/pods',
  seccompProfileRoot: '/root/seccomp',
  seccompDefault: false,
  extraMaskedPaths: [],
  containerStopSignals: false,
  resources: {
    cgroupVersion: 2,
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: 100_000,
    memoryCapacityBytes: 2 ** 30,
    swapCapacityBytes: 0,
    swapControllerAvailable: false,
    swapBehavior: 'NoSwap',
    hugePageSizes: [],
    singleProcessOomKill: false,
  },
};

/** A running kubelet, with functions to change its pods and to stop it. */
export interface StartedKubelet extends AssembledKubelet<unknown> {
  readonly setPods: (pods: readonly Pod[]) => void;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a kubelet on an in-memory machine. One pod source is controlled by the test; `silentSources` never report
 * pods.
 */
export function startKubelet(
  { clock, random, fs, cri, events, mounts, disk }: World,
  admitHandlers: readonly AdmitHandler[] = [],
  cluster?: ClusterPart,
  silentSources: readonly PodSource[] = [],
  ports: Pick<
    NodePorts,
    | 'probePorts'
    | 'probeMetrics'
    | 'hookHttp'
    | 'loopDevices'
    | 'networkMounter'
    | 'flexPrograms'
    | 'openCgroups'
    | 'statistics'
    | 'stats'
    | 'csiDrivers'
    | 'deviceTransport'
    | 'labelForContainers'
    | 'shutdown'
    | 'onPodCountChanged'
  > &
    Partial<Pick<NodePorts, 'logger'>> = {},
  changes: Partial<AssemblySettings> = {},
): StartedKubelet {
  let set: (pods: readonly Pod[]) => void = () => {};
  const settings: AssemblySettings = {
    configuration: {},
    servers: {},
    nodeName: 'n1',
    nodeIps: ['192.0.2.1'],
    rootDirectory: '/root',
    containerLogsDirectory: '/logs/containers',
    node: nodeSettings,
    nodeAllocatable: { pods: '110', cpu: '2', memory: '900Mi' },
    sources: [
      {
        name: 'file',
        make: (give) => {
          set = give;
          return { start: async () => {} };
        },
      },
      ...silentSources.map((name) => ({ name, make: () => ({ start: async () => {} }) })),
    ],
    admitHandlers,
    dns: { resolvConfPath: '', clusterDns: [], clusterDomain: '' },
    syncFrequencyMs: 60_000,
    backOff: { initialMs: 10_000, maxMs: 300_000 },
    pulls: { serialize: false, maxParallel: undefined, qps: 5, burst: 10 },
    logs: { maxSizeBytes: -1, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 },
    containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
    startConcurrency: 4,
    ...changes,
  };
  const mounter = {
    mountPoints: async () => new Map([...mounts].map(([place, what]) => [place, what.split(' ', 1).join()])),
    mountsOfSame: async (path: string) => (mounts.has(path) ? [path] : []),
    mount: async (_source: string, target: string, type: string, options: readonly string[]) => {
      fs.mount(target);
      mounts.set(target, [type, ...options].join(' '));
    },
    rebind: async () => undefined,
    bind: async () => {},
    unmount: async (target: string) => {
      fs.unmount(target);
      mounts.delete(target);
    },
  };
  const assembled = assembleKubelet(
    {
      foreignFiles: memoryForeignFiles({ clock, fs }),
      disks: { statfs: async () => ({ ...disk }) },
      ...{ clock, random, fs, cri, mounter, recorder: events, logger: silentLogger, metrics: noMetrics },
      ...(cluster && { cluster }),
      ...ports,
    },
    settings,
  );
  const controller = new AbortController();
  const running = assembled.kubelet.run(controller.signal);
  // The error is ignored here, because the caller of `stop` receives it.
  running.catch(() => undefined);
  const stop = async (): Promise<void> => {
    controller.abort();
    await clock.advance(0);
    await running;
  };
  return { ...assembled, setPods: (pods: readonly Pod[]) => set(pods), stop };
}

/** Returns the IDs of all containers. */
export const ids = async (cri: FakeRuntime): Promise<string[]> => {
  const { containers } = await cri.listContainers({});
  return containers.map(({ id }) => id).sort();
};
