import type { Clock, LendingGate, Semaphore } from '@node-agent/async';
import type { SyncFailure } from '@node-agent/contracts';
import {
  ContainerState,
  CriError,
  type Init,
  type PodSandboxConfig,
  type RuntimeService,
} from '@node-agent/cri-client';
import {
  type AnyContainer,
  type ContainerType,
  containerReference,
  findContainer,
  type Pod,
  type RestartFeatures,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  restartsAfterKill,
} from '@node-agent/pod-spec';
import { type EventRecorder, type EventType, errorText, eventReasons, type Logger } from '@node-agent/telemetry';
import { currentStatus } from '../actions/current-status.ts';
import type { RestartBackOff } from '../backoff/backoff.ts';
import { generateContainerConfig } from '../config/container-config.ts';
import type { ContainerContext } from '../config/context.ts';
import { criLabels } from '../config/labels.ts';
import { containerLogPath } from '../config/log-paths.ts';
import { PodRuntimeError } from '../errors.ts';
import type { Killer } from '../kill/kill.ts';
import { containerTypeLabel, type RuntimeMetrics } from '../metrics.ts';
import type { ContainerPlacements, LifecycleHooks } from '../ports.ts';
import { type AppliedResources, resourcesToApply } from '../resize/applied-resources.ts';
import { toRuntimeContainer } from '../status/runtime-pods.ts';
import { toContainerStatus } from '../status/status.ts';
import { beforeCreate, exitedUnobserved, type ListedContainer } from './before-create.ts';
import type { ConfigContexts } from './container-context.ts';
import type { ContainerFiles } from './container-files.ts';
import { containerHash } from './container-hash.ts';
import { type ContainerNotes, pendingRestart } from './container-notes.ts';
import { type ContainerRemover, isLeaked } from './container-remover.ts';
import { withDelayedAbort } from './delayed-abort.ts';
import type { PulledImages, PullOutcome } from './image-volumes.ts';

import type { TriedAttempts } from './tried-attempts.ts';
import { isUnanswered } from './unanswered.ts';

export interface StarterComponents {
  readonly cri: Pick<
    RuntimeService,
    'listContainers' | 'containerStatus' | 'createContainer' | 'startContainer' | 'stopContainer'
  >;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: RuntimeMetrics;
  readonly hooks: LifecycleHooks;
  readonly gate: LendingGate;
  readonly files: ContainerFiles;
  readonly contexts: ConfigContexts;
  readonly remover: ContainerRemover;
  readonly killer: Killer;
  readonly backOff: RestartBackOff;
  readonly tried: TriedAttempts;
  readonly notes: ContainerNotes;
  readonly features: RestartFeatures;
  /** Receives a container's resources before the container is created. */
  readonly applied: AppliedResources | undefined;
  readonly placements: ContainerPlacements | undefined;
}

/** Inputs of the start of one container. */
export interface StartRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly type: ContainerType;
  /** Status of the pod at the start of this sync. */
  readonly status: RuntimePodStatus;
  readonly sandboxId: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly podIps: readonly string[];
  /** Whether the runtime cannot have any container of the pod yet. */
  readonly empty: boolean;
  readonly pull: Promise<PullOutcome>;
  /**
   * Limits how many containers of the pod are prepared and started concurrently, because their configurations may be
   * large. If absent, there is no limit.
   */
  readonly turns?: Semaphore;
}

/** Container that an action concerns. */
type ContainerOfPod = Pick<StartRequest, 'pod' | 'container'>;

/** A started container and its attempt number. */
export type StartedRun = Pick<RuntimeContainerStatus, 'id' | 'restartCount'>;

/** A failed step and its reason. */
class StepError extends Error {
  readonly reason: string;
  /** ID of the container; '' if the step failed before the container existed. */
  readonly containerId: string;

  constructor(reason: string, cause: unknown, containerId = '') {
    super(CriError.is(cause) ? cause.details : errorText(cause), { cause });
    this.reason = reason;
    this.containerId = containerId;
  }
}

/** Creates and starts containers: image, configuration, CreateContainer, StartContainer, hook. */
export class ContainerStarter {
  readonly #components: StarterComponents;

  constructor(components: StarterComponents) {
    this.#components = components;
  }

  /**
   * Starts a container. Throws only on abort.
   * @returns why the container did not start; `undefined` if it did
   */
  async start(request: StartRequest, signal: AbortSignal): Promise<SyncFailure | undefined> {
    const { metrics, logger } = this.#components;
    const { pod, container, type } = request;
    const container_type = containerTypeLabel[type];
    metrics.startedContainers.inc({ container_type });
    const failure = await this.#start(request, signal);
    await this.#countImageVolumes(request, failure);
    if (failure === undefined) return undefined;
    signal.throwIfAborted();
    metrics.startedContainerErrors.inc({ container_type, code: failure.reason });
    const { reason, message } = failure;
    logger.warn({ podUid: pod.metadata.uid, container: container.name, reason, message }, 'Failed to start container');
    return failure;
  }

  /**
   * Counts image volumes as upstream does: a start that failed for a reason other than its images counts as having
   * mounted them.
   */
  async #countImageVolumes({ container, pull }: StartRequest, failure: SyncFailure | undefined): Promise<void> {
    const pulled = await pull;
    if ('failures' in pulled || pulled.imageVolumes.size === 0) return;
    const { metrics } = this.#components;
    metrics.imageVolumesRequested.inc({}, pulled.imageVolumes.size);
    const mounts = container.volumeMounts?.filter(({ name }) => pulled.imageVolumes.has(name)) ?? [];
    const failed = failure?.reason === 'CreateContainerError' && failure.message.startsWith('ImageVolumeMountFailed');
    (failed ? metrics.imageVolumeErrors : metrics.imageVolumesMounted).inc({}, mounts.length);
  }

  /**
   * Completes the start of a running container that no kubelet completed: log link, `Started` event, `postStart` hook.
   * @returns why the container is stopped again; `undefined` if it keeps running
   */
  async finish(subject: ContainerOfPod, run: StartedRun, signal: AbortSignal): Promise<SyncFailure | undefined> {
    const { notes, logger } = this.#components;
    const { uid } = subject.pod.metadata;
    const { name } = subject.container;
    const note = notes.get(uid, name);
    // The start was completed since the pod's status was read.
    if (note?.id !== run.id) return undefined;
    logger.info({ podUid: uid, container: name, containerId: run.id }, 'Completing the start of a container');
    await this.#handleLateStart(subject, run, note.starting !== undefined);
    await this.#noteStarted(subject, run.id);
    return this.#postStart(subject, run.id, signal);
  }

  /**
   * Starts to record the resources of a container of a pod that has nothing in the runtime yet. The start of the
   * container records them again, which writes nothing to disk unless this record failed. An earlier record is kept: if
   * the runtime's list was incomplete, that record belongs to a container that still runs.
   */
  recordEarly(first: Pick<StartRequest, 'pod' | 'container' | 'type'>): void {
    const { pod, container } = first;
    if (this.#components.applied?.appliedToContainer(pod.metadata.uid, container.name) !== undefined) return;
    this.#noteResources(first).catch(() => undefined);
  }

  /**
   * Links the logs of containers whose kubelet was killed between their start and the link. The `Started` event comes
   * just before the link, so a missing link means that the event may be missing too.
   */
  async adopt(pod: Pod, { containers }: RuntimePodStatus): Promise<void> {
    const running = containers.filter(({ state, startUnfinished }) => state === 'running' && !startUnfinished);
    await Promise.all(
      running.map(async ({ id, name, restartCount }) => {
        const container = findContainer(pod, name)?.container;
        if (container !== undefined) await this.#handleLateStart({ pod, container }, { id, restartCount }, false);
      }),
    );
  }

  /**
   * Returns whether StartContainer may have started a container without a response. Containers that depend on the
   * started container wait until this is known (C4, C5).
   */
  isStarting({ metadata: { uid } }: Pod, { name }: Pick<AnyContainer, 'name'>, status: RuntimePodStatus): boolean {
    const note = this.#components.notes.get(uid, name);
    const hasEnded = status.containers.some(({ id, state }) => id === note?.id && state === 'exited');
    return note?.starting === 'unanswered' && !hasEnded;
  }

  async #start(request: StartRequest, signal: AbortSignal): Promise<SyncFailure | undefined> {
    const { pod, container } = request;
    const pulled = await request.pull;
    signal.throwIfAborted();
    if ('failures' in pulled) {
      for (const { reason } of pulled.failures) {
        this.#event(request, '', 'Warning', eventReasons.failedToCreateContainer, `Error: ${reason}`);
      }
      return pulled.failures.at(-1);
    }
    let id: string;
    try {
      id = await this.#makeReadyAndStart(request, pulled, signal);
    } catch (err) {
      signal.throwIfAborted();
      if (!(err instanceof StepError)) throw err;
      const reason =
        err.reason === 'RunContainerError' ? eventReasons.failedToStartContainer : eventReasons.failedToCreateContainer;
      this.#event(request, err.containerId, 'Warning', reason, `Error: ${err.message}`);
      const retryAtMs = this.#components.tried.retryAtMs(pod.metadata.uid, container.name);
      return { reason: err.reason, message: err.message, ...(retryAtMs !== undefined && { retryAtMs }) };
    }
    return this.#postStart(request, id, signal);
  }

  /**
   * Generates the container's configuration, then creates and starts the container.
   * @returns the container's ID
   */
  async #makeReadyAndStart(request: StartRequest, pulled: PulledImages, signal: AbortSignal): Promise<string> {
    const { gate, contexts } = this.#components;
    const { pod, container, podIps } = request;
    using _turn = await request.turns?.acquire(signal);
    const [context] = await step('CreateContainerConfigError', () =>
      Promise.all([
        contexts.container(pod, container, pulled, podIps, targetId(request), signal),
        // The resources are recorded in parallel if no earlier container can exist.
        request.empty && this.#noteResources(request),
      ]),
    );
    const started = await gate.run('urgent', () => this.#createAndStart(request, context, signal), signal);
    if (started.cameLate) await this.#handleLateStart(request, started, true);
    else await this.#link(request, started);
    await this.#noteStarted(request, started.id);
    return started.id;
  }

  /**
   * Handles a running container whose start was not completed: links its log, and records the `Started` event if this
   * kubelet has not recorded it or if the missing link shows that an earlier kubelet may not have recorded it.
   */
  async #handleLateStart(subject: ContainerOfPod, run: StartedRun, isUnrecorded: boolean): Promise<void> {
    const wasMissing = await this.#link(subject, run);
    if (isUnrecorded || wasMissing) {
      this.#event(subject, run.id, 'Normal', eventReasons.startedContainer, 'Container started');
    }
  }

  /** Notes that StartContainer is called. The start is unfinished until the response arrives and the hook succeeds. */
  async #noteStartRequested({ pod, container }: ContainerOfPod, id: string): Promise<void> {
    const { notes } = this.#components;
    const { uid } = pod.metadata;
    const hook = container.lifecycle?.postStart != null && { postStart: true as const };
    // If the start fails, the restart stays pending (C6).
    const pending = pendingRestart(notes.get(uid, container.name));
    await notes.put(uid, container.name, { id, starting: 'unanswered', ...hook, ...pending });
  }

  /** Returns the state of a container; `undefined` if the runtime does not report it. */
  async #stateOf(containerId: string, signal: AbortSignal): Promise<ContainerState | undefined> {
    try {
      const { status } = await this.#components.cri.containerStatus({ containerId }, signal);
      return status?.state;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  async #noteStartRefused({ pod, container }: ContainerOfPod, id: string): Promise<void> {
    const { notes } = this.#components;
    const note = notes.get(pod.metadata.uid, container.name);
    // Some runtimes start a container despite reporting an error.
    if (note?.id === id) await notes.put(pod.metadata.uid, container.name, { ...note, starting: 'refused' });
  }

  async #noteStarted({ pod, container }: ContainerOfPod, id: string): Promise<void> {
    const { notes } = this.#components;
    const { uid } = pod.metadata;
    if (container.lifecycle?.postStart == null) await notes.delete(uid, container.name, id);
    else await notes.put(uid, container.name, { id, postStart: true });
  }

  /**
   * Records the container's resources before it is created, because a container without a record would be resized as if
   * it had none. The previous container of the same name must have been removed before. Otherwise the recorded
   * resources would count as those of the previous container, which may still run.
   */
  async #noteResources({ pod, container, type }: Pick<StartRequest, 'pod' | 'container' | 'type'>): Promise<void> {
    if (type === 'ephemeral') return;
    const resources = resourcesToApply(pod, container);
    await this.#components.applied?.containerApplied(pod.metadata.uid, container.name, resources);
  }

  /**
   * Creates and starts the container, unless a container of this name already runs.
   * @returns the container, and whether it was found running because an earlier StartContainer completed late
   */
  async #createAndStart(
    request: StartRequest,
    context: ContainerContext,
    signal: AbortSignal,
  ): Promise<StartedRun & { readonly cameLate: boolean }> {
    const { cri, clock, backOff, tried, placements } = this.#components;
    const { pod, container, type, sandboxId, sandboxConfig, status } = request;
    const { uid } = pod.metadata;

    const attemptOrRunning = await step('CreateContainerError', () => this.#makeNameFree(request, signal));
    if (typeof attemptOrRunning !== 'number') return { ...attemptOrRunning, cameLate: true };
    const attempt = attemptOrRunning;
    if (!request.empty) await step('CreateContainerConfigError', () => this.#noteResources(request));
    // The placement is read last, because the CPUs that containers share change when others become exclusive.
    const placement = placements?.placementOf(pod, container);
    const config = await step('CreateContainerConfigError', async () =>
      generateContainerConfig(pod, container, type, attempt, { ...context, ...(placement && { placement }) }),
    );
    const { containerId: id } = await step('CreateContainerError', async () => {
      try {
        const create = { podSandboxId: sandboxId, config, sandboxConfig };
        return await withDelayedAbort(clock, signal, (late) => cri.createContainer(create, late));
      } catch (err) {
        tried.failed(uid, container.name, attempt, err);
        throw err;
      }
    });
    tried.succeeded(uid, container.name);
    backOff.started(pod, container, containerHash(container), status.containers);
    this.#event(request, id, 'Normal', eventReasons.createdContainer, 'Container created');
    const start = (late: AbortSignal) => cri.startContainer({ containerId: id }, late);
    await this.#noteStartRequested(request, id);
    placements?.starting(pod, container, id, placement?.cpus ?? '');
    try {
      await step('RunContainerError', () => withDelayedAbort(clock, signal, start), id);
    } catch (err) {
      const isOpen = signal.aborted || isUnanswered(err instanceof StepError ? err.cause : err);
      // An error does not prove that the container does not run: a step of the runtime after the start may have failed.
      const isRefused = !isOpen && (await this.#stateOf(id, signal)) !== ContainerState.CONTAINER_RUNNING;
      if (isRefused) await this.#noteStartRefused(request, id);
      throw err;
    }
    this.#event(request, id, 'Normal', eventReasons.startedContainer, 'Container started');
    return { id, restartCount: attempt, cameLate: false };
  }

  /**
   * Makes sure that no other container of this name runs or can start running (C1).
   * @returns the number of the next attempt, or the container that already runs
   */
  async #makeNameFree(request: StartRequest, signal: AbortSignal): Promise<number | StartedRun> {
    const { cri, files, remover, tried, logger } = this.#components;
    const { pod, container } = request;
    const { uid } = pod.metadata;
    const listed = request.empty ? [] : await this.#listed(request, signal);
    const plan = beforeCreate(listed, container.name, tried.get(uid, container.name));
    if (plan.kind === 'running') {
      tried.succeeded(uid, container.name);
      logger.info({ podUid: uid, container: container.name, containerId: plan.id }, 'Container runs already');
      return { id: plan.id, restartCount: listed.find(({ id }) => id === plan.id)?.restartCount ?? 0 };
    }
    const ended = exitedUnobserved(listed, request.status.containers);
    if (ended !== undefined) {
      throw new PodRuntimeError(
        'EndedUnseen',
        `container ${ended.id} has run and exited since the pod's status was read`,
      );
    }
    for (const containerId of plan.stop) await cri.stopContainer({ containerId, timeout: 0 }, signal);
    let { attempt } = plan;
    // The container to remove may be the only record of the attempt number, and the steps before the next creation may
    // fail, so the number is saved.
    if (plan.remove.length > 0 && attempt !== undefined) tried.next(uid, container.name, attempt);
    for (const { id, restartCount, startOver } of plan.remove) {
      const fields = { podUid: uid, container: container.name, containerId: id };
      logger.info(fields, 'Removing a container that never started');
      try {
        await remover.remove(id, false, signal);
        await this.#components.notes.neverRan(uid, container.name, id);
      } catch (err) {
        signal.throwIfAborted();
        if (startOver !== true || !isLeaked(err)) {
          // A call for this container may still be in progress in the runtime, so the container blocks its successor
          // like a name that is in use.
          tried.inTheWay(uid, container.name, restartCount);
          throw err;
        }
        logger.warn(
          { ...fields, err },
          'Failed to remove a container that never started; the next attempt takes its place',
        );
        attempt = Math.max(attempt ?? 0, restartCount + 1);
      }
    }
    return attempt ?? (await files.restartCount(pod, container));
  }

  /**
   * Lists the containers of this name. Containers whose start was interrupted are `created`, whatever the list says.
   */
  async #listed({ pod, container, status }: StartRequest, signal: AbortSignal): Promise<ListedContainer[]> {
    const { cri } = this.#components;
    const filter = { labelSelector: { [criLabels.podUid]: pod.metadata.uid } };
    const { containers } = await cri.listContainers({ filter }, signal);
    const sameName = containers.map(toRuntimeContainer).filter(({ name }) => name === container.name);
    return Promise.all(
      sameName.map(async (listed) => {
        const known = status.containers.find(({ id }) => id === listed.id);
        if (listed.state !== 'exited' || known?.state === 'exited') return listed;
        // The container has exited since the pod's status was read, or has never started. Only the status of the
        // container, not the list, shows which is the case.
        const answer = await cri.containerStatus({ containerId: listed.id }, signal);
        if (answer.status === null) throw new PodRuntimeError('BadAnswer', `container status of ${listed.id} is nil`);
        const { state } = toContainerStatus(answer.status, listed.sandboxId);
        return { ...listed, state, startOver: state === 'created' };
      }),
    );
  }

  /**
   * Links the container's log for log collectors.
   * @returns whether the link was missing
   */
  async #link({ pod, container }: ContainerOfPod, { id, restartCount }: StartedRun): Promise<boolean> {
    try {
      return await this.#components.files.linkLog(pod, container, id, containerLogPath(container.name, restartCount));
    } catch (err) {
      const fields = { podUid: pod.metadata.uid, container: container.name, containerId: id, err };
      this.#components.logger.warn(fields, 'Failed to link the log of the container');
      return false;
    }
  }

  async #postStart(request: ContainerOfPod, id: string, signal: AbortSignal): Promise<SyncFailure | undefined> {
    const { hooks, logger, notes } = this.#components;
    const { pod, container } = request;
    const handler = container.lifecycle?.postStart;
    if (handler == null) return undefined;
    try {
      await hooks.postStart(pod, container, id, handler, signal);
      await notes.delete(pod.metadata.uid, container.name, id);
      return undefined;
    } catch (err) {
      signal.throwIfAborted();
      const fields = { podUid: pod.metadata.uid, container: container.name, containerId: id };
      logger.warn({ ...fields, err }, 'PostStart hook failed');
      // The event omits the error text, because it may contain a server's response with secrets.
      this.#event(request, id, 'Warning', eventReasons.failedPostStartHook, 'PostStartHook failed');
      await this.#stopAfterHook(request, id, signal);
      return { reason: 'PostStartHookError', message: errorText(err) };
    }
  }

  /** Stops a container whose hook failed. A container whose state is unknown is left to the next sync. */
  async #stopAfterHook({ pod, container }: ContainerOfPod, id: string, signal: AbortSignal): Promise<void> {
    const { killer, logger, notes } = this.#components;
    const kill = { id, name: container.name, message: 'FailedPostStartHook', reason: 'FailedPostStartHook' } as const;
    const next = await this.#noteHookFailure(pod, container, id, signal);
    if (next === 'unknown') return;
    try {
      await killer.killContainer(pod, kill, signal);
      if (next === 'ended') await notes.delete(pod.metadata.uid, container.name, id);
    } catch (err) {
      // The note is kept, so the next sync kills the container (C5).
      const fields = { podUid: pod.metadata.uid, container: container.name, containerId: id, err };
      logger.warn(fields, 'A container whose PostStart hook failed could not be killed');
    }
  }

  /**
   * Notes that the hook of a container failed. If the container runs, it must be restarted: it counts as failed,
   * although it may exit with code 0 when it is stopped. If the container had already exited, the hook may have failed
   * because of the exit, so the exit code counts (C6).
   * @returns what follows the stop of the container; `unknown` if the runtime did not say whether the container had
   * exited, so that it must not be stopped yet
   */
  async #noteHookFailure(
    pod: Pod,
    container: AnyContainer,
    id: string,
    signal: AbortSignal,
  ): Promise<'restarted' | 'ended' | 'unknown'> {
    const { notes, features } = this.#components;
    const { uid } = pod.metadata;
    const restart = { reason: 'FailedPostStartHook', message: 'FailedPostStartHook' };
    if (!restartsAfterKill(pod, container, features)) {
      await notes.put(uid, container.name, { id, hookFailed: true });
      return 'ended';
    }
    const state = await this.#stateOf(id, signal);
    if (state === ContainerState.CONTAINER_EXITED) return 'ended';
    const isRunning = state === ContainerState.CONTAINER_RUNNING;
    await notes.put(uid, container.name, isRunning ? { id, restart } : { id, hookFailed: true });
    return isRunning ? 'restarted' : 'unknown';
  }

  /**
   * Replaces container IDs in messages, because they change with each attempt and would prevent the aggregation of
   * events.
   */
  #event({ pod, container }: ContainerOfPod, id: string, type: EventType, reason: string, message: string): void {
    const text = id === '' ? message : message.replaceAll(id, container.name);
    this.#components.recorder.event(containerReference(pod, container.name), type, reason, text);
  }
}

/** Returns the ID of the container that an ephemeral container targets, so that the two share a PID namespace. */
function targetId({ container, status }: StartRequest): string | undefined {
  const name = 'targetContainerName' in container ? container.targetContainerName : undefined;
  if (!name) return undefined;
  const target = currentStatus(status.containers, name);
  if (target === undefined)
    throw new StepError('CreateContainerConfigError', `unable to find target container ${name}`);
  return target.id;
}

async function step<T>(reason: string, work: () => Promise<T>, containerId?: string): Promise<T> {
  try {
    return await work();
  } catch (err) {
    throw err instanceof StepError ? err : new StepError(reason, err, containerId);
  }
}
