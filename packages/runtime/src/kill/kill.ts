import { AsyncError, abortable, type Clock, linkAbort, sleep, withTimeout } from '@node-agent/async';
import { ContainerState, CriError, type RuntimeService } from '@node-agent/cri-client';
import {
  type AnyContainer,
  containerReference,
  findContainer,
  isRestartableInit,
  type LifecycleHandler,
  type Pod,
  type RuntimeContainer,
  type RuntimePod,
} from '@node-agent/pod-spec';
import { type EventRecorder, errorText, eventReasons, type Logger } from '@node-agent/telemetry';
import type { KillReason } from '../actions/pod-actions.ts';
import { terminationPrerequisites } from '../actions/termination-order.ts';
import { parseContainerAnnotations, parseContainerLabels } from '../config/labels.ts';
import { PodRuntimeError } from '../errors.ts';
import type { LifecycleHooks } from '../ports.ts';
import type { SyncResults } from '../reconcile/sync-result.ts';
import { isUnanswered } from '../reconcile/unanswered.ts';
import { stopTimeoutSeconds, terminationGracePeriodSeconds } from './grace-period.ts';
import { type Killing, Killings } from './killings.ts';
import { TerminationTurns } from './termination-turns.ts';

/** Timeout of a status request for a container that will be killed; the same as the minimum grace period. */
const REQUEST_TIMEOUT_MS = 2_000;

export interface KillerComponents {
  readonly cri: Pick<RuntimeService, 'stopContainer' | 'stopPodSandbox' | 'containerStatus'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly hooks: LifecycleHooks;
}

/** Container to kill and the reason. */
export interface KillRequest {
  readonly id: string;
  readonly name: string;
  /** Message of the `Killing` event. If absent or '': `Stopping container NAME`. */
  readonly message?: string;
  readonly reason: KillReason;
  /** Grace period in seconds that replaces those of the pod and the probe. */
  readonly gracePeriodSeconds?: number | undefined;
  readonly turns?: TerminationTurns;
}

/**
 * Stops containers and pods; idempotent. The `preStop` hook runs within the grace period; then the runtime signals the
 * container and kills it when the period is over (C5).
 */
export class Killer {
  readonly #components: KillerComponents;
  readonly #killings = new Killings();

  constructor(components: KillerComponents) {
    this.#components = components;
  }

  /**
   * Kills all containers of a pod in parallel, sidecars in their order (C4), then stops its sandboxes. Adds the
   * outcomes to `results`.
   * @param pod `undefined` if only the runtime knows the pod; its settings are then read from the container annotations
   */
  async killPod(
    pod: Pod | undefined,
    runningPod: RuntimePod,
    gracePeriodSeconds: number | undefined,
    results: SyncResults,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { cri, clock, logger } = this.#components;
    const known = runningPod.containers.filter(({ state }) => state === 'running' || state === 'unknown');
    const mayHaveStarted = created(runningPod);
    const turns = pod?.spec.initContainers?.some(isRestartableInit)
      ? new TerminationTurns({ clock }, terminationPrerequisites(pod, names([...known, ...mayHaveStarted])))
      : undefined;
    const { uid, namespace } = runningPod;
    const owner = pod ?? { metadata: { uid, name: runningPod.name, namespace }, spec: { containers: [] } };
    let ok = true;
    /** Whether a container may still be signalled in a later attempt. */
    let mayRetry = false;
    const failed = (action: 'KillContainer' | 'KillPodSandbox', target: string, err: unknown): void => {
      ok = false;
      results.add(action, target, { reason: `${action}Error`, message: errorText(err) });
      logger.warn({ podUid: runningPod.uid, action, target, err }, 'Failed to stop part of a pod');
    };

    const killAll = (some: readonly RuntimeContainer[], inTurns?: TerminationTurns) =>
      Promise.all(
        some.map(async ({ id, name }) => {
          try {
            const turn = inTurns && { turns: inTurns };
            await this.killContainer(owner, { id, name, reason: 'Unknown', gracePeriodSeconds, ...turn }, signal);
            results.add('KillContainer', name);
          } catch (err) {
            inTurns?.failed(name);
            failed('KillContainer', name, err);
            mayRetry ||= !this.#killings.isHopeless(runningPod.uid, id);
          }
        }),
      );
    // Sidecars stop after all other running containers, including those that started after StartContainer timed out.
    // Running containers that are not sidecars are stopped at once, while the kubelet still looks for such starts.
    const killEarly = async (): Promise<readonly RuntimeContainer[]> => {
      if (turns === undefined) return [];
      const { running } = await this.#findLateStarts(runningPod.uid, mayHaveStarted, signal);
      const live = names([...known, ...running]);
      for (const { name } of mayHaveStarted) if (!live.has(name)) turns.ended(name);
      await killAll(running, turns);
      return running;
    };
    const killKnown = killAll(known, turns);
    const early = await killEarly().finally(() => killKnown);
    if (!mayRetry) {
      const left = mayHaveStarted.filter((container) => !early.includes(container));
      const late = await this.#findLateStarts(runningPod.uid, left, signal);
      await Promise.all([
        killAll(late.running),
        // Containers in an unknown state may not run at all, so a failure to stop one does not keep the sandbox from
        // being stopped.
        ...late.unknown.map(({ id, name }) =>
          this.killContainer(owner, { id, name, reason: 'Unknown', gracePeriodSeconds }, signal).catch((err) =>
            logger.warn(
              { podUid: runningPod.uid, container: name, err },
              'Failed to stop a container that may have started late',
            ),
          ),
        ),
      ]);
    }
    signal.throwIfAborted();
    // Stopping the sandbox kills its containers immediately, so containers that could not be signalled would get no
    // grace period (C5).
    if (mayRetry) return false;
    await Promise.all(
      runningPod.sandboxes.map(async ({ id }) => {
        try {
          await ignoreMissing(cri.stopPodSandbox({ podSandboxId: id }, signal));
        } catch (err) {
          failed('KillPodSandbox', runningPod.uid, err);
        }
      }),
    );
    if (!ok) return false;
    results.add('KillPodSandbox', runningPod.uid);
    // Nothing runs in a stopped sandbox, so the `preStop` hooks of its containers are cancelled.
    for (const { id } of runningPod.containers) this.#killings.ended(runningPod.uid, id);
    return true;
  }

  /**
   * Kills one container; succeeds if the container no longer exists.
   * @param pod only its metadata if only the runtime knows the pod
   * @throws CriError if the runtime could not stop the container
   */
  async killContainer(pod: Pod, request: KillRequest, signal: AbortSignal): Promise<void> {
    const { cri, clock, logger, recorder } = this.#components;
    const { id, name, turns } = request;
    const found = findContainer(pod, name);
    const spec = found ? { pod, container: found.container } : await this.#specFromRuntime(pod, request, signal);
    if (spec === undefined) {
      turns?.ended(name);
      return;
    }
    const graceSeconds =
      request.gracePeriodSeconds ?? terminationGracePeriodSeconds(spec.pod, spec.container, request.reason);
    const message = (request.message || `Stopping container ${name}`).replaceAll(id, name);
    recorder.event(containerReference(spec.pod, name), 'Normal', eventReasons.killingContainer, message);

    const { uid } = spec.pod.metadata;
    const killing = this.#killings.of(uid, id);
    killing.begin(clock.monotonic(), graceSeconds * 1000);
    await this.#preStop(spec, id, killing, signal);
    const leftMs = killing.leftMs(clock.monotonic());
    if (turns !== undefined && leftMs > 0) await turns.wait(name, leftMs, signal);

    const timeout = stopTimeoutSeconds(killing.leftMs(clock.monotonic()));
    logger.info({ podUid: uid, container: name, containerId: id, timeout }, 'Killing container');
    try {
      await ignoreMissing(cri.stopContainer({ containerId: id, timeout }, signal));
    } catch (err) {
      signal.throwIfAborted();
      if (isUnanswered(err)) killing.notSignalled();
      if (isUnanswered(err) || !killing.refused(clock.monotonic())) throw err;
      await this.#killWithoutSignal(uid, { id, name }, killing, err, signal);
    }
    this.#killings.ended(uid, id);
    turns?.ended(name);
  }

  /** Kills a container that the runtime cannot signal. The grace period of such a container is already over. */
  async #killWithoutSignal(
    podUid: string,
    { id, name }: Pick<RuntimeContainer, 'id' | 'name'>,
    killing: Killing,
    refusal: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const { cri, logger } = this.#components;
    logger.warn(
      { podUid, container: name, containerId: id, err: refusal },
      'Killing a container that cannot be signalled',
    );
    try {
      await ignoreMissing(cri.stopContainer({ containerId: id, timeout: 0 }, signal));
    } catch (err) {
      killing.isHopeless = !isUnanswered(err);
      throw err;
    }
  }

  /**
   * Returns the containers that are listed as created but run at this time. A start can complete late, after its call
   * timed out, and stopping the sandbox would kill such a container without a grace period (C5). A container whose
   * state cannot be read in time counts as not running, except one that was found running in an earlier, aborted
   * attempt.
   */
  async #findLateStarts(uid: string, created: readonly RuntimeContainer[], signal: AbortSignal): Promise<LateStarts> {
    if (created.length === 0) return { running: [], unknown: [] };
    const { cri, clock, logger } = this.#components;
    const late = new AbortController();
    using request = linkAbort(signal, late.signal);
    const timer = clock.setTimer(REQUEST_TIMEOUT_MS, () =>
      late.abort(new DOMException('runtime did not answer in time', 'TimeoutError')),
    );
    const states = await Promise.all(
      created.map(async ({ id, name }) => {
        try {
          const { status } = await abortable(cri.containerStatus({ containerId: id }, request.signal), request.signal);
          const ranBefore = status?.state === ContainerState.CONTAINER_UNKNOWN && this.#killings.ran(uid, id);
          return ranBefore ? ContainerState.CONTAINER_RUNNING : status?.state;
        } catch (err) {
          if (CriError.from(err).code === 'NOT_FOUND') {
            this.#killings.ended(uid, id);
            return undefined;
          }
          logger.debug(
            { podUid: uid, container: name, containerId: id, err },
            'Failed to read whether a container started late',
          );
          return this.#killings.ran(uid, id) ? ContainerState.CONTAINER_RUNNING : undefined;
        }
      }),
    ).finally(() => timer.cancel());
    signal.throwIfAborted();
    const inState = (state: ContainerState) => created.filter((_, index) => states[index] === state);
    const running = inState(ContainerState.CONTAINER_RUNNING);
    for (const { id } of running) this.#killings.of(uid, id).ran = true;
    return {
      running,
      unknown: inState(ContainerState.CONTAINER_UNKNOWN),
    };
  }

  /**
   * Cancels the `preStop` hook of a container that has exited: a sleep or HTTP request would otherwise continue without
   * the container.
   */
  containerEnded(podUid: string, containerId: string): void {
    this.#killings.exited(podUid, containerId);
  }

  /** Drops the state of a pod that no longer exists. */
  forget(podUid: string): void {
    this.#killings.forget(podUid);
  }

  /**
   * Runs the `preStop` hook of a container, if the container has one, and waits as long as the grace period allows. The
   * container is stopped whether or not the hook succeeds. A hook that takes longer continues until the container has
   * stopped. If the attempt is aborted, the hook continues, and the next attempt to kill the container waits for it.
   */
  async #preStop({ pod, container }: Spec, id: string, killing: Killing, signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    const handler = container.lifecycle?.preStop;
    const leftMs = killing.leftMs(clock.monotonic());
    if (handler != null && leftMs > 0 && killing.preStop === undefined) {
      killing.preStop = this.#hook({ pod, container }, id, handler, leftMs, killing);
      if (handler.exec == null) void this.#noticeExit(id, killing, signal);
    }
    if (killing.preStop === undefined) return;
    const ended = new AbortController();
    using waiting = linkAbort(signal, ended.signal);
    const hook = killing.preStop.finally(() => ended.abort());
    await Promise.race([hook, sleep(clock, Math.max(0, leftMs), waiting.signal).catch(() => {})]);
    signal.throwIfAborted();
  }

  /**
   * Queries once whether the container still runs, because it may have exited since the pod's status was read. A later
   * exit of the container is reported by {@link containerEnded}.
   */
  async #noticeExit(id: string, killing: Killing, signal: AbortSignal): Promise<void> {
    const { cri, clock, logger } = this.#components;
    const send = (limit: AbortSignal) => abortable(cri.containerStatus({ containerId: id }, limit), limit);
    try {
      const answer = await ignoreMissing(withTimeout(clock, REQUEST_TIMEOUT_MS, send, signal));
      const { state } = answer?.status ?? {};
      if (answer === undefined || state === ContainerState.CONTAINER_EXITED) killing.exit();
    } catch (err) {
      logger.debug({ containerId: id, err }, 'Failed to read whether a container exited before its preStop hook');
    }
  }

  async #hook(
    { pod, container }: Spec,
    id: string,
    handler: LifecycleHandler,
    graceMs: number,
    killing: Killing,
  ): Promise<void> {
    const { logger, recorder, hooks } = this.#components;
    const { signal } = killing.hook;
    try {
      await hooks.preStop(pod, container, id, handler, graceMs, signal);
    } catch (err) {
      if (signal.aborted && (killing.exited || !killing.stopped)) return;
      const fields = { podUid: pod.metadata.uid, container: container.name, containerId: id };
      logger.warn({ ...fields, err }, 'PreStop hook failed');
      // The event omits the error text, because it may contain a server's response with secrets.
      const reference = containerReference(pod, container.name);
      recorder.event(reference, 'Warning', eventReasons.failedPreStopHook, 'PreStopHook failed');
    }
  }

  /**
   * Reads the grace period and hook of a container whose spec is no longer known, from the annotations written at its
   * creation. Returns `undefined` if the container no longer exists. If the response takes too long and the grace
   * period is known, the container is stopped without its hook (W6).
   */
  async #specFromRuntime(
    pod: Pod,
    { id, name, gracePeriodSeconds }: KillRequest,
    signal: AbortSignal,
  ): Promise<Spec | undefined> {
    const { cri, clock, logger } = this.#components;
    const send = (limit: AbortSignal) => abortable(cri.containerStatus({ containerId: id }, limit), limit);
    const request = withTimeout(clock, REQUEST_TIMEOUT_MS, send, signal);
    let answer: Awaited<typeof request> | undefined;
    try {
      answer = await ignoreMissing(request);
    } catch (err) {
      const graceSeconds =
        gracePeriodSeconds ?? pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds;
      if (!AsyncError.is(err) || graceSeconds == null) throw err;
      const fields = { podUid: pod.metadata.uid, container: name, containerId: id };
      logger.warn({ ...fields, err }, 'Killing a container without its recorded settings');
      return { pod: withContainer(pod, { name }), container: { name } };
    }
    if (answer === undefined) return undefined;
    const { status } = answer;
    if (status === null) throw new PodRuntimeError('BadAnswer', `container ${id} has no status`);
    const labels = parseContainerLabels(status.labels);
    const annotations = parseContainerAnnotations(status.annotations);
    const deletion = pod.metadata.deletionGracePeriodSeconds ?? annotations.podDeletionGracePeriodSeconds;
    const termination = pod.spec.terminationGracePeriodSeconds ?? annotations.podTerminationGracePeriodSeconds;
    const { preStopHandler: preStop, ports } = annotations;
    const container: AnyContainer = {
      name: labels.containerName || name,
      ...(ports && { ports }),
      ...(preStop && { lifecycle: { preStop } }),
    };
    const { metadata, spec } = withContainer(pod, container);
    const restored: Pod = {
      metadata: { ...metadata, ...(deletion != null && { deletionGracePeriodSeconds: deletion }) },
      spec: { ...spec, ...(termination != null && { terminationGracePeriodSeconds: termination }) },
    };
    return { pod: restored, container };
  }
}

interface LateStarts {
  readonly running: readonly RuntimeContainer[];
  /** Containers whose state the runtime reports as unknown, so they may run. */
  readonly unknown: readonly RuntimeContainer[];
}

interface Spec {
  readonly pod: Pod;
  readonly container: AnyContainer;
}

/** Returns a pod with the container added to its spec, because events refer to containers of the spec. */
function withContainer(pod: Pod, container: AnyContainer): Pod {
  return { ...pod, spec: { ...pod.spec, containers: [...pod.spec.containers, container] } };
}

function created({ containers }: RuntimePod): readonly RuntimeContainer[] {
  return containers.filter(({ state }) => state === 'created');
}

function names(containers: readonly RuntimeContainer[]): ReadonlySet<string> {
  return new Set(containers.map(({ name }) => name));
}

/** Returns the response of a call; `undefined` if the runtime responds that the container or sandbox does not exist. */
async function ignoreMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (err) {
    if (CriError.from(err).code !== 'NOT_FOUND') throw err;
    return undefined;
  }
}
