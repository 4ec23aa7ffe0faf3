import type { Timer } from '@node-agent/async';
import type { PodStatusFn, PodSyncer, PodUpdateType, SyncPodOutcome } from '@node-agent/contracts';
import {
  isTerminalPhase,
  type Pod,
  type PodStatus,
  podReference,
  type RuntimePod,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import { errorText, eventReasons } from '@node-agent/telemetry';
import type { AllocationPort } from '../admit/allocation.ts';
import { rejectedStatus } from '../admit/rejected-status.ts';
import type { Dependencies } from '../dependencies.ts';
import { KubeletError } from '../errors.ts';
import type { PodJournalPort } from '../explain/pod-journal.ts';
import type { RuntimeState } from '../node/runtime-state.ts';
import type { PodFailure, PodManagerPort } from '../ports.ts';
import type { PodCgroups } from '../sync/pod-cgroups.ts';
import { DEADLINE_EXCEEDED, pastActiveDeadline } from './active-deadline.ts';
import { ATTACH_LIMIT_REASON, isRejected } from './attach-limit.ts';
import { CleanUpTurns } from './clean-up-turns.ts';
import { PodPreparation } from './pod-preparation.ts';
import { isAbsent, stillRunning, toApiPod, toRunningPod, withDataFromBeforeStopping } from './running-pod.ts';
import { withSandboxReady } from './sandbox-ready.ts';
import { StartMetrics } from './start-metrics.ts';
import { withStatus } from './with-status.ts';

/** Grace period for the containers of a pod that only the runtime knows. */
const ORPHAN_GRACE_PERIOD_SECONDS = 1;

/**
 * Delay before a ready sandbox is written to the pod's status. Most pods start their containers within this time, and
 * the status update for the containers shows the sandbox too. A separate write for the sandbox would be a third of all
 * status writes of a pod start.
 */
const SANDBOX_SHOWN_AFTER_MS = 500;

const NETWORK_NOT_READY = 'network is not ready';

/** Dependencies of {@link KubeletPodSyncer}. */
type Components = Pick<
  Dependencies,
  | 'clock'
  | 'logger'
  | 'metrics'
  | 'recorder'
  | 'runtime'
  | 'status'
  | 'generatePodStatus'
  | 'podCache'
  | 'volumes'
  | 'pleg'
  | 'probes'
  | 'userNamespaces'
  | 'claims'
> & {
  readonly podManager: Pick<PodManagerPort, 'getPodByUid'>;
  readonly allocation: AllocationPort;
  readonly journal: PodJournalPort;
  readonly runtimeState: RuntimeState;
  readonly podCgroups: Pick<PodCgroups, 'ensure' | 'destroy' | 'readLimits'>;
  /** Called when a pod is rejected after its admission, with the reason. */
  readonly onRejected: (reason: string) => void;
  /** Requests another sync of the pod, so that the pod's status shows what was changed. */
  readonly syncAgain: (uid: string) => void;
};

/** Result of {@link KubeletPodSyncer.syncPod}. */
export interface SyncPodResult extends SyncPodOutcome {
  /** Whether the sync only stopped and started containers of a pod that already had containers. */
  readonly isRestart?: boolean;
}

function isOfContainer(action: string): boolean {
  return action === 'StartContainer' || action === 'KillContainer';
}

/**
 * Implements the four steps of pod workers. Each step is idempotent: it compares the pod's actual state with the
 * desired state and performs what is missing (`SyncPod` and the related methods in `pkg/kubelet/kubelet.go`).
 */
export class KubeletPodSyncer implements PodSyncer {
  readonly #deps: Components;
  readonly #cleanUps: CleanUpTurns;
  readonly #preparation: PodPreparation;
  readonly #starts: StartMetrics;
  /**
   * Timers of the pods whose sandbox became ready during their current sync. When its timer fires, the pod's status in
   * the API is updated to show the sandbox as ready.
   */
  readonly #sandboxReadyTimers = new Map<string, Timer>();
  /** Status of each terminating pod from before its termination. */
  readonly #statusBeforeTermination = new Map<string, PodStatus>();
  /** Callbacks that show the current containers of the pods that are being stopped. */
  readonly #statusRefreshers = new Map<string, (seen: RuntimePodStatus) => void>();

  constructor(components: Components) {
    this.#deps = components;
    this.#cleanUps = new CleanUpTurns(components.clock);
    this.#starts = new StartMetrics(components.metrics);
    const killContainers = (pod: Pod, runtimeStatus: RuntimePodStatus, signal: AbortSignal): Promise<void> =>
      this.#kill(pod, pod, toRunningPod(pod, runtimeStatus), undefined, signal);
    this.#preparation = new PodPreparation({ ...components, killContainers });
  }

  async syncPod(
    _updateType: PodUpdateType,
    wanted: Pod,
    _mirrorPod: Pod | undefined,
    lastStatus: RuntimePodStatus,
    signal: AbortSignal,
  ): Promise<SyncPodResult> {
    const { clock, status, recorder, runtime, runtimeState, pleg, podCgroups, allocation } = this.#deps;
    const pod = allocation.allocated(this.#withApiStatus(wanted));
    allocation.observe(pod, lastStatus);
    await podCgroups.readLimits(pod, signal);
    const podStatus = this.#generate(pod, lastStatus, false);
    this.#starts.observe(pod, status.getPodStatus(pod.metadata.uid), podStatus, clock.now());
    status.setPodStatus(pod, podStatus);
    if (isTerminalPhase(podStatus.phase)) return { isTerminal: true };

    // Running containers are probed, as after a restart, even if the pod's hooks, volumes or network are delayed.
    // Upstream waits for hooks, volumes and network first.
    if (lastStatus.containers.some(({ state }) => state === 'running')) this.#deps.probes?.addPod(pod);
    const givenStatus = await this.#finishStarts(pod, lastStatus, signal);
    // The pod has terminated while a hook ran, so none of its containers may start any more (S2).
    if (givenStatus === undefined) return { isTerminal: true };

    const networkError = runtimeState.networkError();
    if (networkError !== undefined && !pod.spec.hostNetwork) {
      const message = `${NETWORK_NOT_READY}: ${networkError}`;
      recorder.event(podReference(pod), 'Warning', eventReasons.networkNotReady, message);
      throw new KubeletError('NetworkNotReady', message);
    }

    const { uid } = pod.metadata;
    const runtimeStatus = await this.#preparation.prepare(pod, givenStatus, signal).catch((error: unknown) => {
      if (!isRejected(error, givenStatus)) throw error;
      this.#reject(pod, ATTACH_LIMIT_REASON, error.message);
    });
    if (runtimeStatus === undefined) return { isTerminal: true };

    let becameReady = false;
    this.#deps.probes?.addPod(pod);
    // The kubelet's own status shows which containers have run, even if the runtime's records of them are gone.
    const shown = withStatus(pod, status.getPodStatus(uid) ?? podStatus);
    const result = await runtime.syncPod(shown, runtimeStatus, signal).finally(() => {
      this.#sandboxReadyTimers.get(uid)?.cancel();
      becameReady = this.#sandboxReadyTimers.delete(uid);
    });
    // A refresh of the pod's runtime status is requested now, instead of waiting for an event or the next relist (P7).
    if (result.results.length > 0 || result.isOutdated) pleg.hint(pod.metadata.uid);
    const resizes = result.results.filter(({ action }) => action === 'ResizePodInPlace');
    for (const { error } of resizes) if (error !== undefined) allocation.failed(pod, error.message);
    if (result.error !== undefined) {
      // The error is part of the containers' waiting state, so the status is updated before the back-off.
      const waiting = this.#generate(pod, runtimeStatus, false);
      status.setPodStatus(pod, becameReady ? withSandboxReady(pod, waiting) : waiting);
      // The active deadline has passed during the sync. A pod that is shown as Failed must also be terminated,
      // otherwise a node shutdown would skip it.
      if (isTerminalPhase(waiting.phase)) return { isTerminal: true, error: result.error };
      throw result.error;
    }
    if (resizes.length > 0) this.#deps.syncAgain(pod.metadata.uid);
    const idle = result.results.length === 0 && !result.isOutdated;
    const isRestart = lastStatus.containers.length > 0 && result.results.every(({ action }) => isOfContainer(action));
    return { isTerminal: false, idle, isRestart };
  }

  /**
   * Runs the pending postStart hooks of running containers before waiting for the pod's volumes: a missing secret would
   * otherwise keep the pod from ever becoming ready.
   * @returns the pod's current runtime status; `undefined` if the pod has terminated
   */
  async #finishStarts(pod: Pod, given: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodStatus | undefined> {
    const { clock, runtime, pleg, podCache, status } = this.#deps;
    const { uid } = pod.metadata;
    if (runtime.finishStarts === undefined || !given.containers.some(({ startUnfinished }) => startUnfinished))
      return given;
    await runtime.finishStarts(pod, given, signal);
    pleg.hint(uid);
    const read = await podCache.getNewerThan(uid, clock.monotonic(), signal);
    const podStatus = this.#generate(pod, read, false);
    status.setPodStatus(pod, podStatus);
    return isTerminalPhase(podStatus.phase) ? undefined : read;
  }

  /**
   * Notes that the sandbox and network of a pod are ready during its sync. If the image pulls take long, the pod's
   * status shows the ready sandbox before the containers start.
   */
  sandboxReady(pod: Pod): void {
    const { clock, status } = this.#deps;
    const { uid } = pod.metadata;
    const show = (): void => {
      const known = status.getPodStatus(uid) ?? pod.status;
      if (known !== undefined) status.setPodStatus(pod, withSandboxReady(pod, known));
    };
    this.#sandboxReadyTimers.get(uid)?.cancel();
    this.#sandboxReadyTimers.set(uid, clock.setTimer(SANDBOX_SHOWN_AFTER_MS, show));
  }

  /**
   * Updates the status of a pod that is being stopped. During the grace period, containers that have terminated are
   * shown as terminated and not ready. Upstream shows them as running until the last one has terminated.
   */
  containersChanged(uid: string): void {
    const entry = this.#deps.podCache.get(uid);
    if (entry !== undefined && entry.error === undefined) this.#statusRefreshers.get(uid)?.(entry.status);
  }

  /**
   * Returns the pod with the API's current status. The pod worker's copy has the status from the last change of the
   * pod's spec.
   */
  #withApiStatus(wanted: Pod): Pod {
    const status = this.#deps.podManager.getPodByUid(wanted.metadata.uid)?.status;
    return status === undefined || status === wanted.status ? wanted : { ...wanted, status };
  }

  async syncTerminatingPod(
    wanted: Pod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly stoppedAtMs: number }> {
    const { clock, status, podCache, probes, allocation, podCgroups } = this.#deps;
    const pod = allocation.allocated(wanted);
    const { uid } = pod.metadata;
    // The final status shows the limits of the pod's cgroup, so the limits are read while the cgroup exists. If the pod
    // ran for less than a sync interval, its limits may not have been read yet.
    const limitsRead = podCgroups.readLimits(pod, signal);
    limitsRead.catch(() => undefined);
    const before = this.#generate(pod, runtimeStatus, false);
    if (!this.#statusBeforeTermination.has(uid)) this.#statusBeforeTermination.set(uid, before);
    status.setPodStatus(pod, podStatusFn ? podStatusFn(before) : before);

    // A kubelet that starts while the pod terminates has not synced the pod, so the readiness probes of running
    // containers are started here, as before the restart.
    if (runtimeStatus.containers.some(({ state }) => state === 'running')) probes?.addPod(pod);
    probes?.stopLivenessAndStartup(uid);
    this.#statusRefreshers.set(uid, (seen) => {
      // The final state is not shown before all containers have stopped (S2).
      if (stillRunning(seen).length === 0) return;
      const ending = this.#generate(pod, withDataFromBeforeStopping(seen, runtimeStatus), false);
      status.setPodStatus(pod, podStatusFn ? podStatusFn(ending) : ending);
    });
    const kill = () => this.#kill(pod, pod, toRunningPod(pod, runtimeStatus), gracePeriodSeconds, signal);
    const stop = this.#deps.journal.during(uid, 'Stop', {}, kill, signal);
    await stop.finally(() => this.#statusRefreshers.delete(uid));
    const stoppedAtMs = clock.monotonic();
    probes?.removePod(uid);
    await limitsRead;

    // The pod is read from the runtime again, because the status must show how the containers terminated. The release
    // of the pod's resources is also based on this status.
    const read = await podCache.getNewerThan(uid, stoppedAtMs, signal);
    const stopped = withDataFromBeforeStopping(read, runtimeStatus);
    const running = stillRunning(stopped);
    if (running.length > 0) {
      const ids = running.map((container) => container.id).join(', ');
      throw new KubeletError(
        'StillRunning',
        `detected running containers after a successful KillPod, CRI violation: ${ids}`,
      );
    }
    // Claims are unprepared before the final status is shown, because the API server frees the devices of a pod that is
    // shown as terminated.
    await this.#deps.claims?.unprepare(pod, signal);
    // The status function is applied again: its first result was not shown if it was not a valid transition from the
    // status before (P2).
    const after = this.#generate(pod, stopped, true);
    status.setPodStatus(pod, podStatusFn ? podStatusFn(after) : after);
    return { stoppedAtMs };
  }

  async syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void> {
    await this.#kill(toApiPod(runningPod), undefined, runningPod, ORPHAN_GRACE_PERIOD_SECONDS, signal);
  }

  async syncTerminatedPod(wanted: Pod, runtimeStatus: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    const cleanUp = () => this.#cleanUp(wanted, runtimeStatus, signal);
    const isLongOver = isTerminalPhase(wanted.status?.phase) && isAbsent(runtimeStatus);
    const inTurn = () => (isLongOver ? this.#cleanUps.run(cleanUp, signal) : cleanUp());
    await this.#deps.journal.during(wanted.metadata.uid, 'CleanUp', {}, inTurn, signal);
  }

  async #cleanUp(wanted: Pod, runtimeStatus: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    const { status, volumes, podCgroups, userNamespaces, allocation } = this.#deps;
    const pod = allocation.allocated(wanted);
    status.setPodStatus(pod, this.#generate(pod, runtimeStatus, true));
    await volumes.waitForUnmount(pod, signal);
    if (await volumes.podVolumesExist(pod.metadata.uid)) {
      throw new KubeletError(
        'VolumesLeft',
        `pod ${pod.metadata.uid} is terminated, but some volumes have not been cleaned up`,
      );
    }
    await podCgroups.destroy(pod.metadata.uid, runtimeStatus, signal);
    await userNamespaces?.release(pod.metadata.uid);
    status.terminatePod(pod, this.#statusBeforeTermination.get(pod.metadata.uid));
    this.#statusBeforeTermination.delete(pod.metadata.uid);
  }

  /** Generates the pod's status from the runtime's state and the kubelet's decisions. */
  #generate(pod: Pod, runtimeStatus: RuntimePodStatus, podIsTerminal: boolean): PodStatus {
    const { clock, status, generatePodStatus, recorder } = this.#deps;
    const oldStatus = status.knownStatus(pod);
    if (podIsTerminal) this.#deps.allocation.ended(pod.metadata.uid);
    let failure: PodFailure | undefined;
    if (pastActiveDeadline(pod, oldStatus, clock.now())) {
      failure = DEADLINE_EXCEEDED;
      if (oldStatus?.reason !== failure.reason) {
        recorder.event(podReference(pod), 'Normal', failure.reason, failure.message);
      }
    }
    return generatePodStatus(pod, runtimeStatus, { oldStatus, podIsTerminal, failure });
  }

  /** @param configPod the pod as its source has it; `undefined` if only the runtime knows the pod */
  async #kill(
    pod: Pod,
    configPod: Pod | undefined,
    runningPod: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#deps.runtime.killPod(configPod, runningPod, gracePeriodSeconds, signal);
    } catch (err) {
      // A shorter grace period aborts the running kill; the next kill reports the outcome.
      if (!signal.aborted) this.#warn(pod, eventReasons.failedToKillPod, `error killing pod: ${errorText(err)}`);
      throw new KubeletError('KillFailed', `error killing terminating pod: ${errorText(err)}`, { cause: err });
    }
  }

  /** Fails a pod that had been admitted (`rejectPod` in `pkg/kubelet/kubelet.go`). */
  #reject(pod: Pod, reason: string, message: string): void {
    this.#warn(pod, reason, message);
    this.#deps.onRejected(reason);
    this.#deps.status.setPodStatus(pod, rejectedStatus(pod, { reason, message }));
  }

  #warn(pod: Pod, reason: string, message: string): void {
    this.#deps.recorder.event(podReference(pod), 'Warning', reason, message);
  }
}
