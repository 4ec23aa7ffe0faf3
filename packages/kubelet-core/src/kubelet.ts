import { checkOptions, TaskGroup, TimeSlice } from '@node-agent/async';
import type { PodLifecycleEvent, PodUpdate, ProbeUpdate } from '@node-agent/contracts';
import { mayRun, type Pod, type RuntimePod } from '@node-agent/pod-spec';
import { eventReasons, type ObjectReference, withDefaults } from '@node-agent/telemetry';
import { type AllocationPort, noAllocation } from './admit/allocation.ts';
import type { Bootstrap } from './bootstrap.ts';
import type {
  Dependencies,
  GivenDependencies,
  KubeletHealth,
  KubeletOptions,
  KubeletReadiness,
  KubeletView,
  ServerName,
} from './dependencies.ts';
import { KubeletError } from './errors.ts';
import { explainPod, type PodExplanation } from './explain/explain.ts';
import { PodJournal } from './explain/pod-journal.ts';
import { checkKubeletInput } from './kubelet-input.ts';
import { firstPods, type RunPodResult, runPodsOnce } from './node/run-once.ts';
import { runService } from './node/run-service.ts';
import { RuntimeState } from './node/runtime-state.ts';
import { RuntimeWatch } from './node/runtime-watch.ts';
import { podsPastDeadline } from './pods/active-deadline.ts';
import { PodEvents } from './pods/pod-events.ts';
import { KubeletPodSyncer, type SyncPodResult } from './pods/pod-syncer.ts';
import { withStatus } from './pods/with-status.ts';
import type { PodWorkersPort } from './ports.ts';
import { collectGarbage } from './sync/garbage-collection.ts';
import { Housekeeper } from './sync/housekeeper.ts';
import { concernsHousekeeping } from './sync/housekeeping.ts';
import { HousekeepingMetrics } from './sync/housekeeping-metrics.ts';
import { inPortions } from './sync/in-portions.ts';
import { failingHandler, syncLoopFault } from './sync/loop-health.ts';
import { PodCgroups } from './sync/pod-cgroups.ts';
import { SyncLoop } from './sync/sync-loop.ts';
import { makeSyncParts, type SyncParts } from './sync/sync-parts.ts';

/** Interval at which resizes that have been pending for long are retried, in ms. */
const RESIZE_CHECK_MS = 30_000;
/** Time in ms after which the rest of an update waits for the next turn of the event loop. */
const UPDATE_SLICE_MS = 5;

/** Returns whether a sync changed nothing that a housekeeping pass looks at: the pod runs on, and has the same cgroup. */
function isUnimportant({ idle, isRestart, isTerminal }: SyncPodResult): boolean {
  return !isTerminal && (idle === true || isRestart === true);
}

/**
 * The node agent: receives pods from their sources, gives each pod a worker, and performs the steps that the pod
 * workers request. The Kubelet only connects its components, which it receives as {@link Dependencies}.
 */
export class Kubelet<C = unknown> implements Bootstrap<C>, KubeletView {
  readonly #deps: Dependencies & {
    readonly allocation: AllocationPort;
    readonly journal: Pick<PodJournal, keyof PodJournal>;
  };
  readonly #options: Required<KubeletOptions<C>>;
  readonly #runtimeState: RuntimeState;
  readonly #runtimeWatch: RuntimeWatch;
  readonly #workers: PodWorkersPort;
  readonly #sync: SyncParts;
  readonly #loop: SyncLoop;
  readonly #syncer: KubeletPodSyncer;
  readonly #housekeeper: Housekeeper;
  readonly #events: PodEvents;

  /** @throws OptionsError naming the invalid component or option */
  constructor(given: GivenDependencies, options: KubeletOptions<C>) {
    const asked = checkOptions('Kubelet', options, {
      configuration: 'any',
      nodeRef: 'object',
      syncPeriodMs: 'positive?',
      housekeepingPeriodMs: 'positive?',
      runtimeStatusPeriodMs: 'positive?',
      runtimeUpThresholdMs: 'positive?',
      containerGcPeriodMs: 'positive?',
      imageGcPeriodMs: 'positive?',
      syncFrequencyMs: 'positive?',
    });
    this.#options = checkKubeletInput(given, asked);
    const withCommon = withDefaults(given);
    const journal = given.journal ?? new PodJournal(withCommon);
    const dependencies = { allocation: noAllocation, ...withCommon, journal };
    const { clock, logger, pleg } = dependencies;
    this.#deps = dependencies;
    this.#runtimeState = new RuntimeState(clock, this.#options.runtimeUpThresholdMs);
    this.#runtimeWatch = new RuntimeWatch(dependencies, this.#runtimeState);
    this.#runtimeState.addHealthCheck('PLEG', () => pleg.healthy());
    const podCgroups = new PodCgroups({ ...dependencies, activePods: () => this.activePods() });
    const syncAgain = (uid: string): void => this.syncPods([uid]);
    const housekeepingMetrics = new HousekeepingMetrics(dependencies.metrics);
    this.#syncer = new KubeletPodSyncer({
      ...{ ...dependencies, runtimeState: this.#runtimeState, podCgroups, syncAgain },
      onRejected: (reason) => housekeepingMetrics.rejected(reason),
    });
    const syncer = this.#syncer;
    this.#loop = new SyncLoop(clock, logger, this.#runtimeState);
    this.#workers = dependencies.podWorkers(
      {
        syncPod: (...args) => this.#requestingHousekeeping(syncer.syncPod(...args), isUnimportant),
        syncTerminatingPod: (...args) => this.#requestingHousekeeping(syncer.syncTerminatingPod(...args)),
        syncTerminatingRuntimePod: (...args) => this.#requestingHousekeeping(syncer.syncTerminatingRuntimePod(...args)),
        syncTerminatedPod: async (pod, ...args) => {
          // A terminated pod no longer holds resources of the node, so pending resizes may fit now.
          this.#sync.updates.retryResizes('pod_terminated');
          await this.#requestingHousekeeping(syncer.syncTerminatedPod(pod, ...args));
          this.#events.cleanedUp(pod.metadata.uid);
        },
      },
      { passed: (signal) => this.#gate(signal) },
    );
    this.#sync = makeSyncParts({ ...dependencies, workers: this.#workers, podCgroups, housekeepingMetrics });
    this.#housekeeper = new Housekeeper({ ...dependencies, ...this.#sync, podCgroups });
    const { updates } = this.#sync;
    this.#events = new PodEvents({ ...dependencies, workers: this.#workers, updates });
  }

  getConfiguration(): C {
    return this.#options.configuration;
  }

  birthCry(): void {
    this.#deps.recorder.event(this.nodeRef, 'Normal', eventReasons.startingKubelet, 'Starting kubelet.');
  }

  async startGarbageCollection(signal: AbortSignal): Promise<void> {
    await collectGarbage(this.#deps, this.#options, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { podConfig, pleg, volumes, services, runtimeDependentServices, probes, allocation } = this.#deps;
    const { syncPeriodMs, housekeepingPeriodMs, runtimeStatusPeriodMs } = this.#options;
    const { updates, admissions } = this.#sync;
    const loop = this.#loop;
    try {
      await allocation.load(signal);
    } catch (err) {
      if (signal.aborted) return;
      throw err;
    }
    // If one service fails, all are stopped; otherwise the kubelet would look healthy without it.
    const group = new TaskGroup(signal);
    const startRuntimeDependent = (): void => {
      group.add((ending) => pleg.start(ending));
      for (const service of runtimeDependentServices) group.add((ending) => runService(service, ending));
    };
    group.add((ending) => this.#runtimeWatch.run(runtimeStatusPeriodMs, startRuntimeDependent, ending));
    group.add((ending) => this.#workers.start(ending));
    group.add((ending) => volumes.start(ending));
    for (const service of services) group.add((ending) => runService(service, ending));
    // Configuration updates are handled immediately. An update that is delayed until the runtime is healthy again may
    // be outdated by then (P6). Only the first configuration updates wait for the runtime, so that pods which ran
    // before this kubelet started are admitted before new pods (N1).
    const whenever = { always: true };
    group.add((ending) =>
      loop.consume('config', podConfig.updates, (update) => this.#handleUpdate(update, ending), ending, whenever),
    );
    group.add((ending) => this.#terminateEarlyRemoved(ending));
    // Containers and probes are followed while a long list of pods is added (K5).
    const onPlegEvent = (event: PodLifecycleEvent): void => {
      // Of a pod that this kubelet wants and syncs, nothing is left over.
      if (!this.#isSynced(event.podUid)) this.#housekeeper.requestPass();
      this.#events.changed(event);
      this.#syncer.containersChanged(event.podUid);
    };
    group.add((ending) => loop.consume('pleg', pleg.events, onPlegEvent, ending, { between: true }));
    if (probes !== undefined) {
      const onProbed = (update: ProbeUpdate): void => this.#events.probed(update);
      group.add((ending) => loop.consume('probe', probes.updates, onProbed, ending, { always: true, between: true }));
    }
    const deadlines = { ...this.#deps, workers: this.#workers, admissions };
    const syncPastDeadline = (): void => updates.handlePodSyncs(podsPastDeadline(deadlines));
    group.add((ending) => loop.tick('sync', syncPeriodMs, syncPastDeadline, ending));
    group.add((ending) => loop.tick('resize', RESIZE_CHECK_MS, () => updates.retryOverdueResizes(), ending));
    group.add((ending) => loop.tickPrepared('housekeeping', housekeepingPeriodMs, this.#housekeeper, ending));
    await group.ended();
  }

  async runOnce(signal: AbortSignal): Promise<readonly RunPodResult[]> {
    const { podConfig, admitHandlers, runtime, allocation } = this.#deps;
    await allocation.load(signal);
    this.#runtimeState.update(await runtime.status(signal));
    const pods = await firstPods(podConfig, signal);
    return await runPodsOnce(pods, { ...this.#deps, admitHandlers, syncer: this.#syncer }, signal);
  }

  listenAndServe(signal: AbortSignal): Promise<void> {
    return this.#serve('main', signal);
  }

  listenAndServeHealthz(signal: AbortSignal): Promise<void> {
    return this.#serve('healthz', signal);
  }

  listenAndServeReadOnly(signal: AbortSignal): Promise<void> {
    return this.#serve('readOnly', signal);
  }

  listenAndServeAdmin(signal: AbortSignal): Promise<void> {
    return this.#serve('admin', signal);
  }

  listenAndServePodResources(signal: AbortSignal): Promise<void> {
    return this.#serve('podResources', signal);
  }

  /** Returns the problems that `/healthz` and the node's Ready condition show. */
  health(): KubeletHealth {
    const last = this.#loop.lastEntryMs;
    const nowMs = this.#deps.clock.monotonic();
    const idleMs = last === undefined ? 0 : nowMs - last;
    const errors = [...this.#runtimeState.errors()];
    const { silence } = this.#runtimeState;
    // Upstream's message says only that the runtime is down. The reason of the last failed status request is appended.
    if (errors.length > 0 && silence !== undefined) errors.push(silence);
    return {
      syncloop: syncLoopFault(idleMs, this.#options.syncFrequencyMs) ?? failingHandler(this.#loop.failures, nowMs),
      pleg: this.#deps.pleg.healthy(),
      runtime: errors.length > 0 ? errors.join('; ') : undefined,
      ...(errors.length === 0 && silence !== undefined && { runtimeSilence: `no answer: ${silence}` }),
      ...(this.#deps.devices && { devicePlugins: this.#deps.devices.health() }),
    };
  }

  readiness(): KubeletReadiness {
    const networkError = this.#runtimeState.networkError();
    return {
      runtimeErrors: this.#runtimeState.errors(),
      networkErrors: networkError === undefined ? [] : [networkError],
    };
  }

  async updateRuntimeUp(signal: AbortSignal): Promise<void> {
    await this.#runtimeWatch.refresh(signal);
  }

  /** Notes that the runtime has set up a pod's sandbox and network, while the sync of the pod continues. */
  onPodSandboxReady(pod: Pod): void {
    this.#syncer.sandboxReady(pod);
  }

  /** Requests the runtime's status now. Called when there is a sign that the runtime no longer responds. */
  checkRuntime(): void {
    this.#runtimeWatch.checkNow();
  }

  /** Returns the pods that hold resources of the node, with their allocated resources (N1). */
  activePods(): readonly Pod[] {
    return this.#sync.active.list();
  }

  /**
   * Returns the pods in admission, oldest first. Resources that are freed for them, for example by preemption, are
   * reserved for them (N1).
   */
  applicants(): readonly Pod[] {
    return this.#sync.admissions.applicants();
  }

  /** Syncs the pods with these UIDs, after a decision about them. */
  syncPods(uids: readonly string[]): void {
    this.#sync.updates.syncUids(uids);
  }

  /** Returns all pods that this node should run, each with its latest known status. */
  getPods(): readonly Pod[] {
    return this.#deps.podManager.getPods().map((pod) => this.#withStatus(pod));
  }

  getPodByName(namespace: string, name: string): Pod | undefined {
    const pod = this.#deps.podManager.getPodByName(namespace, name);
    return pod && this.#withStatus(pod);
  }

  translatePodUid(uid: string): string {
    return this.#deps.podManager.translatePodUid(uid);
  }

  /** Returns the pods with running containers or sandboxes, as currently listed by the runtime. */
  async getRunningPods(signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    return (await this.#deps.runtime.getPods(signal)).filter(mayRun);
  }

  async getRunningPod(uid: string, signal?: AbortSignal): Promise<RuntimePod | undefined> {
    const { runtime } = this.#deps;
    if (runtime.getPod === undefined) return (await this.getRunningPods(signal)).find((pod) => pod.uid === uid);
    const pod = await runtime.getPod(uid, signal);
    return pod !== undefined && mayRun(pod) ? pod : undefined;
  }

  /** Explains what a pod waits for, since when, and what happened before; `undefined` for unknown pods. */
  explain(namespace: string, name: string): PodExplanation | undefined {
    const pod = this.#deps.podManager.getPodByName(namespace, name);
    if (pod === undefined) return undefined;
    const { uid } = pod.metadata;
    return explainPod(this.#withStatus(pod), {
      nowMs: this.#deps.clock.now(),
      noted: this.#deps.journal.steps(uid),
      undecided: this.#sync.admissions.isUndecided(uid),
      isEnding: this.#workers.isPodTerminationRequested(uid),
      worker: this.#workers.explain(uid),
      probes: this.#deps.probes?.explain(uid) ?? [],
      evictions: this.#deps.eviction?.explainPod(uid) ?? [],
      runtimeStatus: this.#deps.podCache.get(uid)?.status,
      runtimeErrors: this.#runtimeState.errors(),
      networkError: this.#runtimeState.networkError(),
      volumeWaits: this.#deps.volumes.volumeWaits?.(uid) ?? [],
    });
  }

  explainEviction(): unknown {
    return this.#deps.eviction?.explain();
  }

  get nodeRef(): ObjectReference {
    return this.#options.nodeRef;
  }

  async #serve(name: ServerName, signal: AbortSignal): Promise<void> {
    const make = this.#deps.servers?.[name];
    if (make === undefined) throw new KubeletError('NoServer', `kubelet has no ${name} server`);
    await runService(make(this), signal);
  }

  async #gate(signal: AbortSignal): Promise<void> {
    if (!(await this.#loop.runtimeHealthy(signal))) signal.throwIfAborted();
  }

  #withStatus(pod: Pod): Pod {
    const status = this.#deps.status.getPodStatus(pod.metadata.uid);
    return status === undefined ? pod : withStatus(pod, status);
  }

  /** Returns whether a source has the pod, and its worker neither terminates nor has terminated it. */
  #isSynced(uid: string): boolean {
    const { podManager } = this.#deps;
    const mayRunOn = this.#workers.couldHaveRunningContainers(uid) && !this.#workers.isPodTerminationRequested(uid);
    return mayRunOn && podManager.getPodByUid(uid) !== undefined;
  }

  async #handleUpdate(update: PodUpdate, signal: AbortSignal): Promise<void> {
    const { op, source, pods } = update;
    const { clock, logger } = this.#deps;
    logger.debug({ op, source, pods: pods.map((pod) => pod.metadata.name) }, 'Sync loop update');
    // If the sync of an updated pod changes anything, that sync requests the pass, which lists all pods of the runtime.
    if (concernsHousekeeping(update)) this.#housekeeper.requestPass();
    const { handler } = this.#sync;
    const isAddition = op === 'ADD' || op === 'SET';
    const handle = (portion: readonly Pod[]): void => {
      if (isAddition) handler.handlePodAdditions(portion, signal);
      else if (op === 'UPDATE' || op === 'DELETE') handler.handlePodUpdates(portion);
      else if (op === 'REMOVE') handler.handlePodRemoves(portion);
      else handler.handlePodReconcile(portion);
    };
    const slice = new TimeSlice({ clock }, { sliceMs: UPDATE_SLICE_MS });
    const ordered = isAddition ? await handler.inAdmissionOrder(pods, slice, signal) : pods;
    await inPortions(ordered, handle, slice, signal);
  }

  /**
   * Terminates the pods that were removed before all sources were ready, as soon as all sources are ready (F1). Pods
   * removed later are terminated immediately.
   */
  async #terminateEarlyRemoved(signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.podConfig.allSourcesSeen(signal);
    } catch (err) {
      if (signal.aborted) return;
      throw err;
    }
    // Housekeeping would also terminate the removed pods, but only after the runtime has listed its pods. Until then,
    // the workers of these pods must not continue (P6).
    this.#sync.early.terminateAll();
    this.#sync.updates.retryResizes('pods_added');
  }

  /** Makes housekeeping due after a step of a pod worker, successful or not, unless the step did nothing. */
  async #requestingHousekeeping<T>(work: Promise<T>, didNothing: (result: T) => boolean = () => false): Promise<T> {
    let nothing = false;
    try {
      const result = await work;
      nothing = didNothing(result);
      return result;
    } finally {
      if (!nothing) this.#housekeeper.requestPass();
    }
  }
}
