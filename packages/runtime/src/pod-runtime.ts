import { type Clock, LendingGate, type Random } from '@node-agent/async';
import { ContainerEventType, type ImageService, type RuntimeService } from '@node-agent/cri-client';
import type { FileSystem } from '@node-agent/host';
import {
  defaultRestartFeatures,
  type Pod,
  type RestartFeatures,
  type RuntimePod,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import { RestartBackOff } from './backoff.ts';
import type { BackOffLimits } from './backoff-delay.ts';
import type { NodeSettings } from './config/context.ts';
import { DEFAULT_CONTAINER_LOGS_DIRECTORY } from './config/log-paths.ts';
import type { ObjectSource } from './config/object-source.ts';
import type { ServiceData } from './config/service-variables.ts';
import { ConfigContexts, type PodCgroups } from './container-context.ts';
import { ContainerFiles } from './container-files.ts';
import { ContainerRemover } from './container-remover.ts';
import { ContainerStarter } from './container-starter.ts';
import { PodRuntimeError } from './errors.ts';
import { Killer } from './kill.ts';
import { LastErrors } from './last-errors.ts';
import { makeRuntimeMetrics } from './metrics.ts';
import type { ProbeResults } from './pod-actions.ts';
import { PodContainers } from './pod-containers.ts';
import { PodStatusReader } from './pod-status-reader.ts';
import { PodSyncer } from './pod-syncer.ts';
import type { ImagePuller, LifecycleHooks, PodMounts, PodNetworkPort } from './ports.ts';
import { toRuntimePods } from './runtime-pods.ts';
import { type RuntimeState, toRuntimeState } from './runtime-state.ts';
import { SandboxStarter } from './sandbox-starter.ts';
import { criTimeMs } from './status.ts';
import { type PodSyncResult, type SyncFailure, SyncResults } from './sync-result.ts';
import { TriedAttempts } from './tried-attempts.ts';

/** The calls of the runtime that this package makes. */
export type RuntimeCalls = Pick<
  RuntimeService,
  | 'version'
  | 'status'
  | 'listPodSandbox'
  | 'podSandboxStatus'
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'listContainers'
  | 'containerStatus'
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'getContainerEvents'
>;

/** What a {@link PodRuntime} works with. */
export interface PodRuntimeComponents {
  readonly cri: RuntimeCalls & Pick<ImageService, 'imageStatus'>;
  readonly fs: Pick<
    FileSystem,
    | 'open'
    | 'mkdir'
    | 'readdir'
    | 'writeFile'
    | 'symlink'
    | 'remove'
    | 'exists'
    | 'lstat'
    | 'readFile'
    | 'readlink'
    | 'realpath'
  >;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly images: ImagePuller;
  readonly network: PodNetworkPort;
  readonly mounts: PodMounts;
  readonly probes: ProbeResults;
  /** `noHooks` where this kubelet has none. */
  readonly hooks: LifecycleHooks;
  /** Absent: the runtime chooses the pods' cgroups. */
  readonly cgroups?: PodCgroups;
  /** Secrets and configMaps; absent where there is no API server. */
  readonly objects?: ObjectSource;
  /**
   * All services of the cluster, for variables that point at them; `undefined` until they have been read once: pods of the
   * API server wait for that. Absent where there is no API server.
   */
  readonly services?: () => Iterable<ServiceData> | undefined;
  /** Whether a pod is to end, so that a sandbox that could not be made is no failure; nobody is where absent. */
  readonly isPodTerminationRequested?: (uid: string) => boolean;
  /** The runtime handler of a pod's RuntimeClass, '' for the default one; rejects where there is none. The default one where absent. */
  readonly runtimeHandler?: (pod: Pod, signal: AbortSignal) => Promise<string>;
  /** Told when a sandbox and its network are up. */
  readonly onSandboxReady?: (pod: Pod) => void;
  /** The node's addresses, for `status.hostIP`. */
  readonly hostIps?: () => readonly string[];
  /** What the node has to give, for `limits.cpu` and the like of containers without limits. */
  readonly nodeAllocatable?: () => Readonly<Record<string, string>>;
}

/** What a {@link PodRuntime} is told. */
export interface PodRuntimeOptions {
  /** What sandboxes and containers are made by. */
  readonly node: NodeSettings;
  /** The kubelet's root directory. */
  readonly rootDirectory: string;
  /** Where logs are linked for collectors; `/var/log/containers` where absent. */
  readonly containerLogsDirectory?: string;
  /** 10 s and 300 s where absent. */
  readonly backOff?: BackOffLimits;
  /** How many sandboxes and containers are started at once; 4 where absent. Twice the CPUs is a good number. */
  readonly startConcurrency?: number;
  /** Both on where absent. */
  readonly features?: RestartFeatures;
  readonly selinuxEnabled?: boolean;
}

const EVENT_KINDS: Readonly<Record<number, ContainerNews['kind']>> = {
  [ContainerEventType.CONTAINER_CREATED_EVENT]: 'created',
  [ContainerEventType.CONTAINER_STARTED_EVENT]: 'started',
  [ContainerEventType.CONTAINER_STOPPED_EVENT]: 'stopped',
  [ContainerEventType.CONTAINER_DELETED_EVENT]: 'deleted',
};

const DEFAULT_BACK_OFF: BackOffLimits = { initialMs: 10_000, maxMs: 300_000 };
const DEFAULT_START_CONCURRENCY = 4;
/** A runtime that hangs on one pod delays no other for longer (C7). */
const START_OVERDUE_MS = 5_000;

/** The pods of a container runtime: read, made to agree with their specs, and killed. */
export class PodRuntime {
  readonly #components: PodRuntimeComponents;
  readonly #backOff: RestartBackOff;
  readonly #tried: TriedAttempts;
  readonly #lastErrors = new LastErrors();
  readonly #remover: ContainerRemover;
  readonly #killer: Killer;
  readonly #reader: PodStatusReader;
  readonly #syncer: PodSyncer;

  constructor(components: PodRuntimeComponents, options: PodRuntimeOptions) {
    const { cri, clock, logger, recorder } = components;
    this.#components = components;
    const metrics = makeRuntimeMetrics(components.metrics);
    const files = new ContainerFiles(components, {
      rootDirectory: options.rootDirectory,
      podLogsDirectory: options.node.podLogsDirectory,
      containerLogsDirectory: options.containerLogsDirectory ?? DEFAULT_CONTAINER_LOGS_DIRECTORY,
    });
    // A place is held over calls of the runtime only, never while waiting for a pull or a hook. What has its sandbox is
    // urgent, as it needs one or two more calls to be ready: so pods become ready one after another instead of all at the
    // end, and a death is answered before new work. Restarts cannot crowd new pods out: back-off limits them.
    const concurrency = options.startConcurrency ?? DEFAULT_START_CONCURRENCY;
    const gate = new LendingGate({ clock }, { concurrency, overdueMs: START_OVERDUE_MS });
    const contexts = new ConfigContexts({
      ...components,
      imageService: cri,
      files,
      node: options.node,
      selinuxEnabled: options.selinuxEnabled,
    });
    this.#backOff = new RestartBackOff({ clock }, options.backOff ?? DEFAULT_BACK_OFF);
    this.#tried = new TriedAttempts({ clock });
    this.#remover = new ContainerRemover({ cri, files });
    this.#killer = new Killer(components);
    this.#reader = new PodStatusReader(components);
    const shared = { clock, logger, recorder, metrics, gate, files, contexts, cri, tried: this.#tried };
    const parts = { killer: this.#killer, remover: this.#remover, backOff: this.#backOff };
    const containers = new ContainerStarter({ ...shared, ...parts, hooks: components.hooks });
    const runtimeHandler = components.runtimeHandler ?? (async () => '');
    this.#syncer = new PodSyncer({
      ...shared,
      ...parts,
      probes: components.probes,
      features: options.features ?? defaultRestartFeatures,
      runtimeHandler,
      isPodTerminationRequested: components.isPodTerminationRequested ?? (() => false),
      onSandboxReady: components.onSandboxReady ?? (() => {}),
      sandboxes: new SandboxStarter({ ...shared, reader: this.#reader }),
      starts: new PodContainers({ ...shared, ...parts, images: components.images, containers }),
    });
  }

  /** All pods of which the runtime has anything left, dead parts included; the newest first. */
  async getPods(signal?: AbortSignal): Promise<RuntimePod[]> {
    const { cri } = this.#components;
    const [{ items }, { containers }] = await Promise.all([
      cri.listPodSandbox({}, signal),
      cri.listContainers({}, signal),
    ]);
    return toRuntimePods(items, containers);
  }

  /**
   * All that the runtime knows of one pod, dead containers with their termination messages.
   * @param name '' where it is not known: the answer has the sandbox's then
   * @throws CriError, and PodRuntimeError `BadAnswer`
   */
  getPodStatus(uid: string, name: string, namespace: string, signal?: AbortSignal): Promise<RuntimePodStatus> {
    return this.#reader.read(uid, name, namespace, signal);
  }

  /**
   * News of the runtime, from now on: which pod something happened to. Ends or throws when the stream is lost.
   * @throws CriError `UNIMPLEMENTED` where the runtime has no events
   */
  async *containerEvents(signal: AbortSignal): AsyncGenerator<ContainerNews, void, undefined> {
    for await (const event of this.#components.cri.getContainerEvents({}, signal)) {
      const { podSandboxStatus, createdAt, containerEventType, containerId } = event;
      const metadata = podSandboxStatus?.metadata;
      if (!metadata?.uid) continue;
      const { uid: podUid, name: podName, namespace: podNamespace } = metadata;
      const kind = EVENT_KINDS[containerEventType];
      yield { podUid, podName, podNamespace, kind, containerId, createdAtMs: criTimeMs(createdAt) };
    }
  }

  /**
   * Makes the runtime agree with a pod that shall run. Never throws for what happens to a container: that is in the
   * results, and in {@link lastErrors} until the container's next start.
   * @param status no older than the end of the last sync of this pod
   */
  async syncPod(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<PodSyncResult> {
    const result = await this.#syncer.sync(pod, status, signal);
    // What was broken off says nothing about the containers.
    if (!signal.aborted) this.#lastErrors.update(pod.metadata.uid, result);
    return result;
  }

  /**
   * Stops all containers of a pod and its sandboxes; may be asked again and again.
   * @param pod `undefined` where only the runtime knows it
   * @param gracePeriodSeconds instead of what the pod says
   * @throws PodRuntimeError `KillPod` where some part could not be stopped, or the signal's reason
   */
  async killPod(
    pod: Pod | undefined,
    runningPod: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const results = new SyncResults();
    await this.#killer.killPod(pod, runningPod, gracePeriodSeconds, results, signal);
    const { error } = results.done();
    if (error !== undefined) throw new PodRuntimeError('KillPod', error.message, { cause: error });
  }

  /** Removes a container that does not run, with its log. @throws CriError, and the file system's errors */
  removeContainer(containerId: string, signal: AbortSignal): Promise<void> {
    return this.#remover.remove(containerId, false, signal);
  }

  /** Why a container's last start failed, as its waiting state shows it. */
  lastErrors(podUid: string, container: string): SyncFailure | undefined {
    return this.#lastErrors.get(podUid, container);
  }

  /** Forgets what is remembered of a pod that is gone. */
  forget(podUid: string): void {
    this.#lastErrors.forget(podUid);
    this.#backOff.forget(podUid);
    this.#tried.forget(podUid);
    this.#reader.forget(podUid);
  }

  /** @throws CriError, PodRuntimeError `BadAnswer` */
  async status(signal?: AbortSignal): Promise<RuntimeState> {
    return toRuntimeState(await this.#components.cri.status({}, signal));
  }

  /** Which runtime it is, and its version. */
  async version(
    signal?: AbortSignal,
  ): Promise<{ readonly name: string; readonly version: string; readonly apiVersion: string }> {
    const { runtimeName, runtimeVersion, runtimeApiVersion } = await this.#components.cri.version({}, signal);
    return { name: runtimeName, version: runtimeVersion, apiVersion: runtimeApiVersion };
  }
}

/** Something happened to a pod in the runtime. */
export interface ContainerNews {
  readonly podUid: string;
  /** What happened to a container or sandbox of it; `undefined` where the runtime says something unknown. */
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted' | undefined;
  /** Which container or sandbox; '' where the runtime does not say. */
  readonly containerId: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** By the runtime's wall clock. */
  readonly createdAtMs: number;
}
