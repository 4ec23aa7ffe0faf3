import type { InjectedFault } from '@node-agent/fake-cri';
import { type Logger, silentLogger } from '@node-agent/telemetry';
import { describe } from './describe.ts';
import { Facts } from './facts/facts.ts';
import { allInvariants } from './invariants/all.ts';
import { claimLeft } from './invariants/claims.ts';
import { unconverged } from './invariants/convergence.ts';
import type { Invariant, InvariantId, Watch } from './invariants/invariant.ts';
import { kept } from './invariants/node.ts';
import { heldByNobody } from './invariants/numa.ts';
import { leftOverVolume } from './invariants/volumes.ts';
import { type Decorations, SimulatedNode } from './node/simulated-node.ts';
import type { ClusterLook, Happening, LastLook, Observation, VolumesLook } from './observation.ts';
import { endFaults, perform } from './perform.ts';
import type { Action, Scenario } from './scenario/actions.ts';
import { uniqueName } from './scenario/volume-objects.ts';
import { Statuses } from './statuses.ts';
import { TraceHash } from './trace-hash.ts';
import { containersText } from './world/cluster-api.ts';
import { mountedObjects } from './world/mounted-objects.ts';
import { volumesOf } from './world/volumes-of.ts';
import { World } from './world/world.ts';

/** A broken invariant. */
export interface Violation {
  readonly invariant: InvariantId;
  readonly message: string;
  /** Virtual time of the violation since the start of the run, in milliseconds. */
  readonly atMs: number;
  /** The last trace lines before the violation, newest last. */
  readonly history: readonly string[];
}

/** Result of a run. */
export interface SimulationResult {
  readonly scenario: Scenario;
  readonly violation: Violation | undefined;
  /** Number of injected faults by kind. */
  readonly faults: ReadonlyMap<string, number>;
  /** Number of judgements by invariant. */
  readonly checks: ReadonlyMap<InvariantId, number>;
  /** Hash of the whole trace, which is always the same for a scenario. */
  readonly traceHash: string;
  /** Virtual time of the run. */
  readonly elapsedMs: number;
}

/** Options of {@link simulate}. */
export interface SimulateOptions {
  /** Changes of the ports between the kubelet and the world. Default: none. */
  readonly decorations?: Decorations;
  /** The invariants to check. Default: all. */
  readonly invariants?: readonly Invariant[];
  /** Receives the kubelet's log. Default: the log is discarded. */
  readonly logger?: Logger;
  /** Called with each trace line when it is observed. */
  readonly onObservation?: (text: string) => void;
}

interface OneWatch {
  readonly id: InvariantId;
  readonly kinds: Invariant['kinds'];
  readonly watch: Watch;
}

const HISTORY = 60;
/**
 * Limit of timers that fire in a run. The limit exceeds what the longest runs need: about 17 timers per second for an
 * hour without an API server.
 */
const MAX_STEPS = 100_000;
/** Timers that may fire in addition per second of virtual time, because probes go on in outages of an hour. */
const MORE_STEPS_PER_SECOND = 30;
const MAX_STEPS_AT_ONCE = 2000;
const LOOK_PERIOD_MS = 5000;
/** A run ends early after this number of consecutive samples with the desired state. */
const QUIET_LOOKS = 4;

/**
 * Runs a scenario to its end, or until an invariant is broken. Does no I/O. The same scenario gives the same result.
 * @throws if the check of an invariant throws
 */
export async function simulate(scenario: Scenario, options: SimulateOptions = {}): Promise<SimulationResult> {
  return new Run(scenario, options).run();
}

class Run {
  readonly #scenario: Scenario;
  readonly #options: SimulateOptions;
  readonly #world: World;
  readonly #node: SimulatedNode;
  readonly #facts: Facts;
  readonly #watches: readonly OneWatch[];
  /**
   * The invariants by the kind of observation that they check. Most observations are calls that no invariant checks.
   */
  readonly #watchesOf = new Map<Observation['kind'], OneWatch[]>();
  readonly #hash = new TraceHash();
  readonly #history: string[] = [];
  readonly #faults = new Map<string, number>();
  readonly #statuses = new Statuses();
  #violation: Violation | undefined;
  /** The first error that a check threw, which ends the run. */
  #failure: Error | undefined;
  #quietLooks = 0;
  /** The last known `volumesInUse` of the API's node. */
  #inUse: readonly string[] | undefined;
  /**
   * Time at which the last hanging runtime call ends, among the calls that a fault made hang before the faults ended.
   */
  #hangUntilMs = 0;
  #steps = 0;
  #stepsNow = 0;
  #lastStepMs = 0;

  constructor(scenario: Scenario, options: SimulateOptions) {
    this.#scenario = scenario;
    this.#options = options;
    this.#facts = new Facts(scenario.node);
    this.#watches = (options.invariants ?? allInvariants).map(({ id, kinds, watch }) => ({
      id,
      kinds,
      watch: watch(),
    }));
    for (const one of this.#watches) {
      for (const kind of one.kinds) this.#watchesOf.set(kind, [...(this.#watchesOf.get(kind) ?? []), one]);
    }
    const tell = (happening: Happening): void => this.#tell(happening);
    this.#world = new World(
      scenario.seed,
      scenario.node,
      (kind, life) => tell({ kind, life }),
      (request) => {
        const shown = request.uid === undefined ? undefined : this.#world.api?.podOf(request.uid);
        const paths = request.verb === 'delete' ? this.#world.fs.paths() : [];
        tell({ kind: 'apiRequest', request, shown, paths, groups: this.#world.cgroups?.podUids ?? [] });
        this.#tellInUse();
      },
      (uid) => tell({ kind: 'groupRemoved', uid, volumes: volumesOf(uid, this.#world.fs.paths()) }),
      {
        said: (isShuttingDown) => tell({ kind: 'shutdownSaid', isShuttingDown }),
        bus: (up) => tell({ kind: 'bus', up }),
        lock: (how, held) => tell({ kind: 'lock', how, held }),
      },
      (hook) => tell({ kind: 'hookBegan', hook }),
      ({ target, source }) => tell({ kind: 'mount', target, source }),
      (life) => tell({ kind: 'preStopBegan', life }),
      (call, phase, code) => {
        const name = uniqueName({ driver: call.driver, name: call.volume });
        const reported = this.#world.api?.volumesInUse?.includes(name) ?? false;
        tell({ kind: 'csiCall', call, phase, code, reported });
      },
      (volume, attached) => tell({ kind: 'attachment', volume, attached }),
      (claim, call, phase) => tell({ kind: 'claimCall', claim, call, phase }),
    );
    this.#world.api?.server.faults.onFault(({ fault }) => this.#count(`api ${fault.kind}`));
    this.#world.runtime.faults.onFault((injected) => this.#countFault(injected));
    const { logger = silentLogger, decorations = {} } = options;
    this.#node = new SimulatedNode({ world: this.#world, logger, tell, decorations }, scenario.seed, scenario.node);
  }

  async run(): Promise<SimulationResult> {
    const { actions, faultsEndMs, quietMs } = this.#scenario;
    const { clock } = this.#world;
    await this.#world.prepare();
    const stage = { world: this.#world, node: this.#node, tell: (it: Happening) => this.#tell(it) };
    for (const action of actions) clock.setTimer(action.atMs, () => this.#act(action, stage));
    let over = false;
    let lookDue = false;
    const lookFromTimeToTime = (): void => {
      lookDue = true;
      clock.setTimer(LOOK_PERIOD_MS, lookFromTimeToTime);
    };
    lookFromTimeToTime();
    clock.setTimer(faultsEndMs, () => {
      endFaults(stage);
      this.#tell({ kind: 'faultsEnded' });
    });
    clock.setTimer(faultsEndMs + quietMs, () => {
      over = true;
    });
    this.#node.start();
    await clock.settle();
    while (!over && !this.#hasEnded && (await clock.fireNext())) {
      this.#afterStep();
      this.#countStep();
      if (!lookDue) continue;
      lookDue = false;
      await this.#health();
      // After the faults have ended, the run ends early once the state has equaled the desired state for some time.
      if (this.#facts.faultsEnded) over = await this.#isQuiet();
    }
    if (!this.#hasEnded) this.#tell({ kind: 'end', look: await this.#look() });
    const elapsedMs = clock.monotonic();
    this.#node.kill('cancelled');
    if (this.#failure !== undefined) throw this.#failure;
    return {
      scenario: this.#scenario,
      violation: this.#violation,
      faults: this.#faults,
      checks: this.#checks(),
      traceHash: this.#hash.digest(),
      elapsedMs,
    };
  }

  get #hasEnded(): boolean {
    return this.#violation !== undefined || this.#failure !== undefined;
  }

  #act(action: Action, stage: Parameters<typeof perform>[1]): void {
    this.#tell({ kind: 'action', action });
    if (action.do !== 'rpcFault' && action.do !== 'eventFault') this.#count(action.do);
    void perform(action, stage);
  }

  #afterStep(): void {
    this.#node.poll();
    for (const status of this.#statuses.changed(this.#node)) this.#tell({ kind: 'status', status });
    this.#tell({ kind: 'settled' });
  }

  /**
   * K4: counts a timer, and reports a violation if too many timers fire in an instant or in a run, as in an endless
   * loop.
   */
  #countStep(): void {
    const nowMs = this.#world.clock.monotonic();
    this.#stepsNow = nowMs === this.#lastStepMs ? this.#stepsNow + 1 : 0;
    this.#lastStepMs = nowMs;
    const most = MAX_STEPS + (nowMs / 1000) * MORE_STEPS_PER_SECOND;
    if (++this.#steps > most || this.#stepsNow > MAX_STEPS_AT_ONCE) {
      this.#violate('K4', `node does not come to rest after ${this.#steps} timers`);
    }
  }

  #tellInUse(): void {
    const { api, csi } = this.#world;
    if (api === undefined || csi === undefined) return;
    const names = api.volumesInUse;
    if (names?.join() === this.#inUse?.join()) return;
    this.#inUse = names;
    this.#tell({ kind: 'volumesInUse', names });
  }

  #volumesLook(): VolumesLook | undefined {
    const { api, csi, attacher, loops } = this.#world;
    if (api === undefined || csi === undefined) return undefined;
    const { staged, published } = csi;
    const attached = attacher?.attached ?? [];
    return { staged, published, attached, inUse: api.volumesInUse ?? [], loops: loops.paths, sizes: api.volumeSizes() };
  }

  #violate(invariant: InvariantId, message: string): void {
    const atMs = this.#world.clock.monotonic();
    this.#violation ??= { invariant, message, atMs, history: [...this.#history] };
  }

  #checks(): ReadonlyMap<InvariantId, number> {
    const checks = new Map<InvariantId, number>();
    for (const { id, watch } of this.#watches) checks.set(id, (checks.get(id) ?? 0) + watch.checks);
    return checks;
  }

  async #health(): Promise<void> {
    const kubelet = this.#node.kubelet?.kubelet;
    if (kubelet === undefined) return;
    const podUids = kubelet.getPods().map((pod) => pod.metadata.uid);
    this.#tell({ kind: 'health', runtime: kubelet.health().runtime, podUids, cluster: await this.#clusterLook() });
  }

  async #clusterLook(): Promise<ClusterLook | undefined> {
    const { api, fs } = this.#world;
    if (api === undefined) return undefined;
    const said = (this.#node.kubelet?.status.getStatuses() ?? []).map(({ pod, status }) => ({
      uid: pod.metadata.uid,
      phase: status.phase,
      containers: containersText(status),
    }));
    const mounted = await mountedObjects(fs);
    const { registered, memoryPressure, ready } = api;
    return { registered, memoryPressure, ready, shown: api.pods(), said, mounted };
  }

  async #isQuiet(): Promise<boolean> {
    if (this.#world.clock.monotonic() < this.#hangUntilMs) return false;
    const look = await this.#look();
    const isDue =
      unconverged(this.#facts, look) === undefined &&
      kept(this.#facts, look) === undefined &&
      leftOverVolume(this.#facts, look) === undefined &&
      heldByNobody(this.#facts) === undefined &&
      claimLeft(this.#facts) === undefined;
    const converged = isDue && !this.#facts.pods.someAreUnsure;
    this.#quietLooks = converged ? this.#quietLooks + 1 : 0;
    return this.#quietLooks > QUIET_LOOKS;
  }

  async #look(): Promise<LastLook> {
    const { fs, mounter } = this.#world;
    const [truth, mountPoints] = await Promise.all([this.#world.truth(), mounter.mountPoints()]);
    const kubelet = this.#node.kubelet;
    let paths: readonly string[] | undefined;
    return {
      ...truth,
      groups: this.#world.cgroups?.podUids ?? [],
      // The paths are read lazily, because few observers use them and there may be thousands of paths.
      get paths() {
        paths ??= fs.paths();
        return paths;
      },
      mountPoints: [...mountPoints.keys()],
      kubeletTimers: this.#node.pendingTimers,
      cluster: await this.#clusterLook(),
      volumes: this.#volumesLook(),
      cachedUids: this.#facts.pods.knownUids.filter((uid) => kubelet?.podCache.get(uid) !== undefined),
    };
  }

  #tell(happening: Happening): void {
    if (this.#hasEnded) return;
    const observation: Observation = { ...happening, atMs: this.#world.clock.monotonic(), kubelet: this.#node.lives };
    const text = describe(observation);
    if (text !== undefined) {
      this.#hash.add(text);
      this.#history.push(text);
      if (this.#history.length > HISTORY) this.#history.shift();
      this.#options.onObservation?.(text);
    }
    let checked = 'facts';
    try {
      this.#facts.observe(observation);
      for (const { id, watch } of this.#watchesOf.get(observation.kind) ?? []) {
        checked = id;
        const wrong = watch.look(observation, this.#facts);
        if (wrong === undefined) continue;
        this.#violate(id, wrong);
        return;
      }
    } catch (error) {
      // Not thrown here: the observed component would take the error for a failure of its own call.
      this.#failure = new Error(`check ${checked} on observation ${observation.kind}`, { cause: error });
    }
  }

  #countFault({ target, fault }: InjectedFault): void {
    this.#count(target === 'event' ? `event ${fault.kind}` : `rpc ${fault.kind}`);
    if (target !== 'event' && fault.kind === 'delay') this.#tell({ kind: 'callHangs', forMs: fault.delayMs });
    // The caller waits until the call times out, although the runtime completes the call.
    if (fault.kind === 'lateSuccess') this.#tell({ kind: 'callHangs', forMs: fault.timeoutMs ?? 0 });
    if (fault.kind !== 'hang') return;
    const forMs = fault.timeoutMs ?? 0;
    this.#hangUntilMs = Math.max(this.#hangUntilMs, this.#world.clock.monotonic() + forMs);
    this.#tell({ kind: 'callHangs', forMs });
  }

  #count(kind: string): void {
    this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1);
  }
}
