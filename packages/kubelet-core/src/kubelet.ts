import { checkComponents, checkOptions, TaskGroup } from '@node-agent/async';
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
import { firstPods, type RunPodResult, runPodsOnce } from './node/run-once.ts';
import { runService } from './node/run-service.ts';
import { RuntimeState } from './node/runtime-state.ts';
import { RuntimeWatch } from './node/runtime-watch.ts';
import { PodEvents } from './pods/pod-events.ts';
import { KubeletPodSyncer } from './pods/pod-syncer.ts';
import type { PodWorkersPort } from './ports.ts';
import { collectGarbage } from './sync/garbage-collection.ts';
import { Housekeeper } from './sync/housekeeper.ts';
import { inPortions } from './sync/in-portions.ts';
import { failingHandler, syncLoopFault } from './sync/loop-health.ts';
import { PodGroups } from './sync/pod-groups.ts';
import { SyncHandler } from './sync/sync-handler.ts';
import { SyncLoop } from './sync/sync-loop.ts';

/** How often it is looked whether resizes have waited for long. */
const RESIZE_CHECK_MS = 30_000;

/**
 * The node agent: it takes pods from their sources, gives each a worker, and does what the workers ask for. All it does
 * itself is to pass things on; what it is made of comes as {@link Dependencies}.
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
  readonly #handler: SyncHandler;
  readonly #loop: SyncLoop;
  readonly #syncer: KubeletPodSyncer;
  readonly #housekeeper: Housekeeper;
  readonly #events: PodEvents;

  /** @throws OptionsError naming the component or option that is wrong */
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
    checkComponents('Kubelet', given, {
      podConfig: ['seenAllSources', 'sourceReady', 'allSourcesSeen'],
      podManager: [
        'addPod',
        'updatePod',
        'removePod',
        'getPods',
        'getPodByUid',
        'getPodByName',
        'translatePodUid',
        'getPodAndMirrorPod',
        'getPodsAndMirrorPods',
      ],
      podWorkers: 'function',
      pleg: ['start', 'hint', 'healthy'],
      podCache: ['get', 'hasSeen', 'runningPods', 'getNewerThan'],
      runtime: ['getPods', 'getPodStatus', 'syncPod', 'killPod', 'status', 'forget', 'containerEnded'],
      status: [
        'getPodStatus',
        'knownStatus',
        'setPodStatus',
        'terminatePod',
        'setContainerReadiness',
        'setContainerStartup',
        'isReadinessStale',
        'removeOrphanedStatuses',
        'beginAnew',
      ],
      generatePodStatus: 'function',
      volumes: [
        'start',
        'makePodDataDirs',
        'waitForAttachAndMount',
        'waitForUnmount',
        'podVolumesExist',
        'cleanupOrphanedPodDirs',
      ],
      containerGc: ['garbageCollect', 'deleteContainersInPod'],
      admitHandlers: 'list',
      services: 'list',
      runtimeDependentServices: 'list',
    });
    const withCommon = withDefaults(given);
    const journal = given.journal ?? new PodJournal(withCommon);
    const dependencies = { allocation: noAllocation, ...withCommon, journal };
    const { clock, logger, pleg } = dependencies;
    this.#deps = dependencies;
    this.#options = {
      syncPeriodMs: 1000,
      housekeepingPeriodMs: 2000,
      runtimeStatusPeriodMs: 5000,
      runtimeUpThresholdMs: 30_000,
      containerGcPeriodMs: 60_000,
      imageGcPeriodMs: 300_000,
      syncFrequencyMs: 60_000,
      ...asked,
    };
    this.#runtimeState = new RuntimeState(clock, this.#options.runtimeUpThresholdMs);
    this.#runtimeWatch = new RuntimeWatch(dependencies, this.#runtimeState);
    this.#runtimeState.addHealthCheck('PLEG', () => pleg.healthy());
    const groups = new PodGroups({ ...dependencies, activePods: () => this.#handler.activePods() });
    const syncAgain = (uid: string): void => this.syncPods([uid]);
    this.#syncer = new KubeletPodSyncer({ ...dependencies, runtimeState: this.#runtimeState, groups, syncAgain });
    const syncer = this.#syncer;
    this.#loop = new SyncLoop(clock, logger, this.#runtimeState);
    this.#workers = dependencies.podWorkers(
      {
        syncPod: (...args) => this.#noticed(syncer.syncPod(...args), ({ idle }) => idle === true),
        syncTerminatingPod: (...args) => this.#noticed(syncer.syncTerminatingPod(...args)),
        syncTerminatingRuntimePod: (...args) => this.#noticed(syncer.syncTerminatingRuntimePod(...args)),
        syncTerminatedPod: (...args) => {
          // It holds nothing of the node any more.
          this.#handler.retryResizes('pod_terminated');
          return this.#noticed(syncer.syncTerminatedPod(...args));
        },
      },
      { passed: (signal) => this.#gate(signal) },
    );
    this.#handler = new SyncHandler({ ...dependencies, workers: this.#workers, groups });
    this.#housekeeper = new Housekeeper({ ...dependencies, handler: this.#handler, groups });
    const syncPods = (uids: readonly string[]): void => this.syncPods(uids);
    this.#events = new PodEvents({ ...dependencies, workers: this.#workers, syncPods });
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
    const loop = this.#loop;
    try {
      await allocation.load(signal);
    } catch (err) {
      if (signal.aborted) return;
      throw err;
    }
    // One that falls over by itself ends them all: a kubelet without it would look alive.
    const group = new TaskGroup(signal);
    const startRuntimeDependent = (): void => {
      group.add((ending) => pleg.start(ending));
      for (const service of runtimeDependentServices) group.add((ending) => runService(service, ending));
    };
    group.add((ending) => this.#runtimeWatch.run(runtimeStatusPeriodMs, startRuntimeDependent, ending));
    group.add((ending) => this.#workers.start(ending));
    group.add((ending) => volumes.start(ending));
    for (const service of services) group.add((ending) => runService(service, ending));
    // What is wanted is taken in at once: held back until the runtime is healthy again, it would be old by then (P6).
    // Only the first time it waits, for who ran before this kubelet is admitted before who is new (N1).
    const whenever = { always: true };
    group.add((ending) =>
      loop.consume('config', podConfig.updates, (update) => this.#handleUpdate(update, ending), ending, whenever),
    );
    group.add((ending) => this.#endEarlyRemoved(ending));
    const onPlegEvent = (event: PodLifecycleEvent): void => {
      this.#housekeeper.due();
      this.#events.changed(event);
      this.#syncer.containersChanged(event.podUid);
    };
    group.add((ending) => loop.consume('pleg', pleg.events, onPlegEvent, ending));
    if (probes !== undefined) {
      const onProbed = (update: ProbeUpdate): void => this.#events.probed(update);
      group.add((ending) => loop.consume('probe', probes.updates, onProbed, ending, whenever));
    }
    const syncPastDeadline = (): void => this.#handler.handlePodSyncs(this.#handler.podsPastDeadline());
    group.add((ending) => loop.tick('sync', syncPeriodMs, syncPastDeadline, ending));
    group.add((ending) => loop.tick('resize', RESIZE_CHECK_MS, () => this.#handler.retryOverdueResizes(), ending));
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

  listenAndServePodResources(signal: AbortSignal): Promise<void> {
    return this.#serve('podResources', signal);
  }

  /** What is wrong, as `/healthz` and the node's Ready condition show it. */
  health(): KubeletHealth {
    const last = this.#loop.lastEntryMs;
    const nowMs = this.#deps.clock.monotonic();
    const idleMs = last === undefined ? 0 : nowMs - last;
    const errors = [...this.#runtimeState.errors()];
    const { silence } = this.#runtimeState;
    // Upstream's words say that the runtime is away; whoever asks for the runtime's health has to know why.
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
    await this.#runtimeWatch.look(signal);
  }

  /** The runtime has a pod's sandbox and its network up, while it goes on with the pod's sync. */
  onPodSandboxReady(pod: Pod): void {
    this.#syncer.sandboxReady(pod);
  }

  /** The pods that hold resources of the node, with what they were granted (N1). */
  activePods(): readonly Pod[] {
    return this.#handler.activePods();
  }

  /** The pods about whose admission nothing is decided, the oldest first: what others give up for them is theirs (N1). */
  applicants(): readonly Pod[] {
    return this.#handler.applicants();
  }

  /** Pods that are to be looked at again, as something about them was decided. */
  syncPods(uids: readonly string[]): void {
    this.#handler.handlePodSyncs(uids.flatMap((uid) => this.#deps.podManager.getPodByUid(uid) ?? []));
  }

  /** All pods that this node should run, with the newest status that is known of each. */
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

  /** The pods of which anything runs, as the runtime lists them right now. */
  async getRunningPods(signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    return (await this.#deps.runtime.getPods(signal)).filter(mayRun);
  }

  /** What a pod waits for, since when, and what happened before; `undefined` where no such pod is known. */
  explain(namespace: string, name: string): PodExplanation | undefined {
    const pod = this.#deps.podManager.getPodByName(namespace, name);
    if (pod === undefined) return undefined;
    const { uid } = pod.metadata;
    return explainPod(this.#withStatus(pod), {
      nowMs: this.#deps.clock.now(),
      noted: this.#deps.journal.steps(uid),
      undecided: this.#handler.isUndecided(uid),
      isEnding: this.#workers.isPodTerminationRequested(uid),
      worker: this.#workers.explain(uid),
      probes: this.#deps.probes?.explain(uid) ?? [],
      evictions: this.#deps.eviction?.explainPod(uid) ?? [],
      runtimeStatus: this.#deps.podCache.get(uid)?.status,
      runtimeErrors: this.#runtimeState.errors(),
      networkError: this.#runtimeState.networkError(),
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
    if (make === undefined) throw new KubeletError('NoServer', `this kubelet was given no ${name} server`);
    await runService(make(this), signal);
  }

  async #gate(signal: AbortSignal): Promise<void> {
    if (!(await this.#loop.runtimeHealthy(signal))) signal.throwIfAborted();
  }

  #withStatus(pod: Pod): Pod {
    const status = this.#deps.status.getPodStatus(pod.metadata.uid);
    return status === undefined ? pod : { ...pod, status };
  }

  async #handleUpdate({ op, source, pods }: PodUpdate, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    logger.debug({ op, source, pods: pods.map((pod) => pod.metadata.name) }, 'Sync loop update');
    this.#housekeeper.due();
    const handler = this.#handler;
    const isAddition = op === 'ADD' || op === 'SET';
    const handle = (portion: readonly Pod[]): void => {
      if (isAddition) handler.handlePodAdditions(portion, signal);
      else if (op === 'UPDATE' || op === 'DELETE') handler.handlePodUpdates(portion);
      else if (op === 'REMOVE') handler.handlePodRemoves(portion);
      else handler.handlePodReconcile(portion);
    };
    await inPortions(isAddition ? handler.inAdmissionOrder(pods) : pods, handle, clock, signal);
  }

  /** Whoever is removed after all sources have spoken is ended at once; whoever was before, as soon as they have (F1). */
  async #endEarlyRemoved(signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.podConfig.allSourcesSeen(signal);
    } catch (err) {
      if (signal.aborted) return;
      throw err;
    }
    // Housekeeping would end them, too, but only once the runtime has listed its pods: their workers must not go on until then (P6).
    this.#handler.early.endAll();
    this.#handler.retryResizes('pods_added');
  }

  /** What a worker did may be something for housekeeping, whether or not it went well; not what found nothing to do. */
  async #noticed<T>(work: Promise<T>, didNothing: (result: T) => boolean = () => false): Promise<T> {
    let nothing = false;
    try {
      const result = await work;
      nothing = didNothing(result);
      return result;
    } finally {
      if (!nothing) this.#housekeeper.due();
    }
  }
}
