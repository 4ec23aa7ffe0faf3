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
  ImagePuller,
  LifecycleHooks,
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

/** The calls of the runtime that this package makes. */
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

/** What a {@link PodRuntime} works with. */
export interface PodRuntimeComponents {
  readonly cri: RuntimeCalls & Pick<ImageService, 'imageStatus'>;
  readonly fs: Pick<
    FileSystem,
    'open' | 'openBeneath' | 'mkdir' | 'readdir' | 'writeFile' | 'writeFileAtomic' | 'symlink' | 'remove' | 'exists'
  >;
  /** Files of volumes, in which a container may leave its message: their file systems may never answer. Absent where all answer. */
  readonly foreignFiles?: Pick<ForeignFiles, 'lstat'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
  readonly images: ImagePuller;
  readonly network: PodNetworkPort;
  readonly mounts: PodMounts;
  /** Absent: containers are given nothing of the machine but their volumes. */
  readonly grants?: ContainerGrants;
  readonly probes: RestartProbeResults;
  /** `noHooks` where this kubelet has none. */
  readonly hooks: LifecycleHooks;
  /** Absent: the runtime chooses the pods' cgroups. */
  readonly cgroups?: PodCgroups & Partial<ResizableGroups>;
  /**
   * What containers were given last, on disk. Absent: running containers keep what they were created with. With it, `cri` has the calls
   * that change them.
   */
  readonly applied?: AppliedResources;
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
  /** The IDs of pods with `hostUsers: false`; absent, they are refused. */
  readonly userNamespaces?: PodUserNamespaces;
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
  /** Which gates that bear on resizes are on; both where absent. */
  readonly resizeFeatures?: ResizeFeatures;
  readonly selinuxEnabled?: boolean;
}

const DEFAULT_BACK_OFF: BackOffLimits = { initialMs: 10_000, maxMs: 300_000 };
const DEFAULT_START_CONCURRENCY = 4;
/** A runtime that hangs on one pod delays no other for longer (C7). */
const START_OVERDUE_MS = 5_000;

/** The pods of a container runtime: read, made to agree with their specs, and killed. */
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
    const notes = new ContainerNotes(components, options);
    this.#notes = notes;
    this.#reader = new PodStatusReader({ ...components, notes }, options);
    const shared = { clock, logger, recorder, metrics, gate, files, contexts, cri, notes, tried: this.#tried };
    const parts = { killer: this.#killer, remover: this.#remover, backOff: this.#backOff };
    const { hooks, applied } = components;
    const features = options.features ?? defaultRestartFeatures;
    const containers = new ContainerStarter({ ...shared, ...parts, hooks, applied, features });
    const runtimeHandler = components.runtimeHandler ?? (async () => '');
    this.#reconciler = new PodReconciler({
      ...shared,
      ...parts,
      probes: components.probes,
      features,
      images: components.images,
      runtimeHandler,
      isPodTerminationRequested: components.isPodTerminationRequested ?? (() => false),
      onSandboxReady: components.onSandboxReady ?? (() => {}),
      reader: this.#reader,
      resizer: makeResizer(components, metrics, options),
      sandboxes: new SandboxStarter({ ...shared, reader: this.#reader }),
      starts: new PodContainers({ ...shared, ...parts, containers }),
    });
  }

  /** All pods of which the runtime has anything left, dead parts included; the newest first. */
  getPods(signal?: AbortSignal): Promise<RuntimePod[]> {
    return listPods(this.#components.cri, this.#reader, signal);
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
  containerEvents(signal: AbortSignal): AsyncGenerator<ContainerNews, void, undefined> {
    return containerNews(this.#components.cri, this.#reader, signal);
  }

  /**
   * Makes the runtime agree with a pod that shall run. Never throws for what happens to a container: that is in the
   * results, and in {@link lastErrors} until the container's next start.
   * @param pod with its newest `status`: containers run by it that the runtime has no record of any more
   * @param status no older than the end of the last sync of this pod
   */
  async syncPod(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodSyncResult> {
    const result = await this.#reconciler.sync(pod, status, signal);
    // What was broken off says nothing about the containers.
    if (!signal.aborted) this.#lastErrors.update(pod.metadata.uid, result);
    return result;
  }

  /**
   * Runs the `postStart` hooks that are still to succeed in containers that run (`startUnfinished`), and nothing else. A sync does so too; this
   * is for a pod whose sync has to wait for its volumes.
   */
  finishStarts(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    return this.#reconciler.finishStarts(pod, status, signal);
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

  /** Takes in that a container has ended: its `preStop` hook, if one runs, is given up. */
  containerEnded(podUid: string, containerId: string): void {
    this.#killer.containerEnded(podUid, containerId);
  }

  /** Removes a container that does not run, with its log. @throws CriError, and the file system's errors */
  removeContainer(containerId: string, signal: AbortSignal): Promise<void> {
    return this.#remover.remove(containerId, false, signal);
  }

  /**
   * Whether a container that the runtime lists as dead has never run, as its start was broken off; not for one that is gone. @throws CriError
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

  /** Why a container's last start failed, as its waiting state shows it. */
  lastErrors(podUid: string, container: string): SyncFailure | undefined {
    return this.#lastErrors.get(podUid, container);
  }

  /** Forgets what is remembered of a pod that is gone. */
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
  { cri, clock, logger, applied, cgroups }: WithDefaults<PodRuntimeComponents>,
  metrics: RuntimeMetrics,
  { node, resizeFeatures = {} }: PodRuntimeOptions,
): PodResizer | undefined {
  if (applied === undefined) return undefined;
  if (!canResize(cri)) {
    const calls = 'updateContainerResources, updatePodSandboxResources and podSandboxStats';
    throw new PodRuntimeError('Unsupported', `components.applied needs a runtime service with ${calls}`);
  }
  return new PodResizer({
    ...{ cri, clock, logger, metrics, applied, features: resizeFeatures, settings: node.resources },
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
