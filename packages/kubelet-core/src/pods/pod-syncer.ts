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

/** Containers of a pod that only the runtime knows get this long to end. */
const ORPHAN_GRACE_PERIOD_SECONDS = 1;

/**
 * How many pods are prepared at once. The machine has its containers to start meanwhile: of a batch of pods the first ones
 * are to start while the others wait, not all of them to be prepared at first.
 */
const PREPARED_AT_ONCE = 4;
/** A pod whose preparation takes longer holds no other one up: its volume may hang, or wait for its secret (C7). */
const PREPARATION_OVERDUE_MS = 100;

/**
 * A sandbox that is up is shown where its pod's containers have not started so long after it: most have, and their status says it, too. It
 * would be a third of all that a pod's start has the API server write.
 */
const SANDBOX_SHOWN_AFTER_MS = 500;

const NETWORK_NOT_READY = 'network is not ready';

/** What {@link KubeletPodSyncer} uses of the Kubelet's dependencies. */
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
> & {
  readonly podManager: Pick<PodManagerPort, 'getPodByUid'>;
  readonly allocation: AllocationPort;
  readonly journal: PodJournalPort;
  readonly runtimeState: RuntimeState;
  readonly groups: Pick<PodGroups, 'ensure' | 'destroy' | 'readLimits'>;
  /** The pod is to be synced again: what was done to it shows in its status then. */
  readonly syncAgain: (uid: string) => void;
};

/**
 * The four things that a pod worker may ask for, each one pass that can be repeated at any time: it looks at what is,
 * and does what is missing (`SyncPod` and its like in `pkg/kubelet/kubelet.go`).
 */
export class KubeletPodSyncer implements PodSyncer {
  readonly #deps: Components;
  readonly #preparations: LendingGate;
  readonly #starts: StartMetrics;
  /** The pods whose sandbox came up in the sync that is under way, which what that sync was given does not show; and when the API will. */
  readonly #sandboxUp = new Map<string, Timer>();
  /** What was known of the pods that are being ended when that began. */
  readonly #beforeEnd = new Map<string, PodStatus>();
  /** Show what the runtime has of the pods that are being stopped right now. */
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

    // What runs is probed, as after a restart, though its hooks, its volumes or the network are long in coming; upstream waits for them.
    if (lastStatus.containers.some(({ state }) => state === 'running')) this.#deps.probes?.addPod(pod);
    const givenStatus = await this.#finishStarts(pod, lastStatus, signal);
    // The pod has ended while a hook ran: nothing more of it may start (S2).
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
    // The kubelet's own status shows which containers have run, though the runtime's records of them may be gone.
    const shown = { ...pod, status: status.getPodStatus(uid) ?? podStatus };
    const result = await runtime.syncPod(shown, runtimeStatus, signal).finally(() => {
      this.#sandboxUp.get(uid)?.cancel();
      sandboxUp = this.#sandboxUp.delete(uid);
    });
    // What was done shows in the cache at once, without waiting for an event or the next relist (P7).
    if (result.results.length > 0 || result.isOutdated) pleg.hint(pod.metadata.uid);
    const resizes = result.results.filter(({ action }) => action === 'ResizePodInPlace');
    for (const { error } of resizes) if (error !== undefined) allocation.failed(pod, error.message);
    if (result.error !== undefined) {
      // What went wrong is part of the containers' waiting state: show it before the back-off, not after.
      const waiting = this.#generate(pod, runtimeStatus, false);
      status.setPodStatus(pod, sandboxUp ? withSandboxReady(pod, waiting) : waiting);
      // Its deadline was over meanwhile, or is known only now: whoever is said to have failed is ended, or a shutdown would pass it over.
      if (isTerminalPhase(waiting.phase)) return { isTerminal: true, error: result.error };
      throw result.error;
    }
    if (resizes.length > 0) this.#deps.syncAgain(pod.metadata.uid);
    return { isTerminal: false, idle: result.results.length === 0 && !result.isOutdated };
  }

  /**
   * Hooks of containers that run do not wait for the pod's volumes: a secret that is gone would keep the pod from being ready for ever.
   * @returns the pod's runtime status to go on with; `undefined` if the pod has ended
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

  /** The sandbox of a pod that is being synced, and its network, are up: where its images take a while to come, its status says so. */
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
   * Something happened to the containers of a pod. While a pod is being stopped, which may take its whole grace period, its containers that
   * have ended are shown so, and not as ready. Upstream shows them as running until the last one has ended.
   */
  containersChanged(uid: string): void {
    const entry = this.#deps.podCache.get(uid);
    if (entry !== undefined && entry.error === undefined) this.#showers.get(uid)?.(entry.status);
  }

  /** A worker has the pod as it was when its wish changed last: what the API shows of it may be another status by now. */
  #asShown(wanted: Pod): Pod {
    const status = this.#deps.podManager.getPodByUid(wanted.metadata.uid)?.status;
    return status === undefined || status === wanted.status ? wanted : { ...wanted, status };
  }

  /**
   * What the pod was granted is on disk before anything changes of what the runtime has of it, and before its sandbox is made. Where there is
   * nothing yet, its group and its volumes are made meanwhile: a kubelet that was killed over it asks for the pod anew, and finds them.
   * @returns the pod's runtime status to go on with
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
      this.#warn(pod, eventReasons.failedSync, `error saving what the pod was granted: ${errorText(err)}`);
      throw err;
    }
  }

  async #makeGroupAndVolumes(pod: Pod, givenStatus: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { journal, groups } = this.#deps;
    const { uid } = pod.metadata;
    const endContainers = (): Promise<void> => this.#kill(pod, pod, toRunningPod(pod, givenStatus), undefined, signal);
    const ensured = () => groups.ensure(pod, givenStatus, endContainers, signal);
    const runtimeStatus = await journal.during(uid, 'Cgroup', {}, ensured, signal);
    // A pod that runs already comes before those that are not to run yet.
    const turn = runtimeStatus.sandboxes.length > 0 ? 'urgent' : 'normal';
    const prepared = () => this.#preparations.run(turn, () => this.#prepare(pod, signal), signal);
    await journal.during(uid, 'Volumes', {}, prepared, signal);
    return runtimeStatus;
  }

  /** What the pod needs on this machine before its containers can start. */
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
    // For the last status, while there is a group: a pod that ran for less than a sync interval has not been asked for it yet.
    const limitsRead = groups.readLimits(pod, signal);
    limitsRead.catch(() => undefined);
    const before = this.#generate(pod, runtimeStatus, false);
    if (!this.#beforeEnd.has(uid)) this.#beforeEnd.set(uid, before);
    status.setPodStatus(pod, podStatusFn ? podStatusFn(before) : before);

    // A kubelet that starts while the pod terminates has not synced it: what runs is asked for its readiness, as before the restart.
    if (runtimeStatus.containers.some(({ state }) => state === 'running')) probes?.addPod(pod);
    probes?.stopLivenessAndStartup(uid);
    this.#showers.set(uid, (seen) => {
      // How the pod has ended is shown once all of it has stopped (S2).
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

    // Read anew: how the containers ended is what the status has to say. What the pod's resources are released by is this reading, too.
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
    // Once more: what came of it first was not shown where it did not follow from what was shown before (P2).
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

  /** The pod's status as it stands, from the runtime's side and from what the kubelet decided. */
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

  /** @param configPod the pod as its source has it; `undefined` where only the runtime knows it */
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
      // A shorter grace period aborts the running kill; the next one says how it went.
      if (!signal.aborted) this.#warn(pod, eventReasons.failedToKillPod, `error killing pod: ${errorText(err)}`);
      throw new KubeletError('KillFailed', `error killing terminating pod: ${errorText(err)}`, { cause: err });
    }
  }

  #warn(pod: Pod, reason: string, message: string): void {
    this.#deps.recorder.event(podReference(pod), 'Warning', reason, message);
  }
}
