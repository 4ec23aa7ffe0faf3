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

/** What a {@link FakeRuntime} lives on. */
export interface FakeRuntimeComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Ids come from it: the same seed gives the same ids. The machine's own where absent. */
  readonly random?: Random;
  /** Where logs go, and what mounts show. */
  readonly fs: FakeCriFileSystem;
}

/** How a {@link FakeRuntime} is. */
export interface FakeRuntimeOptions {
  /** What containers do; it goes before annotations, images and commands. */
  readonly script?: Script;
  /** The local images at first; `registry.k8s.io/pause:3.10`, pinned, is always there. */
  readonly images?: readonly FakeImage[];
  /** What can be pulled; {@link anyImage} by default. */
  readonly registry?: Registry;
  /** All 0 by default; see {@link typicalLatencies}. */
  readonly latencies?: Partial<Latencies>;
  /** One range or two (dual stack); `10.88.0.0/16` by default. */
  readonly podCidrs?: readonly string[];
  /** The default one (`''`) and `runc` by default. */
  readonly runtimeHandlers?: readonly string[];
  /** RPCs that this runtime does not have, as older ones lack some; none by default. */
  readonly unimplemented?: readonly RpcName[];
  /** How many items one message of a streaming list holds; 5000 by default, as in containerd. */
  readonly streamBatchSize?: number;
  /** Where the URLs of exec, attach and port-forward point before a `FakeStreamingServer` is started; `http://127.0.0.1:10350` by default. */
  readonly streamingUrl?: string;
  /** `cgroupfs` by default. */
  readonly cgroupDriver?: 'systemd' | 'cgroupfs';
  /** Where the disk of images and containers is said to be: a kubelet measures it, so it is one that is there; `/var/lib/fake-cri` by default. */
  readonly mountpoint?: string;
  /** What Version says; `1.0.0` by default. */
  readonly version?: string;
  /**
   * Asked for each StartContainer whose caller goes away half-way: whether its task stays behind, as sometimes with
   * containerd 1.6 to 2.4; its container cannot be removed then before the runtime has crashed and recovered. Never by default.
   */
  readonly leaksBrokenStart?: () => boolean;
}

/** What became of containers while the runtime was down. */
export interface RecoverOptions {
  /**
   * Whether the exit codes of those that ended meanwhile are lost, and are 255 with reason Unknown, as with containerd
   * 2.x; containerd 1.6 knows them. False by default.
   */
  readonly exitCodesLost?: boolean;
  /** Those for which it returns true have died meanwhile, with their shim: exit code 255, reason Unknown. */
  readonly died?: (container: { readonly id: string; readonly name: string; readonly podUid: string }) => boolean;
}

/** A container whose first process runs, for invariants. */
export interface LiveContainer {
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
 * A container runtime in memory, with containerd's semantics: names are reserved, stopping and removing can be repeated,
 * containers outlive the runtime's crash. It moves only by its clock and by calls, and does the same again for the
 * same seed.
 */
export class FakeRuntime extends DispatchedService {
  /** What goes wrong. */
  readonly faults: FaultInjector = new FaultInjector();
  /** What a `FakeStreamingServer` serves of it. */
  readonly streams: RuntimeStreams;
  readonly #state: RuntimeState;
  readonly #events: EventHub;
  readonly #dispatcher: Dispatcher;
  #crashedAtNs = 0;

  /** @throws TypeError where an image reference or a pod CIDR of the options is malformed */
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
      ipPools: (options.podCidrs ?? ['10.88.0.0/16']).map((cidr) => new IpPool(cidr)),
      images: new ImageStore([PAUSE_IMAGE, ...(options.images ?? [])]),
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
        // As a number, a time of today in nanoseconds is exact to 256: steps of 1024 keep two of one instant apart.
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

  /** Whether it is crashed. */
  get down(): boolean {
    return this.#dispatcher.down;
  }

  /** Whether starts that were broken off have left tasks behind; see {@link FakeRuntimeOptions.leaksBrokenStart}. */
  get hasLeakedTasks(): boolean {
    return [...this.#state.containers.values()].some(({ taskLeaked }) => taskLeaked);
  }

  /**
   * The runtime's process dies: every call and stream ends with `UNAVAILABLE`, until {@link recover}. Containers run on
   * under their shims; the events of what happens to them meanwhile are lost.
   */
  crash(): void {
    this.#crashedAtNs = this.#state.stampNs();
    this.#dispatcher.crash();
    this.streams.crash();
    this.#events.crash(failure('UNAVAILABLE', 'error reading from server: EOF'));
  }

  /** The runtime is there again and knows its sandboxes and containers as they are now; tasks that were left behind are gone. */
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
   * The machine loses its power: nothing that runs survives it, and the runtime is away until {@link recover}. It finds its sandboxes
   * not ready then, and its containers ended with exit code 255.
   * @returns the sandboxes that were ready
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

  /** Sets a condition of Status, `RuntimeReady` or `NetworkReady`; without a network, only host-network pods start. */
  setCondition(type: string, status: boolean, reason: string = '', message: string = ''): void {
    this.#state.conditions.set(type, { status, reason, message });
  }

  /** The container's first process dies by itself. @throws CriError NOT_FOUND; does nothing where it does not run */
  killContainer(id: string, end: { readonly exitCode?: number; readonly oomKilled?: boolean } = {}): void {
    const container = this.#state.containers.get(id);
    if (container === undefined) throw failure('NOT_FOUND', `container "${id}": not found`);
    if (containerState(container) !== ContainerState.CONTAINER_RUNNING) return;
    container.deathReason = end.oomKilled === true ? 'OOMKilled' : '';
    container.process?.end(end.exitCode ?? 137);
  }

  /**
   * The sandbox's own process dies: it is not ready any more, and containers in its PID namespace die with it; the others
   * and its network stay. @throws CriError NOT_FOUND
   */
  killSandbox(id: string): void {
    sandboxStopped(this.#state, sandboxOf(this.#state, id, 'killSandbox'));
    killSharedProcesses(containersIn(this.#state, id));
  }

  /**
   * Removes the records of all containers that have ended, without a call: what somebody else does by `crictl rm -a`.
   * @returns their ids
   */
  forgetDeadContainers(): string[] {
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
    return dead.map(({ id }) => id);
  }

  /** The containers that run, in order of their creation. */
  liveContainers(): LiveContainer[] {
    const live: LiveContainer[] = [];
    for (const container of this.#state.containers.values()) {
      const pod = this.#state.sandboxes.get(container.sandboxId)?.metadata;
      if (containerState(container) !== ContainerState.CONTAINER_RUNNING || pod === undefined) continue;
      live.push({
        id: container.id,
        name: container.metadata.name,
        attempt: container.metadata.attempt,
        podUid: pod.uid,
        podName: pod.name,
        podNamespace: pod.namespace,
        sandboxId: container.sandboxId,
      });
    }
    return live;
  }

  /** How many commands run beside the first processes of containers. */
  get liveExecs(): number {
    return [...this.#state.containers.values()].reduce((count, { execs }) => count + execs.size, 0);
  }

  /** Adds a local image, as an import does. @throws TypeError where a tag is not an image reference */
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
