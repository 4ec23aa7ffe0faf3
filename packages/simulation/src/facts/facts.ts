import type { Observation } from '../observation.ts';
import { type Action, durationMs, type NodePlan } from '../scenario/actions.ts';
import { illAfterMs, mayRestart, type PodPlan, restartPolicyOf } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { ApiFacts } from './api-facts.ts';
import { ClaimFacts } from './claim-facts.ts';
import { DeadlineFacts } from './deadline-facts.ts';
import { DeletionFacts } from './deletion-facts.ts';
import { DeviceFacts } from './device-facts.ts';
import { DiskFacts } from './disk-facts.ts';
import { HookFacts } from './hook-facts.ts';
import { Lives } from './lives.ts';
import { NoteFacts } from './note-facts.ts';
import { NumaFacts } from './numa-facts.ts';
import { ObjectFacts } from './object-facts.ts';
import { RecordFacts } from './record-facts.ts';
import { ResourceFacts } from './resource-facts.ts';
import { RestartAllFacts } from './restart-all-facts.ts';
import { groupOf, periodsOf, ShutdownFacts } from './shutdown-facts.ts';
import { VolumeFacts } from './volume-facts.ts';
import { WantedPods } from './wanted-pods.ts';

/** Actions that are not faults. */
const HARMLESS = new Set([
  'writeManifest',
  'breakManifest',
  'removeManifest',
  'serve',
  'jumpClock',
  'hostileFiles',
  'hangForeign',
  'apiCreate',
  'apiBroken',
  'apiDelete',
  'apiDeleteMirror',
  'apiGate',
  'apiResize',
  'apiResizeWhole',
  'apiDebug',
  'pressure',
  'lowOn',
  'diskFault',
  'deviceIll',
  'restartPlugin',
  'csiFault',
  'draFault',
  'restartDra',
  'restartCsi',
  'attacherAway',
  'expandVolume',
  'pluginFault',
  'shutdown',
  'busAway',
  'loseLock',
]);

/**
 * The ground truth about the machine, derived from observations: the pods that the user wants and the containers that
 * have run. Invariants are checked against the facts, so this class neither queries the kubelet nor shares code with
 * the kubelet.
 */
export class Facts {
  readonly node: NodePlan;
  readonly pods: WantedPods;
  readonly deletions: DeletionFacts;
  readonly deadlines: DeadlineFacts;
  readonly lives: Lives = new Lives();
  readonly api: ApiFacts = new ApiFacts();
  readonly objects: ObjectFacts = new ObjectFacts();
  readonly resources: ResourceFacts = new ResourceFacts();
  readonly devices: DeviceFacts = new DeviceFacts();
  readonly shutdown: ShutdownFacts = new ShutdownFacts();
  readonly disks: DiskFacts = new DiskFacts();
  readonly claims: ClaimFacts = new ClaimFacts();
  readonly numa: NumaFacts = new NumaFacts();
  readonly volumes: VolumeFacts;
  readonly hooks: HookFacts = new HookFacts(this);
  readonly notes: NoteFacts = new NoteFacts();
  readonly records: RecordFacts = new RecordFacts(this.api);
  readonly restartAll: RestartAllFacts = new RestartAllFacts(this);
  nowMs = 0;
  /** Number of the current kubelet process, counted from 1; 0 before the first start. */
  kubelet = 0;
  /** Whether a kubelet is running and has not been requested to stop. */
  kubeletUp = false;
  kubeletStartedAtMs = 0;
  sourcesReady = false;
  sourcesReadyAtMs = 0;
  runtimeUp = true;
  runtimeChangedAtMs = 0;
  /** Time at which the runtime last went down; `Infinity` if it never did. */
  runtimeDownAtMs: number = Number.POSITIVE_INFINITY;
  faultsEnded = false;
  /** Time of the last jump of the wall clock; -1 if there was none. */
  clockJumpedAtMs = -1;
  /** Time at which the last injected fault ends, except faults of the API server. */
  ownFaultsOverAtMs = 0;
  /**
   * Time at which the last injected fault or restart of the node or its runtime ends; -1 before the first fault or
   * restart.
   */
  lastFaultOverAtMs = -1;
  /** Time until which the foreign file system hangs; -1 if it never did. */
  foreignHangsUntilMs = -1;
  /** Whether the runtime may refuse to stop a container. */
  mayRefuseStops = false;
  /** Time of the first injected fault or restart of any kind; `Infinity` before the first one. */
  firstFaultAtMs: number = Number.POSITIVE_INFINITY;
  readonly #knownToKubelet = new Set<string>();
  readonly #syncBeganAtMs = new Map<string, number>();
  readonly #stopAskedAtMs = new Map<string, number>();
  readonly #removalAskedAtMs = new Map<string, number>();
  readonly #sandboxStopAskedAtMs = new Map<string, number>();
  /** Start times of the syncs that started each run of a container. */
  readonly #decidedAtMs = new Map<string, number>();
  readonly #terminatingSinceMs = new Map<string, number>();
  /** Pods that the running kubelet is terminating, with the start times of the terminations. */
  readonly #ending = new Map<string, number>();
  /** The pods in `#ending` that only the runtime knew and the user did not want when the termination started. */
  readonly #orphansEnding = new Set<string>();
  /** Times at which pods that only the runtime knew were last terminated. */
  readonly #orphanEndedAtMs = new Map<string, number>();
  /** Times at which a kubelet first requested the start of each container. */
  readonly #startAskedAtMs = new Map<string, number>();
  /** Times at which a kubelet last requested the creation of each container, by `uid/name`. */
  readonly #createAskedAtMs = new Map<string, number>();
  /**
   * UIDs of pods that the user did not want when a kubelet started, so that this kubelet knew only their containers.
   * UIDs of pods that were removed without a grace period are included.
   */
  readonly #orphaned = new Set<string>();

  constructor(node: NodePlan) {
    this.node = node;
    this.pods = new WantedPods(node);
    this.volumes = new VolumeFacts(node);
    this.deletions = new DeletionFacts(this.pods);
    this.deadlines = new DeadlineFacts(this.pods);
  }

  /**
   * Reports whether the node has rejected or terminated the pod for lack of resources, for a shutdown or for its
   * deadline, so that no invariant may require the pod to run.
   */
  wasEnded(uid: string): boolean {
    return this.resources.wasEnded(uid) || this.shutdown.wasEnded(uid) || this.deadlines.mayBeOver(uid);
  }

  /**
   * Returns the grace period of the pod's priority group if the pod was terminated for a shutdown, and `Infinity`
   * otherwise.
   */
  shutdownGraceSeconds(uid: string): number {
    const { shutdown } = this.node;
    if (shutdown === undefined || !this.shutdown.wasTold(uid)) return Number.POSITIVE_INFINITY;
    const periods = periodsOf(shutdown);
    return periods[groupOf(periods, this.pods.planOf(uid))]?.graceSeconds ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the maximum grace period of a pod that was evicted for a soft threshold, and `Infinity` if there is no
   * maximum or the pod was not evicted so.
   */
  evictionGraceSeconds(uid: string): number {
    const most = this.node.resources?.soft?.maxPodGraceSeconds ?? -1;
    return this.resources.softlyEvictedAtMs(uid) < 0 || most < 0 ? Number.POSITIVE_INFINITY : most;
  }

  /**
   * Time at which a kubelet first requested the start of the container; `undefined` if no kubelet has requested the
   * start.
   */
  startAskedAtMs(containerId: string): number | undefined {
    return this.#startAskedAtMs.get(containerId);
  }

  /**
   * Time at which a kubelet first requested the stop of the container; `undefined` if no kubelet has requested the
   * stop.
   */
  stopAskedAtMs(containerId: string): number | undefined {
    return this.#stopAskedAtMs.get(containerId);
  }

  /**
   * Time at which a kubelet first requested the stop of the sandbox; `Infinity` if no kubelet has requested the stop.
   */
  sandboxStopAskedAtMs(sandboxId: string): number {
    return this.#sandboxStopAskedAtMs.get(sandboxId) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Reports whether the container's start was in progress when the termination of its pod started. The kubelet could
   * not know whether the start would succeed.
   */
  wasStarting({ id, podUid, startedAtMs }: Life): boolean {
    const endMs = this.#terminatingSinceMs.get(podUid) ?? Number.POSITIVE_INFINITY;
    return startedAtMs >= endMs && (this.#startAskedAtMs.get(id) ?? endMs) < endMs;
  }

  /**
   * Reports whether the running kubelet is terminating the pod. The pod's terminal phase must not be reported before
   * the termination has finished.
   */
  isBeingEnded(uid: string): boolean {
    return this.#ending.has(uid);
  }

  /** Time at which the running kubelet started to terminate the pod; `Infinity` if the kubelet has not. */
  endBeganAtMs(uid: string): number {
    return this.#ending.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Reports whether the running kubelet is terminating a pod that only the runtime knew and the user did not want when
   * the termination started. All containers that are found of an orphaned pod are stopped, even if the user wants the
   * pod again.
   */
  isOrphanBeingEnded(uid: string): boolean {
    return this.#orphansEnding.has(uid);
  }

  /** Time at which a kubelet last requested the creation of the container; -1 if no kubelet has. */
  createAskedAtMs(uid: string, name: string): number {
    return this.#createAskedAtMs.get(`${uid}/${name}`) ?? -1;
  }

  /** Time at which the pod was last terminated as a pod that only the runtime knew; -1 if the pod never was. */
  orphanEndedAtMs(uid: string): number {
    return this.#orphanEndedAtMs.get(uid) ?? -1;
  }

  /**
   * Time of the first request to remove the container, to stop its sandbox or to terminate its pod; `Infinity` if there
   * was none.
   */
  endAskedAtMs({ id, podUid, sandboxId }: Life): number {
    const never = Number.POSITIVE_INFINITY;
    return Math.min(
      this.#removalAskedAtMs.get(id) ?? never,
      this.#sandboxStopAskedAtMs.get(sandboxId) ?? never,
      this.#terminatingSinceMs.get(podUid) ?? never,
    );
  }

  /** Reports whether a kubelet has requested the removal of the container's record. */
  wasRemovalAsked(containerId: string): boolean {
    return this.#removalAskedAtMs.has(containerId);
  }

  /** Returns the time at which a kubelet first requested the removal of a container's record. */
  removalAskedAtMs(containerId: string): number | undefined {
    return this.#removalAskedAtMs.get(containerId);
  }

  /**
   * Reports whether a container was stopped after the time from which its liveness probe may fail permanently. A
   * container that was stopped for its liveness probe is restarted unless its policy is Never.
   */
  wasIll(life: Life): boolean {
    const { id, plan, attempt, startedAtMs, end } = life;
    const toldAtMs = this.stopAskedAtMs(id) ?? Number.NEGATIVE_INFINITY;
    const wasStopped = end === 'terminated' || end === 'killed';
    return wasStopped && toldAtMs - startedAtMs >= illAfterMs(plan, attempt);
  }

  /** Reports whether a container must be started again after a run that has ended. */
  mayRunAgain(pod: PodPlan, life: Life): boolean {
    const { plan } = life;
    return mayRestart(pod, plan, life) || (this.#isOwedRestart(life) && restartPolicyOf(pod, plan) !== 'Never');
  }

  /**
   * Reports whether a container must be restarted because the kubelet stopped it for a failed liveness probe. If the
   * pod was terminated too, no record shows any more that the probe was the reason for the stop.
   */
  #isOwedRestart(life: Life): boolean {
    const { id, podUid, startedAtMs } = life;
    const wasPodEnded = this.pods.lastUnwantedAtMs(podUid) >= startedAtMs || this.shutdown.wasEverEnded(podUid);
    return this.wasIll(life) && !wasPodEnded && !this.notes.isLost(id);
  }

  /**
   * Reports whether the removal of the container's record was requested before the container started, because the start
   * was in progress and completed late.
   */
  wasRemovedUnstarted({ id, startedAtMs }: Life): boolean {
    return (this.#removalAskedAtMs.get(id) ?? Number.POSITIVE_INFINITY) < startedAtMs;
  }

  /** Returns the time at which the kubelet decided to start a container: never later than the container's start. */
  decidedAtMs({ id, startedAtMs }: Life): number {
    return this.#decidedAtMs.get(id) ?? startedAtMs;
  }

  /** Reports whether the running kubelet has received the pod from one of its sources. */
  isKnownToKubelet(uid: string): boolean {
    return this.#knownToKubelet.has(uid);
  }

  /**
   * Start time of the pod's last `syncPod` in the running kubelet; `Infinity` if there was none. A pod that is removed
   * during its sync is terminated afterwards, even if the configuration contains the pod again.
   */
  syncBeganAtMs(uid: string): number {
    return this.#syncBeganAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** Reports whether some kubelet may have known only the pod's containers, and not its spec. */
  wasOrphaned(uid: string): boolean {
    return this.#orphaned.has(uid);
  }

  /** Updates the facts. Must be called before the invariants judge the observation. */
  observe(observation: Observation): void {
    this.nowMs = observation.atMs;
    this.pods.observe(observation);
    this.deletions.observe(observation);
    this.deadlines.observe(observation);
    this.lives.observe(observation);
    this.api.observe(observation);
    this.objects.observe(observation);
    this.hooks.observe(observation);
    this.disks.observe(observation);
    if (this.node.claims !== undefined) this.claims.observe(observation);
    if (this.node.numa !== undefined) this.numa.observe(observation);
    if (this.node.csi !== undefined) this.volumes.observe(observation);
    this.restartAll.observe(observation);
    this.records.observe(observation);
    this.notes.observe(observation);
    this.resources.observe(observation, this.pods.storeFaultUntilMs);
    if (this.node.devices !== undefined) this.devices.observe(observation);
    if (this.node.shutdown !== undefined) this.shutdown.observe(observation, this);
    switch (observation.kind) {
      case 'action': {
        const { action } = observation;
        if (action.do === 'jumpClock') this.clockJumpedAtMs = this.nowMs;
        if (action.do === 'rpcFault' && action.rpc === 'stopContainer' && action.fault.kind === 'error') {
          this.mayRefuseStops = true;
        }
        // The kubelet may wait for calls in progress before it exits, so it counts as down from the stop request on.
        if (action.do === 'restartKubelet') this.kubeletUp = false;
        if (action.do === 'hangForeign') {
          this.foreignHangsUntilMs = Math.max(this.foreignHangsUntilMs, this.nowMs + action.forMs);
        }
        // Force-deleted pods get a grace period of one second, like pods that only the runtime knows.
        if (action.do === 'apiDelete' && action.force) this.#orphaned.add(action.uid);
        if (action.do === 'apiWipe') {
          for (const uid of this.pods.knownUids) if (this.pods.isApiPod(uid)) this.#orphaned.add(uid);
        }
        if (!action.do.startsWith('api')) {
          this.ownFaultsOverAtMs = Math.max(this.ownFaultsOverAtMs, this.nowMs + durationMs(action));
        }
        if (!isHarmless(action)) {
          this.firstFaultAtMs = Math.min(this.firstFaultAtMs, this.nowMs);
          if (!action.do.startsWith('api')) this.#faultUntil(this.nowMs + durationMs(action));
        }
        return;
      }
      case 'kubeletStarted':
        this.kubelet++;
        this.kubeletUp = true;
        this.kubeletStartedAtMs = observation.atMs;
        this.sourcesReady = false;
        this.#knownToKubelet.clear();
        this.#syncBeganAtMs.clear();
        this.#ending.clear();
        this.#orphansEnding.clear();
        for (const { podUid } of this.lives.running) if (!this.pods.wanted.has(podUid)) this.#orphaned.add(podUid);
        return;
      case 'kubeletEnded':
        this.kubeletUp = false;
        return;
      case 'call': {
        const { name, args } = observation.call;
        const { containerId, podSandboxId } = (args[0] ?? {}) as { containerId?: string; podSandboxId?: string };
        if (name === 'stopPodSandbox') setOnce(this.#sandboxStopAskedAtMs, podSandboxId ?? '', observation.atMs);
        if (name === 'createContainer') this.#onCreate(args[0]);
        if (containerId === undefined) return;
        if (name === 'startContainer') setOnce(this.#startAskedAtMs, containerId, observation.atMs);
        if (name === 'stopContainer') setOnce(this.#stopAskedAtMs, containerId, observation.atMs);
        if (name === 'removeContainer') setOnce(this.#removalAskedAtMs, containerId, observation.atMs);
        return;
      }
      case 'containerStarted': {
        const { id, podUid, startedAtMs } = observation.life;
        // A container may start after a newer sync of its pod has begun. The kubelet decided on the start before its
        // start request, so the time of the request is an upper limit of the time of the decision.
        const askedAtMs = this.#startAskedAtMs.get(id) ?? startedAtMs;
        this.#decidedAtMs.set(id, Math.min(startedAtMs, askedAtMs, this.syncBeganAtMs(podUid)));
        return;
      }
      case 'stepBegan':
        if (observation.step === 'syncTerminatingRuntimePod') {
          this.#orphaned.add(observation.uid);
          if (!this.pods.wanted.has(observation.uid)) this.#orphansEnding.add(observation.uid);
        } else this.#knownToKubelet.add(observation.uid);
        if (observation.step === 'syncPod') {
          this.#syncBeganAtMs.set(observation.uid, observation.atMs);
          this.#terminatingSinceMs.delete(observation.uid);
        } else setOnce(this.#terminatingSinceMs, observation.uid, observation.atMs);
        if (observation.step === 'syncTerminatingPod') setOnce(this.#ending, observation.uid, observation.atMs);
        return;
      case 'stepEnded':
        if (observation.step === 'syncTerminatingRuntimePod' && observation.ok) {
          this.#orphanEndedAtMs.set(observation.uid, observation.atMs);
          this.#orphansEnding.delete(observation.uid);
        }
        if (observation.step === 'syncTerminatingPod') {
          if (observation.ok) this.#ending.delete(observation.uid);
          // A failed termination shows that an earlier injected fault takes effect now. The termination is retried
          // after a back-off.
          else this.#faultUntil(observation.atMs);
        }
        return;
      case 'podEndedByNode':
        // Without running containers the pod worker runs no operation, so this event may be the only sign that the
        // kubelet knows the pod.
        this.#knownToKubelet.add(observation.uid);
        return;
      case 'sourcesReady':
        this.sourcesReady = true;
        this.sourcesReadyAtMs = observation.atMs;
        return;
      case 'runtimeDown':
      case 'runtimeUp':
        this.runtimeUp = observation.kind === 'runtimeUp';
        this.runtimeChangedAtMs = observation.atMs;
        this.#faultUntil(observation.atMs);
        if (!this.runtimeUp) this.runtimeDownAtMs = observation.atMs;
        return;
      case 'callHangs':
        this.ownFaultsOverAtMs = Math.max(this.ownFaultsOverAtMs, this.nowMs + observation.forMs);
        this.#faultUntil(this.nowMs + observation.forMs);
        return;
      case 'faultsEnded':
        this.faultsEnded = true;
        return;
      default:
    }
  }

  #faultUntil(overAtMs: number): void {
    this.lastFaultOverAtMs = Math.max(this.lastFaultOverAtMs, overAtMs);
  }

  #onCreate(request: unknown): void {
    const { config, sandboxConfig } = (request ?? {}) as CreateRequest;
    this.#createAskedAtMs.set(`${sandboxConfig?.metadata?.uid}/${config?.metadata?.name}`, this.nowMs);
  }
}

interface CreateRequest {
  readonly config?: { readonly metadata?: { readonly name?: string } };
  readonly sandboxConfig?: { readonly metadata?: { readonly uid?: string } };
}

function isHarmless(action: Action): boolean {
  return HARMLESS.has(action.do) && !(action.do === 'shutdown' && action.downMs !== undefined);
}

function setOnce(times: Map<string, number>, key: string, atMs: number): void {
  if (!times.has(key)) times.set(key, atMs);
}
