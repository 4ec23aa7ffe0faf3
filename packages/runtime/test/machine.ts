import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { ProbeResult } from '@node-agent/contracts';
import { busyboxImage, FakeRuntime, type FakeRuntimeOptions } from '@node-agent/fake-cri';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { AnyContainer, Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { type LogFields, type Metrics, silentLogger } from '@node-agent/telemetry';
import { type ImagePuller, type LifecycleHooks, noHooks, PodRuntime, type RuntimePodSyncResult } from '../src/index.ts';
import type { PodRuntimeComponents, PodRuntimeOptions } from '../src/pod-runtime.ts';

type Cri = PodRuntimeComponents['cri'];

/** Replaces parts of a {@link Machine}. */
export interface MachineOptions {
  readonly runtime?: FakeRuntimeOptions;
  readonly hooks?: LifecycleHooks;
  readonly images?: ImagePuller;
  readonly options?: Partial<PodRuntimeOptions>;
  readonly components?: Partial<PodRuntimeComponents>;
}

/** A machine with an in-memory runtime that outlives the kubelet processes on it. */
export class Machine {
  readonly clock: FakeClock = new FakeClock();
  readonly fs: MemoryFileSystem = new MemoryFileSystem({ clock: this.clock });
  readonly cri: FakeRuntime;
  readonly events: string[] = [];
  readonly counts: Map<string, number> = new Map();
  readonly warnings: string[] = [];
  readonly liveness: Map<string, ProbeResult | undefined> = new Map();
  readonly startup: Map<string, ProbeResult | undefined> = new Map();
  readonly #options: MachineOptions;

  constructor(options: MachineOptions = {}) {
    this.#options = options;
    this.cri = new FakeRuntime(
      { clock: this.clock, fs: this.fs, random: seededRandom(7) },
      { images: [busyboxImage()], ...options.runtime },
    );
  }

  /** Creates the runtime part of a newly started kubelet, without knowledge of earlier processes. */
  kubelet(cri: Cri = this.cri): PodRuntime {
    const metrics: Metrics = {
      counter: ({ name }) => ({
        inc: (labels, by) => this.#count(`${name}${JSON.stringify(labels)}`, by),
      }),
      gauge: () => ({ set() {} }),
      histogram: ({ name }) => ({ observe: (labels) => this.#count(`${name}${JSON.stringify(labels)}`) }),
    };
    const logger = {
      ...silentLogger,
      warn: (_fields: LogFields, message: string) => void this.warnings.push(message),
    };
    return new PodRuntime(
      {
        cri,
        fs: this.fs,
        clock: this.clock,
        random: seededRandom(3),
        logger,
        metrics,
        recorder: {
          event: ({ fieldPath = '' }, type, reason, message) =>
            void this.events.push(`${type} ${reason} ${fieldPath.replace(/^spec\./, '')}: ${message}`),
        },
        images: this.#options.images ?? { ensureImageExists: async (_pod, { image = '' }) => ({ imageRef: image }) },
        network: {
          podDns: async () => ({ servers: [], searches: [], options: [] }),
          hostname: ({ metadata }) => ({ hostname: metadata.name, domain: '' }),
        },
        mounts: { containerMounts: async () => [] },
        probes: { liveness: (id) => this.liveness.get(id), startup: (id) => this.startup.get(id) },
        hooks: this.#options.hooks ?? noHooks,
        ...this.#options.components,
      },
      {
        rootDirectory: '/var/lib/kubelet',
        node: {
          podLogsDirectory: '/var/log/pods',
          seccompProfileRoot: '/var/lib/kubelet/seccomp',
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
            hugePageSizes: [],
            singleProcessOomKill: false,
          },
        },
        ...this.#options.options,
      },
    );
  }

  /** Waits for a promise, and advances the clock as far as necessary. */
  async settle<T>(work: Promise<T>, maxMs = 600_000): Promise<T> {
    let done = false;
    const end = (): void => {
      done = true;
    };
    work.then(end, end);
    const deadline = this.clock.monotonic() + maxMs;
    for (;;) {
      await this.clock.settle();
      if (done) return work;
      const next = this.clock.nextTimerInMs;
      if (next === undefined || this.clock.monotonic() + next > deadline)
        throw new Error('stuck: nothing will settle it');
      await this.clock.advanceToNext();
    }
  }

  status(kubelet: PodRuntime, pod: Pod): Promise<RuntimePodStatus> {
    return this.settle(kubelet.getPodStatus(pod.metadata.uid, pod.metadata.name, pod.metadata.namespace));
  }

  /** Reads the pod's status and syncs the pod once, as a pod worker does. */
  async sync(
    kubelet: PodRuntime,
    pod: Pod,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<RuntimePodSyncResult> {
    const status = await this.status(kubelet, pod);
    return this.settle(kubelet.syncPod(pod, status, signal));
  }

  /** Returns the running containers as `name/attempt`. */
  live(): string[] {
    return this.cri.liveContainers().map(({ name, attempt }) => `${name}/${attempt}`);
  }

  #count(key: string, by = 1): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + by);
  }
}

/** Returns a container that runs until it is stopped. */
export function sleeper(name: string, extra: Partial<AnyContainer> = {}): AnyContainer {
  return { name, image: 'busybox', command: ['sleep', '3600'], ...extra };
}

/** Returns a container that exits immediately. */
export function once(name: string, exitCode = 0, extra: Partial<AnyContainer> = {}): AnyContainer {
  return { name, image: 'busybox', command: ['sh', '-c', `exit ${exitCode}`], ...extra };
}
