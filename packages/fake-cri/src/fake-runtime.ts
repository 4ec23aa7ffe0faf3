import { type Clock, type Random, systemClock, systemRandom } from '@node-agent/async';
import { ContainerEventType, ContainerState, messages } from '@node-agent/cri-client';
import type { Script } from './behaviour.ts';
import { killSharedProcesses, markExited } from './core/container-life.ts';
import { containerRpcs } from './core/container-rpcs.ts';
import { Dispatcher } from './core/dispatch.ts';
import { DispatchedService, serve } from './core/dispatched-service.ts';
import { EventHub } from './core/event-hub.ts';
import { execRpcs } from './core/exec-rpcs.ts';
import { failure } from './core/failure.ts';
import { imageRpcs } from './core/image-rpcs.ts';
import { anyImage, type FakeImage, ImageStore, type Registry } from './core/image-store.ts';
import { IpPool } from './core/ip-pool.ts';
import { toContainerStatus, toPodSandboxStatus } from './core/messages.ts';
import type { RpcName } from './core/rpcs.ts';
import { runtimeRpcs } from './core/runtime-rpcs.ts';
import { type RuntimeStreams, runtimeStreams } from './core/runtime-streams.ts';
import { SANDBOX_IMAGE, sandboxRpcs, sandboxStopped } from './core/sandbox-rpcs.ts';
import {
  type ContainerRecord,
  containerState,
  containersIn,
  type Latencies,
  noLatencies,
  type RuntimeState,
  sandboxOf,
} from './core/state.ts';
import { statsRpcs } from './core/stats-rpcs.ts';
import { StreamRequests } from './core/stream-requests.ts';
import { FaultInjector } from './faults/injector.ts';
import type { FakeCriFileSystem } from './process/container-files.ts';

/** Dependencies of a {@link FakeRuntime}. */
export interface FakeRuntimeComponents {
  /** Clock of all delays and timestamps. Default: the system clock. */
  readonly clock?: Clock;
  /** Source of ids: the same seed gives the same ids. Default: the system's random numbers. */
  readonly random?: Random;
  /** File system of the logs and of the mounted files. */
  readonly fs: FakeCriFileSystem;
}

/** Options of a {@link FakeRuntime}. */
export interface FakeRuntimeOptions {
  /** Decides what containers do. The script takes precedence over annotations, images and commands. */
  readonly script?: Script;
  /** The initial local images. `registry.k8s.io/pause:3.10`, pinned, is always added. */
  readonly images?: readonly FakeImage[];
  /** The images that can be pulled. Default: {@link anyImage}. */
  readonly registry?: Registry;
  /** Durations of operations. Default: all 0. See {@link typicalLatencies}. */
  readonly latencies?: Partial<Latencies>;
  /** Pod IP ranges: one, or two for dual stack. Default: `10.88.0.0/16`. */
  readonly podCidrs?: readonly string[];
  /**
   * Whether addresses come from the range that the kubelet sends with UpdateRuntimeConfig, as with containerd's CNI
   * template. Pods keep the addresses that they have. Default: false.
   */
  readonly usesPodCidr?: boolean;
  /** Names of the supported runtime handlers. Default: the default handler (`''`) and `runc`. */
  readonly runtimeHandlers?: readonly string[];
  /** RPCs that return UNIMPLEMENTED, as older runtimes lack some RPCs. Default: none. */
  readonly unimplemented?: readonly RpcName[];
  /** Maximum number of items in one message of a streaming list RPC. Default: 5000, as in containerd. */
  readonly streamBatchSize?: number;
  /**
   * Base of the URLs that Exec, Attach and PortForward return until a `FakeStreamingServer` is started. Default:
   * `http://127.0.0.1:10350`.
   */
  readonly streamingUrl?: string;
  /** Cgroup driver that the runtime reports to the kubelet. Default: `cgroupfs`. */
  readonly cgroupDriver?: 'systemd' | 'cgroupfs';
  /**
   * Reported mount point of the disk of images and containers. A kubelet measures this path, so it must exist on the
   * machine. Default: `/var/lib/fake-cri`.
   */
  readonly mountpoint?: string;
  /** The runtime version that Version reports. Default: `1.0.0`. */
  readonly version?: string;
  /**
   * Called for each StartContainer whose caller aborts before the start has completed. If the function returns true,
   * the container's task stays behind, as sometimes happens with containerd 1.6 to 2.4: the container cannot be removed
   * until the runtime has crashed and recovered. Default: never.
   */
  readonly leaksBrokenStart?: () => boolean;
}

/** Changes of containers while the runtime was down. */
export interface RecoverOptions {
  /**
   * If true, the exit codes of containers that exited while the runtime was down are lost: they become 255 with reason
   * Unknown, as with containerd 2.x. containerd 1.6 keeps them. Default: false.
   */
  readonly exitCodesLost?: boolean;
  /**
   * Called for each running container. If the function returns true, the container and its shim died while the runtime
   * was down: exit code 255, reason Unknown.
   */
  readonly died?: (container: { readonly id: string; readonly name: string; readonly podUid: string }) => boolean;
}

/** A container of the runtime, for checks in tests. */
export interface FakeContainerInfo {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly sandboxId: string;
}

const PAUSE_IMAGE: FakeImage = { tags: [SANDBOX_IMAGE], sizeBytes: 320_000, pinned: true };

/**
 * A container runtime in memory with containerd's semantics: names are reserved, stopping and removing are idempotent,
 * and containers survive a crash of the runtime. State changes only through its clock and calls, so the same seed gives
 * the same run.
 */
export class FakeRuntime extends DispatchedService {
  /** The faults to inject. */
  readonly faults: FaultInjector = new FaultInjector();
  /** The exec, attach and port-forward streams that a `FakeStreamingServer` serves. */
  readonly streams: RuntimeStreams;
  readonly #state: RuntimeState;
  readonly #events: EventHub;
  readonly #dispatcher: Dispatcher;
  #crashedAtNs = 0;

  /** @throws TypeError if an image reference or a pod CIDR of the options is malformed */
  constructor(
    { clock = systemClock, random = systemRandom, fs }: FakeRuntimeComponents,
    options: FakeRuntimeOptions = {},
  ) {
    super();
    this.#dispatcher = new Dispatcher(clock, this.faults, options.unimplemented ?? []);
    this.#events = new EventHub(clock, (event) => {
      const fault = this.faults.nextEventFault(event);
      if (fault?.kind === 'drop') return [];
      if (fault?.kind === 'duplicate') return [{ delayMs: 0 }, { delayMs: 0 }];
      return [{ delayMs: fault?.delayMs ?? 0 }];
    });
    let lastStamp = { wallMs: -1, step: 0 };
    this.#state = {
      clock,
      random,
      fs,
      latencies: { ...noLatencies, ...options.latencies },
      script: options.script ?? (() => undefined),
      mountpoint: options.mountpoint ?? '/var/lib/fake-cri',
      runtimeHandlers: options.runtimeHandlers ?? ['', 'runc'],
      usesPodCidr: options.usesPodCidr ?? false,
      ipPools: (options.podCidrs ?? ['10.88.0.0/16']).map((cidr) => new IpPool(cidr)),
      images: new ImageStore([PAUSE_IMAGE, ...(options.images ?? [])]),
      lastEnvs: [],
      sandboxes: new Map(),
      containers: new Map(),
      sandboxNames: new Map(),
      containerNames: new Map(),
      conditions: new Map([
        ['RuntimeReady', { status: true, reason: '', message: '' }],
        ['NetworkReady', { status: true, reason: '', message: '' }],
      ]),
      streamBatchSize: options.streamBatchSize ?? 5000,
      streamRequests: new StreamRequests(clock, random),
      hostPorts: new Map(),
      streamingUrl: options.streamingUrl ?? 'http://127.0.0.1:10350',
      cgroupDriver: options.cgroupDriver ?? 'cgroupfs',
      version: options.version ?? '1.0.0',
      leaksBrokenStart: options.leaksBrokenStart ?? (() => false),
      podCidr: '',
      stampNs: () => {
        const wallMs = clock.now();
        // A current time in nanoseconds is a number with a precision of 256 ns. Steps of 1024 ns keep two timestamps of
        // the same instant apart.
        lastStamp = { wallMs, step: wallMs === lastStamp.wallMs ? lastStamp.step + 1 : 0 };
        return Math.round(wallMs * 1e6) + lastStamp.step * 1024;
      },
      emit: (type, containerId, sandboxId) => this.#emit(type, containerId, sandboxId),
    };
    this.streams = runtimeStreams(this.#state);
    const handlers = {
      ...runtimeRpcs(this.#state, this.#events),
      ...sandboxRpcs(this.#state),
      ...containerRpcs(this.#state),
      ...execRpcs(this.#state),
      ...statsRpcs(this.#state),
      ...imageRpcs(this.#state, options.registry ?? anyImage),
    };
    serve(this, { dispatcher: this.#dispatcher, handlers });
  }

  /** Whether the runtime has crashed and not yet recovered. */
  get down(): boolean {
    return this.#dispatcher.down;
  }

  /** Whether aborted StartContainer calls have left tasks behind. See {@link FakeRuntimeOptions.leaksBrokenStart}. */
  get hasLeakedTasks(): boolean {
    return [...this.#state.containers.values()].some(({ taskLeaked }) => taskLeaked);
  }

  /**
   * Simulates the death of the runtime's process: every call and stream ends with `UNAVAILABLE` until {@link recover}
   * is called. Containers keep running under their shims. Events of changes that happen before recovery are lost.
   */
  crash(): void {
    this.#crashedAtNs = this.#state.stampNs();
    this.#dispatcher.crash();
    this.streams.crash();
    this.#events.crash(failure('UNAVAILABLE', 'error reading from server: EOF'));
  }

  /**
   * Restarts the runtime's process. The runtime then reports the current state of its sandboxes and containers. Leaked
   * tasks are removed.
   */
  recover(options: RecoverOptions = {}): void {
    for (const container of this.#state.containers.values()) {
      container.taskLeaked = false;
      if (options.exitCodesLost === true && container.finishedAtNs >= this.#crashedAtNs) {
        container.exitCode = 255;
        container.reason = 'Unknown';
      }
      const podUid = this.#state.sandboxes.get(container.sandboxId)?.metadata.uid ?? '';
      const running = containerState(container) === ContainerState.CONTAINER_RUNNING;
      if (!running || options.died?.({ id: container.id, name: container.metadata.name, podUid }) !== true) continue;
      markExited(this.#state, container, 255, 'Unknown');
      container.process?.end(255);
    }
    this.#dispatcher.recover();
  }

  /**
   * Simulates a power loss of the machine: all processes die, and the runtime is down until {@link recover} is called.
   * After recovery, sandboxes are not ready and containers have exited with code 255.
   * @returns the ids of the sandboxes that were ready
   */
  powerOff(): readonly string[] {
    if (!this.down) this.crash();
    for (const container of this.#state.containers.values()) {
      container.taskLeaked = false;
      if (containerState(container) !== ContainerState.CONTAINER_RUNNING) continue;
      markExited(this.#state, container, 255, 'Unknown');
      container.process?.end(255);
    }
    const ready = [...this.#state.sandboxes.values()].filter((sandbox) => sandbox.ready);
    for (const sandbox of ready) sandboxStopped(this.#state, sandbox);
    return ready.map(({ id }) => id);
  }

  /**
   * Sets a condition of Status: `RuntimeReady` or `NetworkReady`. While `NetworkReady` is false, only host-network pods
   * start.
   */
  setCondition(type: string, status: boolean, reason: string = '', message: string = ''): void {
    this.#state.conditions.set(type, { status, reason, message });
  }

  /**
   * Kills the container's first process from outside the runtime. Does nothing if the container is not running.
   * @throws CriError NOT_FOUND
   */
  killContainer(id: string, end: { readonly exitCode?: number; readonly oomKilled?: boolean } = {}): void {
    const container = this.#state.containers.get(id);
    if (container === undefined) throw failure('NOT_FOUND', `container "${id}": not found`);
    if (containerState(container) !== ContainerState.CONTAINER_RUNNING) return;
    container.deathReason = end.oomKilled === true ? 'OOMKilled' : '';
    container.process?.end(end.exitCode ?? 137);
  }

  /**
   * Kills the sandbox's own process. The sandbox becomes not ready, and containers that share its PID namespace die.
   * Other containers and the sandbox's network stay.
   * @throws CriError NOT_FOUND
   */
  killSandbox(id: string): void {
    sandboxStopped(this.#state, sandboxOf(this.#state, id, 'killSandbox'));
    killSharedProcesses(containersIn(this.#state, id));
  }

  /**
   * Removes the records of all exited containers without a call through the CRI, as an administrator does with `crictl
   * rm -a`.
   * @returns the removed containers
   */
  forgetDeadContainers(): FakeContainerInfo[] {
    if (this.down) return [];
    const dead = [...this.#state.containers.values()].filter((container) => {
      const isIdle = !container.starting && !container.removing && !container.taskLeaked;
      return isIdle && containerState(container) === ContainerState.CONTAINER_EXITED;
    });
    for (const { id, name, sandboxId } of dead) {
      this.#state.containers.delete(id);
      this.#state.containerNames.delete(name);
      this.#state.emit(ContainerEventType.CONTAINER_DELETED_EVENT, id, sandboxId);
    }
    return dead.flatMap((container) => this.#infoOf(container) ?? []);
  }

  /** Returns the running containers in order of creation. */
  liveContainers(): FakeContainerInfo[] {
    return [...this.#state.containers.values()].flatMap((container) => {
      if (containerState(container) !== ContainerState.CONTAINER_RUNNING) return [];
      return this.#infoOf(container) ?? [];
    });
  }

  /** Returns `undefined` if the container's sandbox no longer exists. */
  #infoOf({ id, metadata, sandboxId }: ContainerRecord): FakeContainerInfo | undefined {
    const pod = this.#state.sandboxes.get(sandboxId)?.metadata;
    if (pod === undefined) return undefined;
    const { uid: podUid, name: podName, namespace: podNamespace } = pod;
    return { id, name: metadata.name, attempt: metadata.attempt, podUid, podName, podNamespace, sandboxId };
  }

  /** Number of running exec processes in all containers. */
  get liveExecs(): number {
    return [...this.#state.containers.values()].reduce((count, { execs }) => count + execs.size, 0);
  }

  /**
   * Adds a local image, as an image import does.
   * @throws TypeError if a tag is not an image reference
   */
  addImage(image: FakeImage): void {
    this.#state.images.add(image);
  }

  #emit(type: number, containerId: string, sandboxId: string): void {
    if (this.down) return;
    const sandbox = this.#state.sandboxes.get(sandboxId);
    this.#events.publish(
      messages.ContainerEventResponse.create({
        containerId,
        containerEventType: type,
        createdAt: this.#state.stampNs(),
        podSandboxStatus: sandbox === undefined ? null : toPodSandboxStatus(sandbox),
        containersStatuses: containersIn(this.#state, sandboxId).map((it) => toContainerStatus(this.#state, it)),
      }),
    );
  }
}
