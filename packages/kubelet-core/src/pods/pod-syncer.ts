import { LendingGate, TaskGroup, type Timer } from '@node-agent/async';
import type { PodStatusFn, PodSyncer, PodUpdateType } from '@node-agent/contracts';
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
import type { Dependencies } from '../dependencies.ts';
import { KubeletError } from '../errors.ts';
import type { PodJournalPort } from '../explain/pod-journal.ts';
import type { RuntimeState } from '../node/runtime-state.ts';
import type { PodFailure, PodManagerPort } from '../ports.ts';
import type { PodGroups } from '../sync/pod-groups.ts';
import { DEADLINE_EXCEEDED, pastActiveDeadline } from './active-deadline.ts';
import { stillRunning, toApiPod, toRunningPod, withDataFromBeforeStopping } from './running-pod.ts';
import { withSandboxReady } from './sandbox-ready.ts';
import { StartMetrics } from './start-metrics.ts';
import { withStatus } from './with-status.ts';

/** Grace period for the containers of a pod that only the runtime knows. */
const ORPHAN_GRACE_PERIOD_SECONDS = 1;

/**
 * Number of pods that are prepared concurrently. In a batch of pods, the first ones should start their containers while
 * the others wait, instead of all being prepared first.
 */
const PREPARED_AT_ONCE = 4;
/** A preparation that takes longer no longer occupies a slot: its volume may hang or wait for a secret (C7). */
const PREPARATION_OVERDUE_MS = 100;

/**
 * Delay before a ready sandbox is written to the pod's status. Most pods start their containers within this time, and
 * that status update shows the sandbox too; the extra write would be a third of all status writes of a pod start.
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
  readonly groups: Pick<PodGroups, 'ensure' | 'destroy' | 'readLimits'>;
  /** Syncs the pod again, so that its status shows what was changed. */
  readonly syncAgain: (uid: string) => void;
};

/**
 * Implements the four steps of pod workers. Each is one idempotent pass that compares the actual state and performs
 * what is missing (`SyncPod` and the related methods in `pkg/kubelet/kubelet.go`).
 */
export class KubeletPodSyncer implements PodSyncer {
  readonly #deps: Components;
  readonly #preparations: LendingGate;
  readonly #starts: StartMetrics;
  /**
   * Pods whose sandbox became ready during the current sync, so the sync's input does not show it; each with the timer
   * that shows it in the API.
   */
  readonly #sandboxUp = new Map<string, Timer>();
  /** Status of each terminating pod from before its termination. */
  readonly #beforeEnd = new Map<string, PodStatus>();
  /** Callbacks that show the current containers of the pods that are being stopped. */
  readonly #showers = new Map<string, (seen: RuntimePodStatus) => void>();

  constructor(components: Components) {
    this.#deps = components;
    this.#starts = new StartMetrics(components.metrics);
    this.#preparations = new LendingGate(components, {
      concurrency: PREPARED_AT_ONCE,
      overdueMs: PREPARATION_OVERDUE_MS,
    });
  }

  async syncPod(
    _updateType: PodUpdateType,
    wanted: Pod,
    _mirrorPod: Pod | undefined,
    lastStatus: RuntimePodStatus,
    signal: AbortSignal,
  ): Promise<{ readonly isTerminal: boolean; readonly idle?: boolean; readonly error?: unknown }> {
    const { clock, status, recorder, runtime, runtimeState, pleg, groups, allocation } = this.#deps;
    const pod = allocation.allocated(this.#asShown(wanted));
    allocation.observe(pod, lastStatus);
    await groups.readLimits(pod, signal);
    const podStatus = this.#generate(pod, lastStatus, false);
    this.#starts.observe(pod, status.getPodStatus(pod.metadata.uid), podStatus, clock.now());
    status.setPodStatus(pod, podStatus);
    if (isTerminalPhase(podStatus.phase)) return { isTerminal: true };

    // Running containers are probed, as after a restart, even if the pod's hooks, volumes or network are delayed.
    // Upstream waits for them.
    if (lastStatus.containers.some(({ state }) => state === 'running')) this.#deps.probes?.addPod(pod);
    const givenStatus = await this.#finishStarts(pod, lastStatus, signal);
    // The pod has terminated while a hook ran, so nothing of it may start any more (S2).
    if (givenStatus === undefined) return { isTerminal: true };

    const networkError = runtimeState.networkError();
    if (networkError !== undefined && !pod.spec.hostNetwork) {
      const message = `${NETWORK_NOT_READY}: ${networkError}`;
      recorder.event(podReference(pod), 'Warning', eventReasons.networkNotReady, message);
      throw new KubeletError('NetworkNotReady', message);
    }

    const { uid } = pod.metadata;
    const runtimeStatus = await this.#makeReady(pod, givenStatus, signal);

    let sandboxUp = false;
    this.#deps.probes?.addPod(pod);
    // The kubelet's own status shows which containers have run, even if the runtime's records of them are gone.
    const shown = withStatus(pod, status.getPodStatus(uid) ?? podStatus);
    const result = await runtime.syncPod(shown, runtimeStatus, signal).finally(() => {
      this.#sandboxUp.get(uid)?.cancel();
      sandboxUp = this.#sandboxUp.delete(uid);
    });
    // The cache is refreshed now, without waiting for an event or the next relist (P7).
    if (result.results.length > 0 || result.isOutdated) pleg.hint(pod.metadata.uid);
    const resizes = result.results.filter(({ action }) => action === 'ResizePodInPlace');
    for (const { error } of resizes) if (error !== undefined) allocation.failed(pod, error.message);
    if (result.error !== undefined) {
      // The error is part of the containers' waiting state, so the status is updated before the back-off.
      const waiting = this.#generate(pod, runtimeStatus, false);
      status.setPodStatus(pod, sandboxUp ? withSandboxReady(pod, waiting) : waiting);
      // The active deadline has passed during the sync. A pod that is shown as Failed must also be terminated,
      // otherwise a node shutdown would skip it.
      if (isTerminalPhase(waiting.phase)) return { isTerminal: true, error: result.error };
      throw result.error;
    }
    if (resizes.length > 0) this.#deps.syncAgain(pod.metadata.uid);
    return { isTerminal: false, idle: result.results.length === 0 && !result.isOutdated };
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
   * Notes that the sandbox and network of a pod are ready during its sync. If the images take long, the pod's status
   * shows it.
   */
  sandboxReady(pod: Pod): void {
    const { clock, status } = this.#deps;
    const { uid } = pod.metadata;
    const show = (): void => {
      const known = status.getPodStatus(uid) ?? pod.status;
      if (known !== undefined) status.setPodStatus(pod, withSandboxReady(pod, known));
    };
    this.#sandboxUp.get(uid)?.cancel();
    this.#sandboxUp.set(uid, clock.setTimer(SANDBOX_SHOWN_AFTER_MS, show));
  }

  /**
   * Updates the status of a pod that is being stopped. During the grace period, containers that have terminated are
   * shown as terminated and not ready. Upstream shows them as running until the last one has terminated.
   */
  containersChanged(uid: string): void {
    const entry = this.#deps.podCache.get(uid);
    if (entry !== undefined && entry.error === undefined) this.#showers.get(uid)?.(entry.status);
  }

  /**
   * Returns the pod with the API's current status. The pod worker's copy has the status from the last change of the
   * pod's spec.
   */
  #asShown(wanted: Pod): Pod {
    const status = this.#deps.podManager.getPodByUid(wanted.metadata.uid)?.status;
    return status === undefined || status === wanted.status ? wanted : { ...wanted, status };
  }

  /**
   * Prepares a pod for its containers. The pod's allocation must be on disk before anything in the runtime changes and
   * before its sandbox is created. If the pod has nothing in the runtime yet, its cgroup and volumes are prepared in
   * parallel; if the kubelet is killed meanwhile, its successor admits the pod again and finds them.
   * @returns the pod's current runtime status
   */
  async #makeReady(pod: Pod, givenStatus: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodStatus> {
    if (givenStatus.sandboxes.length > 0 || givenStatus.containers.length > 0) {
      await this.#saveGrant(pod);
      return this.#makeGroupAndVolumes(pod, givenStatus, signal);
    }
    const parts = new TaskGroup(signal);
    parts.add(() => this.#saveGrant(pod));
    parts.add(async (making) => void (await this.#makeGroupAndVolumes(pod, givenStatus, making)));
    await parts.ended();
    signal.throwIfAborted();
    return givenStatus;
  }

  async #saveGrant(pod: Pod): Promise<void> {
    try {
      await this.#deps.allocation.saved(pod.metadata.uid);
    } catch (err) {
      this.#warn(pod, eventReasons.failedSync, `error saving the pod's allocated resources: ${errorText(err)}`);
      throw err;
    }
  }

  async #makeGroupAndVolumes(pod: Pod, givenStatus: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { journal, groups } = this.#deps;
    const { uid } = pod.metadata;
    const endContainers = (): Promise<void> => this.#kill(pod, pod, toRunningPod(pod, givenStatus), undefined, signal);
    const ensured = () => groups.ensure(pod, givenStatus, endContainers, signal);
    const runtimeStatus = await journal.during(uid, 'Cgroup', {}, ensured, signal);
    // A pod that already runs has priority over pods that do not.
    const turn = runtimeStatus.sandboxes.length > 0 ? 'urgent' : 'normal';
    const prepared = () => this.#preparations.run(turn, () => this.#prepare(pod, signal), signal);
    await journal.during(uid, 'Volumes', {}, prepared, signal);
    return runtimeStatus;
  }

  /** Prepares what the pod needs on this machine before its containers can start. */
  async #prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { volumes } = this.#deps;
    try {
      await volumes.makePodDataDirs(pod.metadata.uid);
    } catch (err) {
      this.#warn(
        pod,
        eventReasons.failedToMakePodDataDirectories,
        `error making pod data directories: ${errorText(err)}`,
      );
      throw err;
    }
    try {
      await volumes.waitForAttachAndMount(pod, signal);
    } catch (err) {
      if (!signal.aborted && !(err instanceof Error && 'isTold' in err && err.isTold === true)) {
        this.#warn(pod, eventReasons.failedMountVolume, `Unable to attach or mount volumes: ${errorText(err)}`);
      }
      throw err;
    }
  }

  async syncTerminatingPod(
    wanted: Pod,
    runtimeStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly stoppedAtMs: number }> {
    const { clock, status, podCache, probes, allocation, groups } = this.#deps;
    const pod = allocation.allocated(wanted);
    const { uid } = pod.metadata;
    // Read for the final status while the cgroup exists: for a pod that ran for less than a sync interval the limits
    // have not been read yet.
    const limitsRead = groups.readLimits(pod, signal);
    limitsRead.catch(() => undefined);
    const before = this.#generate(pod, runtimeStatus, false);
    if (!this.#beforeEnd.has(uid)) this.#beforeEnd.set(uid, before);
    status.setPodStatus(pod, podStatusFn ? podStatusFn(before) : before);

    // A kubelet that starts while the pod terminates has not synced the pod, so the readiness probes of running
    // containers are started here, as before the restart.
    if (runtimeStatus.containers.some(({ state }) => state === 'running')) probes?.addPod(pod);
    probes?.stopLivenessAndStartup(uid);
    this.#showers.set(uid, (seen) => {
      // The final state is shown once all containers have stopped (S2).
      if (stillRunning(seen).length === 0) return;
      const ending = this.#generate(pod, withDataFromBeforeStopping(seen, runtimeStatus), false);
      status.setPodStatus(pod, podStatusFn ? podStatusFn(ending) : ending);
    });
    const kill = () => this.#kill(pod, pod, toRunningPod(pod, runtimeStatus), gracePeriodSeconds, signal);
    const stop = this.#deps.journal.during(uid, 'Stop', {}, kill, signal);
    await stop.finally(() => this.#showers.delete(uid));
    const stoppedAtMs = clock.monotonic();
    probes?.removePod(uid);
    await limitsRead;

    // Read again, because the status must show how the containers terminated. Resources of the pod are released based
    // on this reading, too.
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
    // Before the final status is shown: the API server frees the devices of a pod that is shown as terminated.
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
    await this.#deps.journal.during(wanted.metadata.uid, 'CleanUp', {}, cleanUp, signal);
  }

  async #cleanUp(wanted: Pod, runtimeStatus: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    const { status, volumes, groups, userNamespaces, allocation } = this.#deps;
    const pod = allocation.allocated(wanted);
    status.setPodStatus(pod, this.#generate(pod, runtimeStatus, true));
    await volumes.waitForUnmount(pod, signal);
    if (await volumes.podVolumesExist(pod.metadata.uid)) {
      throw new KubeletError(
        'VolumesLeft',
        `pod ${pod.metadata.uid} is terminated, but some volumes have not been cleaned up`,
      );
    }
    await groups.destroy(pod.metadata.uid, signal);
    await userNamespaces?.release(pod.metadata.uid);
    status.terminatePod(pod, this.#beforeEnd.get(pod.metadata.uid));
    this.#beforeEnd.delete(pod.metadata.uid);
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

  #warn(pod: Pod, reason: string, message: string): void {
    this.#deps.recorder.event(podReference(pod), 'Warning', reason, message);
  }
}
