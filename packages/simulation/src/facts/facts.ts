import type { Observation } from '../observation.ts';
import { type Action, durationMs, type NodePlan } from '../scenario/actions.ts';
import { illAfterMs, mayRestart, type PodPlan, restartPolicyOf } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { ApiFacts } from './api-facts.ts';
import { DeadlineFacts } from './deadline-facts.ts';
import { DeletionFacts } from './deletion-facts.ts';
import { DeviceFacts } from './device-facts.ts';
import { DiskFacts } from './disk-facts.ts';
import { HookFacts } from './hook-facts.ts';
import { Lives } from './lives.ts';
import { ObjectFacts } from './object-facts.ts';
import { RecordFacts } from './record-facts.ts';
import { ResourceFacts } from './resource-facts.ts';
import { RestartAllFacts } from './restart-all-facts.ts';
import { groupOf, periodsOf, ShutdownFacts } from './shutdown-facts.ts';
import { WantedPods } from './wanted-pods.ts';

/** What is done to the node that is no fault. */
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
  'apiDebug',
  'pressure',
  'lowOn',
  'diskFault',
  'deviceIll',
  'restartPlugin',
  'pluginFault',
  'shutdown',
  'busAway',
  'loseLock',
]);

/**
 * What is true of the machine, from what was observed: which pods the user wants, which containers have run. Invariants
 * are checked against it, so it asks nothing of the kubelet and shares no rule with it.
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
  readonly hooks: HookFacts = new HookFacts(this);
  readonly records: RecordFacts = new RecordFacts(this.api);
  readonly restartAll: RestartAllFacts = new RestartAllFacts(this);
  nowMs = 0;
  /** Which of the kubelet's lives this is; 0 before the first. */
  kubelet = 0;
  /** Whether it runs, and was not told to stop. */
  kubeletUp = false;
  kubeletStartedAtMs = 0;
  sourcesReady = false;
  sourcesReadyAtMs = 0;
  runtimeUp = true;
  runtimeChangedAtMs = 0;
  /** When the runtime last went away; infinite where it never did. */
  runtimeDownAtMs: number = Number.POSITIVE_INFINITY;
  faultsEnded = false;
  /** When the wall clock was last moved; -1 where it never was. */
  clockJumpedAtMs = -1;
  /** When the last fault is over of those that were injected and are none of the API server's. */
  ownFaultsOverAtMs = 0;
  /** When the last fault or restart of any kind is over that was injected into the node or its runtime; -1 before the first. */
  lastFaultOverAtMs = -1;
  /** Until when the file system hangs that some pods mount; -1 where it never did. */
  foreignHangsUntilMs = -1;
  /** The runtime says at times that it cannot stop a container. */
  mayRefuseStops = false;
  /** When the first fault or restart of any kind was injected; infinite before. */
  firstFaultAtMs: number = Number.POSITIVE_INFINITY;
  readonly #knownToKubelet = new Set<string>();
  readonly #syncBeganAtMs = new Map<string, number>();
  readonly #stopAskedAtMs = new Map<string, number>();
  readonly #removalAskedAtMs = new Map<string, number>();
  readonly #sandboxStopAskedAtMs = new Map<string, number>();
  /** When the sync began that a run of a container is of. */
  readonly #decidedAtMs = new Map<string, number>();
  readonly #terminatingSinceMs = new Map<string, number>();
  /** The pods that the kubelet that runs ends, and has not ended, by when it began. */
  readonly #ending = new Map<string, number>();
  /** The same of those of which the runtime alone was known when their end began, and that nobody wanted then. */
  readonly #orphansEnding = new Set<string>();
  /** When each pod was last ended of which the runtime alone was known. */
  readonly #orphanEndedAtMs = new Map<string, number>();
  /** When a kubelet first asked for a container to be started. */
  readonly #startAskedAtMs = new Map<string, number>();
  /** When a kubelet last asked the runtime to make each container of a pod, by `uid/name`. */
  readonly #createAskedAtMs = new Map<string, number>();
  /** UIDs that were not wanted at a time when a kubelet started, which knew only their containers, or that were taken away at once. */
  readonly #orphaned = new Set<string>();

  constructor(node: NodePlan) {
    this.node = node;
    this.pods = new WantedPods(node);
    this.deletions = new DeletionFacts(this.pods);
    this.deadlines = new DeadlineFacts(this.pods);
  }

  /** Whether the node has refused or ended the pod for what it lacks, for its shutdown or its deadline: nobody can say that it is to run. */
  wasEnded(uid: string): boolean {
    return this.resources.wasEnded(uid) || this.shutdown.wasEnded(uid) || this.deadlines.mayBeOver(uid);
  }

  /** What the pod's group has in a shutdown, where it was ended for one; infinite where not. */
  shutdownGraceSeconds(uid: string): number {
    const { shutdown } = this.node;
    if (shutdown === undefined || !this.shutdown.wasTold(uid)) return Number.POSITIVE_INFINITY;
    const periods = periodsOf(shutdown);
    return periods[groupOf(periods, this.pods.planOf(uid))]?.graceSeconds ?? Number.POSITIVE_INFINITY;
  }

  /** What a pod has that was evicted for a soft threshold; infinite where it was not, or where that has no bound but its own. */
  evictionGraceSeconds(uid: string): number {
    const most = this.node.resources?.soft?.maxPodGraceSeconds ?? -1;
    return this.resources.softlyEvictedAtMs(uid) < 0 || most < 0 ? Number.POSITIVE_INFINITY : most;
  }

  /** When a kubelet first asked for a container to be started; `undefined` where none has. */
  startAskedAtMs(containerId: string): number | undefined {
    return this.#startAskedAtMs.get(containerId);
  }

  /** When a kubelet first asked for a container to be stopped. */
  stopAskedAtMs(containerId: string): number | undefined {
    return this.#stopAskedAtMs.get(containerId);
  }

  /** When a kubelet first asked for a sandbox to be stopped; infinite where none has. */
  sandboxStopAskedAtMs(sandboxId: string): number {
    return this.#sandboxStopAskedAtMs.get(sandboxId) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether a container's start was under way already when its pod's end began: nobody could know that it would succeed. */
  wasStarting({ id, podUid, startedAtMs }: Life): boolean {
    const endMs = this.#terminatingSinceMs.get(podUid) ?? Number.POSITIVE_INFINITY;
    return startedAtMs >= endMs && (this.#startAskedAtMs.get(id) ?? endMs) < endMs;
  }

  /** Whether the kubelet that runs ends the pod, and has not done so: how it has ended is not to be shown before. */
  isBeingEnded(uid: string): boolean {
    return this.#ending.has(uid);
  }

  /** When the kubelet that runs began to end the pod; infinite where it does not. */
  endBeganAtMs(uid: string): number {
    return this.#ending.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Whether the kubelet that runs ends a pod of which the runtime alone was known, and that nobody wanted when that began: all that is found of it
   * ends, whether it has come again or not.
   */
  isOrphanBeingEnded(uid: string): boolean {
    return this.#orphansEnding.has(uid);
  }

  /** When a kubelet last asked for a container to be made; -1 where none has. */
  createAskedAtMs(uid: string, name: string): number {
    return this.#createAskedAtMs.get(`${uid}/${name}`) ?? -1;
  }

  /** When the pod was last ended of which the runtime alone was known; -1 where it never was. */
  orphanEndedAtMs(uid: string): number {
    return this.#orphanEndedAtMs.get(uid) ?? -1;
  }

  /** When the removal of a container, the end of its sandbox or that of its pod was first asked for; infinite where none was. */
  endAskedAtMs({ id, podUid, sandboxId }: Life): number {
    const never = Number.POSITIVE_INFINITY;
    return Math.min(
      this.#removalAskedAtMs.get(id) ?? never,
      this.#sandboxStopAskedAtMs.get(sandboxId) ?? never,
      this.#terminatingSinceMs.get(podUid) ?? never,
    );
  }

  /** Whether a kubelet has asked for the record of a container to be removed. */
  wasRemovalAsked(containerId: string): boolean {
    return this.#removalAskedAtMs.has(containerId);
  }

  /** Whether a run was told to stop when its liveness probe could have failed for good: it is started again, unless its policy is Never. */
  wasIll(life: Life): boolean {
    const { id, plan, attempt, startedAtMs, end } = life;
    const toldAtMs = this.stopAskedAtMs(id) ?? Number.NEGATIVE_INFINITY;
    const wasStopped = end === 'terminated' || end === 'killed';
    return wasStopped && toldAtMs - startedAtMs >= illAfterMs(plan, attempt);
  }

  /** Whether a run that has ended is to be followed by another one. */
  mayRunAgain(pod: PodPlan, life: Life): boolean {
    const { plan } = life;
    return mayRestart(pod, plan, life) || (this.#isOwedRestart(life) && restartPolicyOf(pod, plan) !== 'Never');
  }

  /** Whether a run was told to stop for its liveness probe. The end of its pod is another cause, after which that is on record nowhere. */
  #isOwedRestart(life: Life): boolean {
    const { podUid, startedAtMs } = life;
    const wasPodEnded = this.pods.lastUnwantedAtMs(podUid) >= startedAtMs || this.shutdown.wasEverEnded(podUid);
    return this.wasIll(life) && !wasPodEnded;
  }

  /** Whether the record of a container was asked to be removed before it started: its start was under way, and came late. */
  wasRemovedUnstarted({ id, startedAtMs }: Life): boolean {
    return (this.#removalAskedAtMs.get(id) ?? Number.POSITIVE_INFINITY) < startedAtMs;
  }

  /** When a run of a container was decided on: no later than it started. */
  decidedAtMs({ id, startedAtMs }: Life): number {
    return this.#decidedAtMs.get(id) ?? startedAtMs;
  }

  /** Whether the kubelet that runs has had the pod from one of its sources. */
  isKnownToKubelet(uid: string): boolean {
    return this.#knownToKubelet.has(uid);
  }

  /**
   * When the last `syncPod` of the pod began in the kubelet that runs; infinite where none has. A removal that is seen
   * while it works ends the pod after it, whatever the configuration says by then.
   */
  syncBeganAtMs(uid: string): number {
    return this.#syncBeganAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether some kubelet may have known the pod by its containers only. */
  wasOrphaned(uid: string): boolean {
    return this.#orphaned.has(uid);
  }

  /** Takes in what happened; before the invariants look at it. */
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
    this.restartAll.observe(observation);
    this.records.observe(observation);
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
        // Its end may wait for calls that are under way.
        if (action.do === 'restartKubelet') this.kubeletUp = false;
        if (action.do === 'hangForeign') {
          this.foreignHangsUntilMs = Math.max(this.foreignHangsUntilMs, this.nowMs + action.forMs);
        }
        // Their containers get a second, as those that only the runtime knows.
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
        // A start that comes late was asked for by a sync before the last one.
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
          // A fault has struck that was injected before: the step is tried again after a back-off.
          else this.#faultUntil(observation.atMs);
        }
        return;
      case 'podEndedByNode':
        // Where nothing of it runs, no step of it begins.
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
