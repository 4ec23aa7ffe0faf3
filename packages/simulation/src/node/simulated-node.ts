import { seededRandom } from '@node-agent/async';
import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { HttpTransport } from '@node-agent/fake-apiserver';
import type { GrpcTransport } from '@node-agent/grpc';
import type { FileSystem } from '@node-agent/host';
import { memoryForeignFiles } from '@node-agent/host/testing';
import {
  type AssembledKubelet,
  type AssemblySettings,
  assembleKubelet,
  type PodSourcePort,
} from '@node-agent/kubelet-assembly';
import type { PodSyncer } from '@node-agent/kubelet-core';
import { FileSource, HttpSource, LastGoodDirectory } from '@node-agent/pod-config';
import { type Logger, noEvents, noMetrics } from '@node-agent/telemetry';
import type { LocalDevices, Mounter } from '@node-agent/volumes';
import type { Happening, WorkerStep } from '../observation.ts';
import type { NodePlan } from '../scenario/actions.ts';
import { NODE_NAME } from '../scenario/manifest.ts';
import { cpusOfNodes } from '../world/machine.ts';
import type { Scarce } from '../world/pressure.ts';
import { MANIFEST_DIRECTORY, MANIFEST_URL, POD_LOGS_DIRECTORY, ROOT_DIRECTORY, type World } from '../world/world.ts';
import { clusterOf } from './cluster.ts';
import { devicePorts, deviceSettings } from './device-ports.ts';
import {
  guardedCri,
  guardedDevices,
  guardedFetch,
  guardedFiles,
  guardedForeignFiles,
  guardedLoops,
  guardedMounter,
} from './guarded-ports.ts';
import { type HookHttp, hookPort } from './hook-port.ts';
import { Lease } from './lease.ts';
import { type ResourceChanges, resourcePorts, resourceSettings, tellingRecorder } from './node-resources.ts';
import { numaSettings } from './numa-settings.ts';
import { type ProbeHttp, probePort } from './probe-port.ts';
import { type ShutdownChanges, shutdownPorts, shutdownSettings } from './shutdown-ports.ts';

/** Number of CPUs of a machine whose resources are not simulated. */
const CPU_COUNT = 8;

/** Time after which a service manager starts a kubelet again. */
const START_AGAIN_MS = 1000;

/** Type of the function that sends a request to the API server. */
export type ApiRequester = HttpTransport['request'];

/** Changes of the ports between the kubelet and the world. Tests use these changes to break invariants on purpose. */
export interface Decorations {
  /** Changes the runtime as the kubelet sees it. */
  readonly cri?: (cri: RuntimeService & ImageService, world: World) => RuntimeService & ImageService;
  /** Changes the file system as the kubelet sees it. */
  readonly files?: (fs: FileSystem) => FileSystem;
  /** Changes the requests to the API server, if there is one. */
  readonly api?: (request: ApiRequester) => ApiRequester;
  /** Changes the mounter as the kubelet sees it. */
  readonly mounter?: (mounter: Mounter) => Mounter;
  /** Changes the mounts of local disks. */
  readonly disks?: (disks: LocalDevices) => LocalDevices;
  /** Changes the requests of probes. */
  readonly probes?: (ask: ProbeHttp) => ProbeHttp;
  /** Changes the requests of hooks. */
  readonly hooks?: (ask: HookHttp) => HookHttp;
  /** Changes the stats and cgroups of a node with simulated resources. */
  readonly resources?: ResourceChanges;
  /** Changes the transport between the kubelet and its device plugins. */
  readonly devices?: (transport: GrpcTransport) => GrpcTransport;
  /** Changes the announcement of the machine's shutdown and its delay. */
  readonly shutdown?: ShutdownChanges;
  /** Changes the operations of pod workers. */
  readonly podSyncer?: (syncer: PodSyncer) => PodSyncer;
}

/** Dependencies of a {@link SimulatedNode}. */
export interface SimulatedNodeComponents {
  readonly world: World;
  readonly logger: Logger;
  readonly tell: (happening: Happening) => void;
  readonly decorations: Decorations;
}

interface Process {
  readonly lease: Lease;
  readonly stop: AbortController;
  readonly assembled: AssembledKubelet<undefined>;
  sourcesReady: boolean;
  /** The resource pressure that the kubelet reported last. */
  pressure: Readonly<Record<Scarce, boolean>>;
}

/** A node whose kubelet is started, killed and restarted on a machine that survives the kubelet. */
export class SimulatedNode {
  readonly #components: SimulatedNodeComponents;
  readonly #seed: number;
  readonly #plan: NodePlan;
  #process: Process | undefined;
  #lives = 0;

  constructor(components: SimulatedNodeComponents, seed: number, plan: NodePlan) {
    this.#components = components;
    this.#seed = seed;
    this.#plan = plan;
  }

  /** Number of kubelets that have been started, including the running one. */
  get lives(): number {
    return this.#lives;
  }

  /** The running kubelet. */
  get kubelet(): AssembledKubelet<undefined> | undefined {
    return this.#process?.assembled;
  }

  /** Number of pending timers of the running kubelet. */
  get pendingTimers(): number {
    return this.#process?.lease.pendingTimers ?? 0;
  }

  /** Starts a new kubelet process. Does nothing if a kubelet is running or the machine is off. */
  start(): void {
    if (this.#process !== undefined || this.#components.world.off) return;
    const { world, logger, tell, decorations } = this.#components;
    this.#lives++;
    const lease = new Lease(world.clock, (call) => {
      this.poll();
      if (call.name === 'removeImage') world.pressure?.imageGoes();
      tell({ kind: 'call', call });
    });
    const fs = guardedFiles(lease, decorations.files?.(world.fs) ?? world.fs);
    const { clock } = lease;
    const runtime = decorations.cri?.(world.runtime, world) ?? world.runtime;
    const probes = probePort(lease, world.probeTargets, (probed) => tell({ kind: 'probed', probed }));
    const hooks = hookPort(lease, world.hookTargets);
    const syncers = decorations.podSyncer;
    const assembled = assembleKubelet(
      {
        clock,
        random: seededRandom(this.#seed * 31 + this.#lives),
        logger,
        metrics: noMetrics,
        recorder: this.#tells ? tellingRecorder(lease, tell) : noEvents,
        ...devicePorts(lease, world, decorations.devices),
        ...shutdownPorts(lease, world, tell, decorations.shutdown ?? {}),
        ...resourcePorts(lease, world, tell, decorations.resources ?? {}),
        cri: guardedCri(lease, runtime),
        fs,
        foreignFiles: guardedForeignFiles(lease, memoryForeignFiles({ clock, fs: world.fs })),
        mounter: guardedMounter(lease, decorations.mounter?.(world.mounter) ?? world.mounter),
        ...(world.api && { localDevices: guardedDevices(lease, decorations.disks?.(world.disks) ?? world.disks) }),
        ...(world.csi && { loopDevices: guardedLoops(lease, world.loops) }),
        probePorts: { http: decorations.probes?.(probes) ?? probes },
        hookHttp: decorations.hooks?.(hooks) ?? hooks,
        ...(world.api && {
          cluster: clusterOf(lease, world.api, logger, this.#machine, decorations.api),
        }),
      },
      this.#settings(lease, fs, logger),
      {
        podSyncer: (syncer) => {
          const observed = observedSyncer(syncer, lease, tell);
          return syncers?.(observed) ?? observed;
        },
      },
    );
    const stop = new AbortController();
    const process: Process = { lease, stop, assembled, sourcesReady: false, pressure: { memory: false, disk: false } };
    this.#process = process;
    tell({ kind: 'kubeletStarted' });
    const { kubelet, resourceManagers } = assembled;
    const run = (): Promise<unknown> =>
      Promise.all([kubelet.run(stop.signal), kubelet.startGarbageCollection(stop.signal)]);
    if (resourceManagers !== undefined) {
      // Like the real program, the kubelet loads its state files before it admits any pod, so an unusable file is
      // detected before.
      resourceManagers.load().then(
        () => this.#follow(process, run()),
        (error: unknown) => this.#gaveUp(process, error),
      );
      return;
    }
    this.#follow(process, run());
  }

  #follow(process: Process, running: Promise<unknown>): void {
    running.then(
      () => this.#ended(process, undefined),
      (error: unknown) => this.#ended(process, error),
    );
  }

  /** Kills the kubelet, as by `kill -9`. */
  kill(inFlight: 'cancelled' | 'completed'): void {
    const process = this.#process;
    if (process === undefined) return;
    this.#process = undefined;
    process.lease.end(inFlight);
    this.#components.tell({ kind: 'kubeletEnded', how: 'killed' });
  }

  /** Schedules the kill of the kubelet at one of its next calls. `then` is called after the kill. */
  planKill(
    options: { readonly afterCalls: number; readonly effect: 'before' | 'after' },
    inFlight: 'cancelled' | 'completed',
    then: () => void,
  ): void {
    const process = this.#process;
    if (process === undefined) return;
    process.lease.planKill(options.afterCalls, options.effect, () => {
      this.kill(inFlight);
      then();
    });
  }

  /** Asks the kubelet to stop, as SIGTERM does. The process ends when the kubelet has stopped or is killed. */
  stop(): void {
    this.#process?.stop.abort(new DOMException('SIGTERM', 'AbortError'));
  }

  /** Whether pod events must be observed, because pod events carry information that no other port has. */
  get #tells(): boolean {
    const { resources, devices, shutdown, numa } = this.#plan;
    return numa !== undefined || resources !== undefined || devices !== undefined || shutdown !== undefined;
  }

  /** Number of CPUs that the kubelet detects. */
  get #cpuCount(): number {
    return this.#components.decorations.resources?.cpuCount ?? this.#plan.resources?.cpuCount ?? CPU_COUNT;
  }

  get #machine(): Parameters<typeof clusterOf>[3] {
    const { numa } = this.#plan;
    if (numa === undefined) return { cpuCount: this.#cpuCount };
    return {
      cpuCount: cpusOfNodes(numa).flat().length,
      memoryBytes: numa.numaNodes * numa.memoryMiPerNode * 2 ** 20,
      hugePages: [{ pageSizeBytes: 2 ** 21, count: numa.numaNodes * numa.hugePagesPerNode }],
    };
  }

  /**
   * Checks whether all sources have become ready, and whether the kubelet reports other resource pressure than before.
   */
  poll(): void {
    const process = this.#process;
    if (process?.assembled.eviction !== undefined) this.#tellPressure(process, process.assembled.eviction.pressure());
    if (process === undefined || process.sourcesReady || !process.assembled.podConfig.seenAllSources()) return;
    process.sourcesReady = true;
    this.#components.tell({ kind: 'sourcesReady' });
  }

  #tellPressure(process: Process, { memory, disk }: { readonly memory: boolean; readonly disk: boolean }): void {
    const { pressure } = process;
    if (pressure.memory === memory && pressure.disk === disk) return;
    process.pressure = { memory, disk };
    this.#components.tell({ kind: 'pressure', pressure: process.pressure });
  }

  #ended(process: Process, error: unknown): void {
    if (this.#process !== process) return;
    if (!process.stop.signal.aborted) this.#components.tell({ kind: 'kubeletFailed', error });
    this.#process = undefined;
    process.lease.end('cancelled');
    this.#components.tell({ kind: 'kubeletEnded', how: 'stopped' });
  }

  /** Starts the kubelet again, like a service manager, after the kubelet could not read or write its state files. */
  #gaveUp(process: Process, error: unknown): void {
    if (this.#process !== process) return;
    this.#components.tell({ kind: 'kubeletGaveUp', error });
    this.kill('cancelled');
    this.#components.world.clock.setTimer(START_AGAIN_MS, () => this.start());
  }

  #settings(lease: Lease, fs: ReturnType<typeof guardedFiles>, logger: Logger): AssemblySettings<undefined> {
    const { clock } = lease;
    const { world } = this.#components;
    const lastGood = (source: string): LastGoodDirectory =>
      new LastGoodDirectory({ fs }, { path: `${ROOT_DIRECTORY}/last-good-manifests/${source}` });
    const sources: PodSourcePort[] = [
      {
        name: 'file',
        make: (set) =>
          new FileSource(
            { fs, clock, logger, set, lastGood: lastGood('file') },
            { path: MANIFEST_DIRECTORY, nodeName: NODE_NAME },
          ),
      },
    ];
    if (this.#plan.http) {
      const { httpDelayMs } = this.#plan;
      const fetch = guardedFetch(lease, world.fetch);
      sources.push({
        name: 'http',
        make: (set) =>
          new HttpSource(
            {
              fetch: async (url, init) => {
                if (clock.monotonic() < httpDelayMs) throw new Error('fetch failed');
                return fetch(url, init);
              },
              clock,
              logger,
              set,
              lastGood: lastGood('http'),
            },
            { url: MANIFEST_URL, nodeName: NODE_NAME, periodMs: 3000 },
          ),
      });
    }
    return {
      ...deviceSettings(this.#plan),
      ...numaSettings(this.#plan, world.policyChanges),
      ...shutdownSettings(this.#plan, this.#components.decorations.shutdown ?? {}),
      ...resourceSettings(this.#plan, this.#components.decorations.resources ?? {}),
      configuration: undefined,
      servers: {},
      nodeName: NODE_NAME,
      nodeIps: ['192.0.2.10'],
      rootDirectory: ROOT_DIRECTORY,
      containerLogsDirectory: '/var/log/containers',
      node: {
        podLogsDirectory: POD_LOGS_DIRECTORY,
        seccompProfileRoot: `${ROOT_DIRECTORY}/seccomp`,
        seccompDefault: false,
        extraMaskedPaths: [],
        containerStopSignals: false,
        resources: {
          cgroupVersion: 2,
          cpuCfsQuota: true,
          cpuCfsQuotaPeriodUs: 100_000,
          memoryCapacityBytes: 2 ** 34,
          swapCapacityBytes: 0,
          swapControllerAvailable: false,
          swapBehavior: 'NoSwap',
          hugePageSizes: this.#plan.numa ? ['2Mi'] : [],
          singleProcessOomKill: false,
        },
      },
      sources,
      dns: { resolvConfPath: '/etc/resolv.conf', clusterDns: [], clusterDomain: 'cluster.local' },
      syncFrequencyMs: 60_000,
      backOff: this.#plan.backOff,
      pulls: { serialize: false, maxParallel: undefined, qps: 5, burst: 10 },
      logs: { maxSizeBytes: -1, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 },
      containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
      startConcurrency: 4,
    };
  }
}

/** Wraps a pod syncer to observe the start and end of each operation. */
function observedSyncer(inner: PodSyncer, lease: Lease, tell: (happening: Happening) => void): PodSyncer {
  const watch = async <T>(step: WorkerStep, uid: string, work: () => Promise<T>, reason?: string): Promise<T> => {
    if (!lease.dead) tell({ kind: 'stepBegan', step, uid, ...(reason && { reason }) });
    let ok = false;
    let isTerminal = false;
    try {
      const result = await work();
      ok = true;
      isTerminal =
        typeof result === 'object' && result !== null && 'isTerminal' in result && result.isTerminal === true;
      return result;
    } finally {
      if (!lease.dead) tell({ kind: 'stepEnded', step, uid, ok, isTerminal });
    }
  };
  return {
    syncPod: (type, pod, ...rest) => watch('syncPod', pod.metadata.uid, () => inner.syncPod(type, pod, ...rest)),
    syncTerminatingPod: (pod, runtimeStatus, graceSeconds, statusFn, signal) =>
      watch(
        'syncTerminatingPod',
        pod.metadata.uid,
        () => inner.syncTerminatingPod(pod, runtimeStatus, graceSeconds, statusFn, signal),
        statusFn?.({ phase: 'Running' }).reason,
      ),
    syncTerminatingRuntimePod: (pod, signal) =>
      watch('syncTerminatingRuntimePod', pod.uid, () => inner.syncTerminatingRuntimePod(pod, signal)),
    syncTerminatedPod: (pod, ...rest) =>
      watch('syncTerminatedPod', pod.metadata.uid, () => inner.syncTerminatedPod(pod, ...rest)),
  };
}
