import { allOf, type Clock, linkAbort } from '@node-agent/async';
import type { Init, PodSandboxConfig } from '@node-agent/cri-client';
import {
  type AnyContainer,
  type ContainerType,
  findContainer,
  formatPod,
  isRestartableInit,
  mayEndForGood,
  type Pod,
  podReference,
  type RestartFeatures,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  restartsAfterKill,
} from '@node-agent/pod-spec';
import { type EventRecorder, errorText, eventReasons, type Logger } from '@node-agent/telemetry';
import { computePodActions } from '../actions/actions.ts';
import { currentStatus } from '../actions/current-status.ts';
import type { KillReason, PodActions, RestartProbeResults } from '../actions/pod-actions.ts';
import { attemptAfter, surplusInitContainers } from '../actions/prune-rule.ts';
import { withRemembered } from '../actions/remembered.ts';
import { PodRuntimeError } from '../errors.ts';
import type { Killer } from '../kill/kill.ts';
import type { RuntimeMetrics } from '../metrics.ts';
import type { ImagePuller, PodClaims } from '../ports.ts';
import type { PodResizer } from '../resize/pod-resizer.ts';
import type { PodStatusReader } from '../status/pod-status-reader.ts';
import type { ConfigContexts } from './container-context.ts';
import type { ContainerNote, ContainerNotes } from './container-notes.ts';
import { type ContainerRemover, isLeaked } from './container-remover.ts';
import { ImageVolumePulls } from './image-volumes.ts';
import type { Candidate, PodContainers, ReadySandbox, Run } from './pod-containers.ts';
import type { SandboxStarter } from './sandbox-starter.ts';
import { type RuntimePodSyncResult, SyncResults } from './sync-result.ts';
import type { TriedAttempts } from './tried-attempts.ts';

export interface PodReconcilerComponents {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: RuntimeMetrics;
  readonly probes: RestartProbeResults;
  readonly features: RestartFeatures;
  readonly runtimeHandler: (pod: Pod, signal: AbortSignal) => Promise<string>;
  readonly isPodTerminationRequested: (uid: string) => boolean;
  readonly onSandboxReady: (pod: Pod) => void;
  readonly images: ImagePuller;
  readonly claims: PodClaims | undefined;
  readonly contexts: ConfigContexts;
  readonly remover: ContainerRemover;
  readonly killer: Killer;
  readonly sandboxes: SandboxStarter;
  readonly starts: PodContainers;
  readonly tried: TriedAttempts;
  readonly notes: ContainerNotes;
  readonly reader: Pick<PodStatusReader, 'read' | 'sandboxOf'>;
  /** Resizes running pods. If absent, running containers keep the resources they were created with. */
  readonly resizer: PodResizer | undefined;
}

/** Abort reason of image pulls that outlast their sync. Created once, because an error with its stack costs 0.1 ms. */
const SYNC_HAS_ENDED = new PodRuntimeError('SyncPod', 'the sync that started the pull has ended');

/**
 * Makes the runtime match a pod's spec: kills containers that must not run, creates the sandbox, and starts containers
 * (`SyncPod` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). Failures of containers are results, not errors.
 */
export class PodReconciler {
  readonly #components: PodReconcilerComponents;
  /** UIDs of pods that this kubelet has synced. All later containers of these pods were started by this kubelet. */
  readonly #adopted = new Set<string>();

  constructor(components: PodReconcilerComponents) {
    this.#components = components;
  }

  async sync(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodSyncResult> {
    const results = new SyncResults();
    try {
      await this.#sync({ pod, status: this.#withRemembered(pod, status), results, signal });
    } catch (err) {
      results.fail(err instanceof Error ? err : new Error(String(err)));
    }
    const result = results.done();
    this.#countUserNamespace(pod, result);
    return result;
  }

  /** Drops the state of a pod that no longer exists. */
  forget(podUid: string): void {
    this.#adopted.delete(podUid);
  }

  /**
   * Completes the starts of running containers in order, and starts none. This step needs no volumes, for which a sync
   * may wait forever.
   */
  async finishStarts(pod: Pod, given: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    const status = this.#withRemembered(pod, given);
    const actions = this.#actions(pod, status);
    if (actions.killPod || actions.createSandbox || actions.containersToReset.length > 0) return;
    await this.#components.notes.load(pod.metadata.uid);
    const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
    for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
      const current = currentStatus(status.containers, container.name);
      if (current?.state !== 'running' || !current.startUnfinished || actions.containersToKill.has(current.id))
        continue;
      await this.#components.starts.finish(pod, container, current, signal);
    }
  }

  async #sync(given: Run): Promise<void> {
    const { uid } = given.pod.metadata;
    if (given.status.sandboxes.length === 0 && given.status.containers.length === 0) {
      this.#components.notes.nothingToLoad(uid);
    }
    await this.#components.notes.load(uid);
    if (!this.#adopted.has(uid)) {
      this.#adopted.add(uid);
      await this.#components.starts.adopt(given);
    }
    await this.#components.resizer?.adopt(given.pod, given.status);
    const planned = this.#actions(given.pod, given.status);
    // Probes also fail for a container that has exited, which the given status may not show yet. The status is read
    // again, because the restart policy decides about a container that has exited (C6).
    const run = killsForFailure(planned) ? await this.#withCurrentStatus(given) : given;
    const actions = run === given ? planned : this.#actions(run.pod, run.status);
    if (actions.containersToReset.length === 0) return this.#apply(run, actions);
    // The pod's status must first show the exit, because it keeps how a container without a record terminated (P7).
    if (run !== given) return run.results.outdated();
    if (!(await this.#reset(run, actions))) return;
    // All records were removed, so the result is known without reading the status again.
    const gone = new Set(actions.containersToReset.map(({ id }) => id));
    const status = { ...run.status, containers: run.status.containers.filter(({ id }) => !gone.has(id)) };
    await this.#apply({ ...run, status }, this.#actions(run.pod, status));
  }

  async #withCurrentStatus(run: Run): Promise<Run> {
    const { uid, name, namespace } = run.pod.metadata;
    const status = await this.#components.reader.read(uid, name, namespace, run.signal);
    return { ...run, status: this.#withRemembered(run.pod, status) };
  }

  #withRemembered(pod: Pod, status: RuntimePodStatus): RuntimePodStatus {
    const { clock, features, reader } = this.#components;
    const sandboxOf = (containerId: string) => reader.sandboxOf(pod.metadata.uid, containerId);
    return withRemembered(pod, status, features, { nowMs: clock.now(), sandboxOf });
  }

  /** Counts pods with user namespaces. A user namespace may turn out not to work at any step of the pod's start. */
  #countUserNamespace({ spec: { hostUsers } }: Pod, { results, error }: RuntimePodSyncResult): void {
    const { startedUserNamespacedPods, startedUserNamespacedPodErrors } = this.#components.metrics;
    if (hostUsers !== false || !results.some(({ action }) => action === 'CreatePodSandbox')) return;
    startedUserNamespacedPods.inc({});
    if (error !== undefined) startedUserNamespacedPodErrors.inc({});
  }

  #actions(pod: Pod, status: RuntimePodStatus): PodActions {
    const { probes, features, logger, resizer } = this.#components;
    const resize = resizer?.context(pod);
    const actions = computePodActions(pod, status, { probes, features, ...(resize && { resize }) });
    logger.debug({ podUid: pod.metadata.uid, actions }, 'Computed pod actions');
    return actions;
  }

  async #apply(run: Run, actions: PodActions): Promise<void> {
    if (actions.killPod) {
      if (!(await this.#killPod(run, actions)) || !actions.createSandbox) return;
    } else if (!(await this.#killContainers(run, actions))) return;
    else if (killsForFailure(actions)) return this.#afterKill(run, actions);
    return this.#startAll(run, actions);
  }

  /**
   * Continues after containers were killed for a failed probe or hook, with their exits in the status: their restarts
   * are delayed like restarts after crashes (C2). Upstream uses the exits from before the kill, and so does not delay
   * the first restart.
   */
  async #afterKill(run: Run, { containersToKill }: PodActions): Promise<void> {
    const seen = await this.#withCurrentStatus(run);
    const actions = this.#actions(seen.pod, seen.status);
    const killsMore = actions.killPod || [...actions.containersToKill.keys()].some((id) => !containersToKill.has(id));
    const isStale = [...actions.containersToKill.keys()].some((id) => containersToKill.has(id));
    // Any other change is left to the next sync, after the pod's status shows it.
    if (killsMore || isStale || actions.containersToReset.length > 0) return run.results.outdated();
    return this.#startAll(seen, actions);
  }

  async #startAll(run: Run, actions: PodActions): Promise<void> {
    await this.#prune(run, actions.createSandbox);
    // The cgroup is resized first, so that containers start in a cgroup of the right size.
    await this.#resize(run, actions);

    const toStart =
      actions.ephemeralContainersToStart.length +
      actions.initContainersToStart.length +
      actions.containersToStart.length;
    if (!actions.createSandbox && toStart === 0) return;

    const logsMade = actions.createSandbox ? this.#components.sandboxes.makeLogs(run.pod) : Promise.resolve();
    // The directory must not appear after the sync, because the pod may have been removed by then.
    await this.#startIn(run, actions, logsMade).finally(() => logsMade.catch(() => undefined));
  }

  async #startIn(run: Run, actions: PodActions, logsMade: Promise<void>): Promise<void> {
    const { pod, signal } = run;
    const sandboxConfig = await this.#sandboxConfig(run, actions);
    if (sandboxConfig === undefined) return;
    if (actions.createSandbox && !(await this.#prepareClaims(run))) return;
    const failedBefore = actions.createSandbox && this.#components.tried.get(pod.metadata.uid, '') !== undefined;
    const { sandboxId } = actions;
    const sandboxReady = actions.createSandbox
      ? this.#makeSandbox(run, actions, sandboxConfig, logsMade)
      : Promise.resolve({ sandboxId, sandboxConfig, empty: false, podIps: run.status.ips });
    // If a sandbox could not be created before, images are pulled only once a sandbox exists, to avoid repeating their
    // events.
    if (failedBefore && (await sandboxReady) === undefined) return;
    // A pull must not outlive this sync, because nothing could cancel it later.
    using pulls = linkAbort(signal);
    try {
      await this.#start(run, actions, sandboxReady, sandboxConfig, pulls.signal);
    } finally {
      pulls.abort(SYNC_HAS_ENDED);
    }
  }

  /**
   * Starts containers once their sandbox is ready. The images of these containers are pulled while the sandbox starts.
   */
  async #start(
    run: Run,
    actions: PodActions,
    sandboxReady: Promise<ReadySandbox | undefined>,
    sandboxConfig: Init<PodSandboxConfig>,
    pulls: AbortSignal,
  ): Promise<void> {
    const { starts } = this.#components;
    const { initContainers = [], containers, ephemeralContainers = [] } = run.pod.spec;
    const volumes = new ImageVolumePulls(this.#components, run.pod, sandboxConfig, pulls);
    const candidates = (type: ContainerType, list: readonly AnyContainer[], indexes: readonly number[]): Candidate[] =>
      indexes.flatMap((index) => {
        const container = list[index];
        if (container === undefined) return [];
        const kind = type === 'init' && isRestartableInit(container) ? 'sidecar' : type;
        const current = currentStatus(run.status.containers, container.name);
        const isUnfinished = current?.state === 'running' && current.startUnfinished === true;
        if (isUnfinished && !actions.containersToKill.has(current.id)) {
          return [{ container, type: kind, unfinished: current }];
        }
        return [starts.candidate({ ...run, signal: pulls }, container, kind, sandboxConfig, volumes)];
      });
    const ephemeral = candidates('ephemeral', ephemeralContainers, actions.ephemeralContainersToStart);
    const init = candidates('init', initContainers, actions.initContainersToStart);
    const main = candidates('main', containers, actions.containersToStart);

    // Nothing in the runtime: no container can have other resources.
    if (run.status.sandboxes.length === 0 && run.status.containers.length === 0) {
      starts.recordEarly(run.pod, [...init, ...main]);
    }
    const sandbox = await sandboxReady;
    if (sandbox === undefined) return;
    run.signal.throwIfAborted();
    await allOf([
      starts.inOrder(run, sandbox, ephemeral, () => true),
      starts.inOrder(run, sandbox, init, isRestartableInit).then(async (initialized) => {
        if (initialized) await starts.sideBySide(run, sandbox, main);
      }),
    ]);
  }

  async #resize({ pod, results, signal }: Run, actions: PodActions): Promise<void> {
    const { resizer } = this.#components;
    if (!resizer?.isDue(actions)) return;
    results.add('ResizePodInPlace', formatPod(pod), await resizer.resize(pod, actions, signal));
  }

  async #killPod({ pod, status, results, signal }: Run, actions: PodActions): Promise<boolean> {
    const { recorder, killer } = this.#components;
    if (actions.createSandbox && actions.sandboxId !== '') {
      const message = 'Pod sandbox changed, it will be killed and re-created.';
      recorder.event(podReference(pod), 'Normal', eventReasons.sandboxChanged, message);
    }
    if (status.sandboxes.length === 0 && status.containers.length === 0) return true;
    if (actions.createSandbox) await this.#noteRestarts(pod, status);
    const runningPod = { ...status, createdAtMs: 0 };
    return killer.killPod(pod, runningPod, undefined, results, signal);
  }

  /** Notes that the main containers that stop with their sandbox must run again in the next one. */
  async #noteRestarts(pod: Pod, status: RuntimePodStatus): Promise<void> {
    const restart = { reason: 'Unknown', message: 'Pod sandbox changed' };
    const specs = new Map(pod.spec.containers.map((container) => [container.name, container]));
    const running = status.containers.filter(({ state }) => state === 'running');
    await Promise.all(
      running.map(async ({ id, name }) => {
        const container = specs.get(name);
        if (container === undefined || !restartsAfterKill(pod, container, this.#components.features)) return;
        await this.#noteRestart(pod, name, { id, restart });
      }),
    );
  }

  /** Records that a container is stopped in order to restart it, if its exit code alone might not lead to a restart. */
  async #noteRestart(pod: Pod, name: string, note: ContainerNote): Promise<void> {
    const { notes, features } = this.#components;
    const found = findContainer(pod, name);
    if (found === undefined || !mayEndForGood(pod, found.container, features)) return;
    await notes.put(pod.metadata.uid, name, note);
  }

  /**
   * Kills the containers that must not run.
   * @returns whether all containers that had to be killed have terminated; no container may start before
   */
  async #killContainers({ pod, results, signal }: Run, actions: PodActions): Promise<boolean> {
    const starting = namesToStart(pod, actions);
    const outcomes = await Promise.all(
      [...actions.containersToKill].map(async ([id, { name, message, reason }]) => {
        try {
          if (starting.has(name)) await this.#noteRestart(pod, name, { id, restart: { reason, message } });
          await this.#components.killer.killContainer(pod, { id, name, message, reason }, signal);
          results.add('KillContainer', name);
          return true;
        } catch (err) {
          results.add('KillContainer', name, { reason: 'KillContainerError', message: errorText(err) });
          return false;
        }
      }),
    );
    return outcomes.every((ok) => ok);
  }

  /**
   * Removes all records in order, so that all containers are restarted. The logs of the containers are kept until the
   * pod is removed.
   */
  async #reset({ pod, results, signal }: Run, { containersToReset }: PodActions): Promise<boolean> {
    const { killer, remover, logger } = this.#components;
    for (const { id, name, kill, neverRan } of containersToReset) {
      try {
        if (kill) {
          const request = {
            id,
            name,
            message: 'killing',
            reason: 'RestartAllContainers',
            gracePeriodSeconds: 0,
          } as const;
          await killer.killContainer(pod, request, signal);
        }
      } catch (err) {
        results.add('RemoveContainer', name, { reason: 'KillContainerError', message: errorText(err) });
        return false;
      }
      try {
        await remover.remove(id, true, signal);
        results.add('RemoveContainer', name);
      } catch (err) {
        if (!neverRan || !isLeaked(err)) {
          results.add('RemoveContainer', name, { reason: 'RemoveContainerError', message: errorText(err) });
          return false;
        }
        const fields = { podUid: pod.metadata.uid, container: name, containerId: id, err };
        logger.warn(fields, 'Failed to remove a container that never started; the next attempt takes its place');
      }
    }
    return true;
  }

  /**
   * Removes surplus records of init containers; in a new sandbox all of them. Failures are left to garbage collection.
   */
  async #prune({ pod, status, signal }: Run, newSandbox: boolean): Promise<void> {
    const { remover, tried, logger } = this.#components;
    const prune = async (record: RuntimeContainerStatus): Promise<void> => {
      const { id, name } = record;
      if (newSandbox) tried.next(pod.metadata.uid, name, attemptAfter(record));
      // A container without a record in the runtime may have no ID.
      if (id === '') return;
      try {
        await remover.remove(id, false, signal);
      } catch (err) {
        logger.warn(
          { podUid: pod.metadata.uid, container: name, containerId: id, err },
          'Failed to remove init container',
        );
      }
    };
    await Promise.all(surplusInitContainers(pod, status.containers, newSandbox).map(prune));
  }

  /**
   * Prepares the pod's ResourceClaims.
   * @returns whether the claims are prepared; no sandbox or container of the pod may start before
   */
  async #prepareClaims({ pod, results, signal }: Run): Promise<boolean> {
    const { claims, recorder } = this.#components;
    try {
      await claims?.prepare(pod, signal);
      return true;
    } catch (err) {
      signal.throwIfAborted();
      const text = `Failed to prepare dynamic resources: ${errorText(err)}`;
      recorder.event(podReference(pod), 'Warning', eventReasons.failedPrepareDynamicResources, text);
      results.fail(new PodRuntimeError('SyncPod', text, { cause: err }));
      return false;
    }
  }

  async #sandboxConfig(
    { pod, results, signal }: Run,
    actions: PodActions,
  ): Promise<Init<PodSandboxConfig> | undefined> {
    const { contexts, recorder, metrics, tried } = this.#components;
    try {
      // If a sandbox name stays in use in the runtime, the tried attempt number is above the known one.
      const attempt = actions.createSandbox
        ? Math.max(actions.attempt, tried.get(pod.metadata.uid, '') ?? 0)
        : actions.attempt;
      return await contexts.sandboxConfig(pod, attempt, signal);
    } catch (err) {
      signal.throwIfAborted();
      if (!actions.createSandbox) {
        const message = `GeneratePodSandboxConfig for pod "${formatPod(pod)}" failed: ${errorText(err)}`;
        results.fail(new PodRuntimeError('SyncPod', message, { cause: err }));
        return undefined;
      }
      metrics.startedPods.inc({});
      metrics.startedPodErrors.inc({});
      const message = `Failed to generate sandbox config for pod "${formatPod(pod)}": ${errorText(err)}`;
      results.add('CreatePodSandbox', formatPod(pod), { reason: 'CreatePodSandboxError', message });
      const text = `Failed to create pod sandbox: ${errorText(err)}`;
      recorder.event(podReference(pod), 'Warning', eventReasons.failedCreatePodSandBox, text);
      return undefined;
    }
  }

  /** Returns the sandbox for the containers: the existing one or a new one; `undefined` if it cannot be created. */
  async #makeSandbox(
    { pod, status, results, signal }: Run,
    { attempt }: PodActions,
    sandboxConfig: Init<PodSandboxConfig>,
    logsMade: Promise<void>,
  ): Promise<ReadySandbox | undefined> {
    const { sandboxes, recorder, metrics, logger, tried } = this.#components;
    const target = formatPod(pod);
    metrics.startedPods.inc({});
    let sandbox: Awaited<ReturnType<SandboxStarter['run']>>;
    try {
      const handler = await this.#components.runtimeHandler(pod, signal);
      sandbox = await sandboxes.run(pod, sandboxConfig, handler, logsMade, signal);
    } catch (err) {
      signal.throwIfAborted();
      // The network of a pod that is being deleted may be removed while its sandbox is created.
      if (this.#components.isPodTerminationRequested(pod.metadata.uid)) return undefined;
      metrics.startedPodErrors.inc({});
      if (tried.get(pod.metadata.uid, '') === undefined) tried.failed(pod.metadata.uid, '', attempt, err);
      const message = `Failed to create sandbox for pod "${target}": ${errorText(err)}`;
      const retryAtMs = tried.retryAtMs(pod.metadata.uid, '');
      const wait = retryAtMs === undefined ? {} : { retryAtMs };
      results.add('CreatePodSandbox', target, { reason: 'CreatePodSandboxError', message, ...wait });
      const text = `Failed to create pod sandbox: ${errorText(err)}`;
      recorder.event(podReference(pod), 'Warning', eventReasons.failedCreatePodSandBox, text);
      return undefined;
    }
    const sandboxId = sandbox.id;
    results.add('CreatePodSandbox', target);
    logger.info({ podUid: pod.metadata.uid, sandboxId, attempt }, 'Sandbox runs');
    try {
      const podIps = await sandboxes.ips(pod, sandboxId, signal);
      this.#components.onSandboxReady(pod);
      // The new sandbox has no other containers, so only containers of an earlier sandbox could conflict with those
      // that start now.
      const empty = sandbox.fresh && status.sandboxes.length === 0 && status.containers.length === 0;
      return { sandboxId, sandboxConfig, empty, podIps: pod.spec.hostNetwork ? status.ips : podIps };
    } catch (err) {
      signal.throwIfAborted();
      const text = `Unable to get pod sandbox status: ${errorText(err)}`;
      recorder.event(podReference(pod), 'Warning', eventReasons.failedStatusPodSandBox, text);
      results.fail(new PodRuntimeError('SyncPod', text, { cause: err }));
      return undefined;
    }
  }
}

/** Returns whether a container is killed because it failed, which counts as a crash. */
function killsForFailure({ containersToKill }: PodActions): boolean {
  return [...containersToKill.values()].some(({ reason }) => FAILURES.has(reason));
}

const FAILURES: ReadonlySet<KillReason> = new Set(['LivenessProbe', 'StartupProbe', 'FailedPostStartHook']);

/** Returns the names of the containers to start, except ephemeral ones. */
function namesToStart({ spec }: Pod, actions: PodActions): ReadonlySet<string> {
  const init = actions.initContainersToStart.flatMap((index) => spec.initContainers?.[index]?.name ?? []);
  const main = actions.containersToStart.flatMap((index) => spec.containers[index]?.name ?? []);
  return new Set([...init, ...main]);
}
