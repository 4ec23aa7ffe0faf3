import { type Clock, checkComponents, checkOptions, LendingGate, type Random } from '@node-agent/async';
import type { SyncFailure } from '@node-agent/contracts';
import { CriError, type ImageService, type RuntimeService } from '@node-agent/cri-client';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import {
  defaultRestartFeatures,
  type Pod,
  type RestartFeatures,
  type RuntimePod,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import { type EventRecorder, type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { RestartProbeResults } from './actions/pod-actions.ts';
import { RestartBackOff } from './backoff/backoff.ts';
import type { BackOffLimits } from './backoff/backoff-delay.ts';
import type { NodeSettings } from './config/context.ts';
import { DEFAULT_CONTAINER_LOGS_DIRECTORY } from './config/log-paths.ts';
import type { ObjectSource } from './config/object-source.ts';
import type { ServiceData } from './config/service-variables.ts';
import { PodRuntimeError } from './errors.ts';
import { Killer } from './kill/kill.ts';
import { makeRuntimeMetrics, type RuntimeMetrics } from './metrics.ts';
import type {
  ContainerGrants,
  ContainerPlacements,
  ImagePuller,
  LifecycleHooks,
  PodClaims,
  PodMounts,
  PodNetworkPort,
  PodUserNamespaces,
} from './ports.ts';
import { ConfigContexts, type PodCgroups } from './reconcile/container-context.ts';
import { ContainerFiles } from './reconcile/container-files.ts';
import { ContainerNotes } from './reconcile/container-notes.ts';
import { ContainerRemover } from './reconcile/container-remover.ts';
import { ContainerStarter } from './reconcile/container-starter.ts';
import { LastErrors } from './reconcile/last-errors.ts';
import { PodContainers } from './reconcile/pod-containers.ts';
import { PodReconciler } from './reconcile/pod-reconciler.ts';
import { SandboxStarter } from './reconcile/sandbox-starter.ts';
import { StartLimit } from './reconcile/start-limit.ts';
import { type RuntimePodSyncResult, SyncResults } from './reconcile/sync-result.ts';
import { TriedAttempts } from './reconcile/tried-attempts.ts';
import type { AppliedResources } from './resize/applied-resources.ts';
import {
  PodResizer,
  type PodResizerComponents,
  type ResizableGroups,
  type ResizeFeatures,
} from './resize/pod-resizer.ts';
import { type ContainerNews, containerNews, listPods } from './status/cri-pods.ts';
import { PodStatusReader } from './status/pod-status-reader.ts';
import { toContainerStatus } from './status/status.ts';

/** CRI calls that this package makes. */
export type RuntimeCalls = Pick<
  RuntimeService,
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
> &
  Partial<Pick<RuntimeService, 'updateContainerResources' | 'updatePodSandboxResources' | 'podSandboxStats'>>;

/** Components of a {@link PodRuntime}. */
export interface PodRuntimeComponents {
  readonly cri: RuntimeCalls & Pick<ImageService, 'imageStatus'>;
  readonly fs: Pick<
    FileSystem,
    'open' | 'openBeneath' | 'mkdir' | 'readdir' | 'writeFile' | 'writeFileAtomic' | 'symlink' | 'remove' | 'exists'
  >;
  /**
   * Access to files on volumes, to which a container may write its termination message. The file systems of volumes may
   * hang. Absent if no file system can hang.
   */
  readonly foreignFiles?: Pick<ForeignFiles, 'lstat'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: metrics are discarded. */
  readonly metrics?: Metrics;
  /** Default: events are discarded. */
  readonly recorder?: EventRecorder;
  readonly images: ImagePuller;
  readonly network: PodNetworkPort;
  readonly mounts: PodMounts;
  /**
   * Devices and CPUs of containers. If absent, containers get no devices or other resources of the machine except their
   * volumes.
   */
  readonly grants?: ContainerGrants;
  /** ResourceClaims of pods. If absent, the ResourceClaims of pods are ignored. */
  readonly claims?: PodClaims;
  /** CPUs and NUMA nodes of containers. If absent, containers may use all CPUs and NUMA nodes. */
  readonly placements?: ContainerPlacements;
  readonly probes: RestartProbeResults;
  /** Runs the lifecycle hooks of containers; `noHooks` for a kubelet without hook support. */
  readonly hooks: LifecycleHooks;
  /** Cgroups of pods. If absent, the runtime chooses the cgroups. */
  readonly cgroups?: PodCgroups & Partial<ResizableGroups>;
  /**
   * Resources last applied to containers, on disk. If absent, running containers keep the resources they were created
   * with. If present, `cri` must have the calls that change resources.
   */
  readonly applied?: AppliedResources;
  /** Secrets and ConfigMaps; absent if there is no API server. */
  readonly objects?: ObjectSource;
  /**
   * Returns all services of the cluster, for environment variables. Returns `undefined` until the services have been
   * read once; pods of the API server are not started before. Absent if there is no API server.
   */
  readonly services?: () => Iterable<ServiceData> | undefined;
  /**
   * Returns whether a pod must terminate, in which case a failure to create its sandbox is expected. Default: false for
   * all pods.
   */
  readonly isPodTerminationRequested?: (uid: string) => boolean;
  /**
   * Returns the runtime handler of a pod's RuntimeClass, '' for the default handler; rejects if the RuntimeClass does
   * not exist. If absent, all pods use the default handler.
   */
  readonly runtimeHandler?: (pod: Pod, signal: AbortSignal) => Promise<string>;
  /** User namespace IDs of pods with `hostUsers: false`. If absent, pods with `hostUsers: false` are rejected. */
  readonly userNamespaces?: PodUserNamespaces;
  /** Called when a sandbox and its network are ready. */
  readonly onSandboxReady?: (pod: Pod) => void;
  /** Returns the node's addresses, for `status.hostIP`. */
  readonly hostIps?: () => readonly string[];
  /** Returns the node's allocatable resources, which are shown as `limits.cpu` etc. of containers without limits. */
  readonly nodeAllocatable?: () => Readonly<Record<string, string>>;
}

/** Settings of a {@link PodRuntime}. */
export interface PodRuntimeOptions {
  /** Node settings for sandboxes and containers. */
  readonly node: NodeSettings;
  /** Root directory of the kubelet. */
  readonly rootDirectory: string;
  /** Directory in which logs are linked for log collectors. Default: `/var/log/containers`. */
  readonly containerLogsDirectory?: string;
  /** Limits of the restart back-off. Default: 10 s and 300 s. */
  readonly backOff?: BackOffLimits;
  /**
   * Number of sandboxes and containers that may start concurrently. Default: 4. Twice the number of CPUs is a good
   * value. If concurrent sandboxes start as fast as a single one, up to eight times as many may start.
   */
  readonly startConcurrency?: number;
  /** Feature gates that affect restarts. Default: all enabled. */
  readonly features?: RestartFeatures;
  /** Feature gates that affect resizes. Default: all enabled. */
  readonly resizeFeatures?: ResizeFeatures;
  readonly selinuxEnabled?: boolean;
}

const DEFAULT_BACK_OFF: BackOffLimits = { initialMs: 10_000, maxMs: 300_000 };
const DEFAULT_START_CONCURRENCY = 4;
/** Time after which a runtime that hangs on one pod no longer delays others (C7). */
const START_OVERDUE_MS = 5_000;

/** Pods of a container runtime: reads their status, makes them match their specs, and kills them. */
export class PodRuntime {
  readonly #components: WithDefaults<PodRuntimeComponents>;
  readonly #backOff: RestartBackOff;
  readonly #tried: TriedAttempts;
  readonly #notes: ContainerNotes;
  readonly #lastErrors = new LastErrors();
  readonly #remover: ContainerRemover;
  readonly #killer: Killer;
  readonly #reader: PodStatusReader;
  readonly #reconciler: PodReconciler;

  constructor(given: PodRuntimeComponents, options: PodRuntimeOptions) {
    checkOptions('PodRuntime', options, {
      node: 'object',
      rootDirectory: 'string',
      containerLogsDirectory: 'string?',
      backOff: 'object?',
      startConcurrency: 'limit?',
      features: 'object?',
      resizeFeatures: 'object?',
      selinuxEnabled: 'boolean?',
    });
    checkComponents('PodRuntime', given, {
      cri: [
        'listContainers',
        'listPodSandbox',
        'stopContainer',
        'stopPodSandbox',
        'containerStatus',
        'podSandboxStatus',
        'runPodSandbox',
        'createContainer',
        'startContainer',
        'removeContainer',
        'getContainerEvents',
        'imageStatus',
      ],
      fs: ['mkdir', 'open', 'readdir', 'remove', 'symlink', 'writeFile', 'writeFileAtomic', 'exists', 'openBeneath'],
      images: ['ensureImageExists'],
      network: ['podDns', 'hostname'],
      mounts: ['containerMounts'],
      probes: ['liveness', 'startup'],
      hooks: ['postStart', 'preStop'],
    });
    const components = withDefaults(given);
    const { cri, clock, logger, recorder } = components;
    this.#components = components;
    const metrics = makeRuntimeMetrics(components.metrics);
    const files = new ContainerFiles(components, {
      rootDirectory: options.rootDirectory,
      podLogsDirectory: options.node.podLogsDirectory,
      containerLogsDirectory: options.containerLogsDirectory ?? DEFAULT_CONTAINER_LOGS_DIRECTORY,
    });
    // A slot is held only during calls to the runtime, never while waiting for an image pull or a hook. A pod that has
    // its sandbox is urgent, because it needs only one or two more calls to be ready. With this order, pods become
    // ready one after another instead of all at the end, and terminated containers restart before new pods start.
    // Restarts cannot starve new pods, because the back-off limits restarts.
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
    const notes = new ContainerNotes(components, options);
    this.#notes = notes;
    this.#reader = new PodStatusReader({ ...components, notes }, options);
    const limit = new StartLimit({ clock, gate });
    const shared = { clock, logger, recorder, metrics, gate, limit, files, contexts, cri, notes, tried: this.#tried };
    const parts = { killer: this.#killer, remover: this.#remover, backOff: this.#backOff };
    const { hooks, applied, placements } = components;
    const features = options.features ?? defaultRestartFeatures;
    const containers = new ContainerStarter({ ...shared, ...parts, hooks, applied, placements, features });
    const runtimeHandler = components.runtimeHandler ?? (async () => '');
    this.#reconciler = new PodReconciler({
      ...shared,
      ...parts,
      probes: components.probes,
      features,
      images: components.images,
      claims: components.claims,
      runtimeHandler,
      isPodTerminationRequested: components.isPodTerminationRequested ?? (() => false),
      onSandboxReady: components.onSandboxReady ?? (() => {}),
      reader: this.#reader,
      resizer: makeResizer(components, metrics, options),
      sandboxes: new SandboxStarter({ ...shared, reader: this.#reader }),
      starts: new PodContainers({ ...shared, ...parts, containers }),
    });
  }

  /** Returns all pods that have any container or sandbox in the runtime, including dead ones; newest first. */
  getPods(signal?: AbortSignal): Promise<RuntimePod[]> {
    return listPods(this.#components.cri, this.#reader, signal);
  }

  /**
   * Returns one pod as {@link getPods} does, without listing the others; `undefined` if the runtime has nothing of it.
   */
  getPod(uid: string, signal?: AbortSignal): Promise<RuntimePod | undefined> {
    return this.#reader.list(uid, signal);
  }

  /**
   * Returns the complete runtime status of one pod, including dead containers with their termination messages.
   * @param name '' if unknown; the result then has the name of the sandbox
   * @throws CriError
   * @throws PodRuntimeError `BadAnswer`
   */
  getPodStatus(uid: string, name: string, namespace: string, signal?: AbortSignal): Promise<RuntimePodStatus> {
    return this.#reader.read(uid, name, namespace, signal);
  }

  /**
   * Yields runtime events from now on: the pod that each event concerns. Ends or throws when the stream is lost.
   * @throws CriError `UNIMPLEMENTED` if the runtime has no events
   */
  containerEvents(signal: AbortSignal): AsyncGenerator<ContainerNews, void, undefined> {
    return containerNews(this.#components.cri, this.#reader, signal);
  }

  /**
   * Makes the runtime match the spec of a pod that should run. Never throws because of a container: failures are in the
   * results, and in {@link lastErrors} until the container's next start.
   * @param pod pod with its latest `status`, which stands in for containers whose record the runtime has removed
   * @param status status of the pod, read after the end of the last sync of this pod
   */
  async syncPod(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodSyncResult> {
    const result = await this.#reconciler.sync(pod, status, signal);
    // The failures of an aborted sync are caused by the abort, not by the containers, so they are not kept.
    if (!signal.aborted) this.#lastErrors.update(pod.metadata.uid, result);
    return result;
  }

  /**
   * Runs the pending `postStart` hooks of running containers (`startUnfinished`), and nothing else. A sync also runs
   * these hooks. This method is for a pod whose sync must wait for its volumes.
   */
  finishStarts(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    return this.#reconciler.finishStarts(pod, status, signal);
  }

  /**
   * Stops all containers and sandboxes of a pod. Idempotent.
   * @param pod `undefined` if only the runtime knows the pod
   * @param gracePeriodSeconds overrides the grace period of the pod
   * @throws PodRuntimeError `KillPod` if some part could not be stopped
   * @throws the signal's reason
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

  /** Notes that a container has terminated, so that its running `preStop` hook is cancelled. */
  containerEnded(podUid: string, containerId: string): void {
    this.#killer.containerEnded(podUid, containerId);
  }

  /**
   * Removes a container that does not run, with its log.
   * @throws CriError
   * @throws the errors of the file system
   */
  removeContainer(containerId: string, signal: AbortSignal): Promise<void> {
    return this.#remover.remove(containerId, false, signal);
  }

  /**
   * Returns whether a container that the runtime lists as dead has never run, because its start was interrupted.
   * Returns false if the container no longer exists.
   * @throws CriError
   */
  async hasNeverRun(containerId: string, signal: AbortSignal): Promise<boolean> {
    try {
      const { status } = await this.#components.cri.containerStatus({ containerId }, signal);
      return status !== null && toContainerStatus(status, '').state === 'created';
    } catch (err) {
      if (CriError.from(err).code === 'NOT_FOUND') return false;
      throw err;
    }
  }

  /** Returns why a container's last start failed, for its waiting state. */
  lastErrors(podUid: string, container: string): SyncFailure | undefined {
    return this.#lastErrors.get(podUid, container);
  }

  /** Drops the state of a pod that no longer exists. */
  forget(podUid: string): void {
    this.#lastErrors.forget(podUid);
    this.#backOff.forget(podUid);
    this.#tried.forget(podUid);
    this.#notes.forget(podUid);
    this.#reconciler.forget(podUid);
    this.#reader.forget(podUid);
    this.#killer.forget(podUid);
  }
}

function makeResizer(
  { cri, clock, logger, applied, cgroups, placements }: WithDefaults<PodRuntimeComponents>,
  metrics: RuntimeMetrics,
  { node, resizeFeatures = {} }: PodRuntimeOptions,
): PodResizer | undefined {
  if (applied === undefined) return undefined;
  if (!canResize(cri)) {
    const calls = 'updateContainerResources, updatePodSandboxResources and podSandboxStats';
    throw new PodRuntimeError('Unsupported', `components.applied needs a runtime service with ${calls}`);
  }
  return new PodResizer({
    ...{ cri, clock, logger, metrics, applied, placements, features: resizeFeatures, settings: node.resources },
    groups: isResizable(cgroups) ? cgroups : undefined,
  });
}

function canResize<T extends RuntimeCalls>(cri: T): cri is T & PodResizerComponents['cri'] {
  const { updateContainerResources, updatePodSandboxResources, podSandboxStats } = cri;
  return [updateContainerResources, updatePodSandboxResources, podSandboxStats].every((call) => call !== undefined);
}

function isResizable(groups: Partial<ResizableGroups> | undefined): groups is ResizableGroups {
  const { wanted, limits, differs, update } = groups ?? {};
  return [wanted, limits, differs, update].every((method) => method !== undefined);
}
