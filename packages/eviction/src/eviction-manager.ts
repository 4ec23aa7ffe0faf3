import { checkComponents, checkOptions, linkAbort, StartOnce, sleep, untilNextMs } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type CommonPorts, errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { admitUnderPressure, type PressureVerdict } from './admit.ts';
import { Aside, LANES, type Lane, laneOf } from './aside.ts';
import { bear, bearing } from './bearing.ts';
import { Decisions, type EvictionDecision, observationView } from './decisions.ts';
import { DiskInquiry } from './disk-inquiry.ts';
import { type DiskLayout, withContainerFs } from './disk-layout.ts';
import { Evictor } from './evictor.ts';
import type { EvictionExplanation, Pressure } from './explanation.ts';
import type { Gauge } from './headroom.ts';
import { HeadroomWatch } from './headroom-watch.ts';
import { hasStorageLimit } from './local-storage.ts';
import type { Observations } from './observations.ts';
import { checkValues, type EvictionOptions, withOptionDefaults } from './options.ts';
import type { EvictionDisks, EvictionDiskUsage, EvictionPods, EvictionReclaim, EvictionStats } from './ports.ts';
import {
  conditionsIn,
  isMetBy,
  NO_PRESSURE,
  nextPressure,
  type PressureState,
  seenMeanwhile,
  staleness,
} from './pressure.ts';
import { Relief } from './relief.ts';
import { conditionOf, type PressureCondition } from './signals.ts';
import { type Figures, Statistics } from './statistics.ts';
import { endOverLimits, overStorageLimits } from './storage-limits.ts';
import { formatThreshold, type Threshold } from './threshold.ts';

/** What an {@link EvictionManager} works with. */
export interface EvictionComponents extends Partial<CommonPorts> {
  readonly pods: EvictionPods;
  readonly stats: EvictionStats;
  readonly disks: EvictionDisks;
  readonly reclaim: EvictionReclaim;
  /** Default: what the statistics say of volumes and writable layers is taken as it is. */
  readonly diskUsage?: EvictionDiskUsage;
  /** Looked at between two rounds, so that a threshold is noticed when it is crossed; without any of a signal the next round does it. */
  readonly gauges?: readonly Gauge[];
  /** Called when {@link EvictionManager.pressure} is another one. */
  readonly onPressureChanged?: () => void;
}

const ONE_DISK: DiskLayout = { dedicatedImageFs: false, splitContainerFs: false };
/** How soon figures are asked for again where those that there are do not count. */
const RETRY_MS = 1000;
/**
 * How long who is short of memory waits for pods that are over limits of their own: they have a second to end, and may leave enough. One
 * that takes longer is not waited for.
 */
const OVER_LIMITS_PATIENCE_MS = 2000;

/**
 * Ends pods before the node runs out of something (`pkg/kubelet/eviction/eviction_manager.go`): one at a time, for fresh figures, after
 * dead containers and unused images, and chooses again when the victim is gone (N2).
 * Metrics: `kubelet_evictions{eviction_signal}`, `kubelet_eviction_stats_age_seconds{eviction_signal}`.
 */
export class EvictionManager {
  readonly #components: WithDefaults<EvictionComponents & CommonPorts>;
  readonly #options: Required<EvictionOptions>;
  readonly #statistics: Statistics;
  readonly #evictor: Evictor;
  readonly #watch: HeadroomWatch;
  readonly #decisions = new Decisions();
  readonly #aside = new Aside((signal) => this.#nextLook(signal));
  readonly #relief: Relief;
  readonly #inquiry: DiskInquiry;
  /** As of the beginning of this round. */
  #layout: DiskLayout | undefined;
  /** Ends the wait for the next look at the node. */
  #disksKnown: (() => void) | undefined;
  #thresholds: readonly Threshold[];
  #state: PressureState = NO_PRESSURE;
  #observations: Observations = new Map();
  /** Where something went on when this round began, or goes on: figures may be of before its end. */
  #busy: ReadonlySet<Lane> = new Set();
  /** Something is or may be to be done, and there were no figures fresh enough to do it by. */
  #isWaitingForFigures = false;
  /** The longest that the next look at the node may be away. */
  #patienceMs = Number.POSITIVE_INFINITY;
  /** Figures of before this instant of the wall clock know nothing of what was done last. */
  #staleUntilMs = 0;
  /** Why the last round came to nothing; `undefined` where it did not. */
  #failure: string | undefined;
  /** Which of the last figures count for nothing, and why. */
  #staleness: string | undefined;
  readonly #startOnce = new StartOnce('EvictionManager');

  /** @throws EvictionError `InvalidOptions`, naming the field */
  constructor(given: EvictionComponents, options: EvictionOptions) {
    checkOptions('EvictionManager', options, {
      nodeRef: 'object',
      thresholds: 'list',
      maxPodGracePeriodSeconds: 'number?',
      pressureTransitionMs: 'number?',
      localStorageCapacityIsolation: 'boolean?',
      monitoringPeriodMs: 'number?',
      statsTimeoutMs: 'number?',
      reclaimTimeoutMs: 'number?',
      podCleanupTimeoutMs: 'number?',
    });
    checkComponents('EvictionManager', given, {
      pods: ['active', 'isCritical', 'kill', 'isGone'],
      stats: ['summary'],
      disks: ['layout'],
      reclaim: ['deleteUnusedContainers', 'deleteUnusedImages'],
    });
    const common = withDefaults(given);
    const components = { ...common, recorder: bearing(common.recorder, common.logger) };
    this.#components = components;
    this.#options = withOptionDefaults(options);
    checkValues(this.#options);
    // Until it is known which disks there are, memory and process ids are looked after.
    this.#thresholds = options.thresholds.filter(({ signal }) => conditionOf(signal) !== 'DiskPressure');
    const { statsTimeoutMs, podCleanupTimeoutMs, monitoringPeriodMs } = this.#options;
    this.#statistics = new Statistics(components, { timeoutMs: statsTimeoutMs });
    const onAnswer = (): void => this.#disksKnown?.();
    this.#inquiry = new DiskInquiry({ ...components, onAnswer }, { timeoutMs: statsTimeoutMs });
    this.#evictor = new Evictor(components, { goneTimeoutMs: podCleanupTimeoutMs });
    this.#watch = new HeadroomWatch({ ...components, gauges: given.gauges ?? [] }, { maxMs: monitoringPeriodMs });
    const seen = (figures: Figures): void => this.#seeMeanwhile(figures);
    const parts = { statistics: this.#statistics, evictor: this.#evictor, decisions: this.#decisions };
    this.#relief = new Relief({ ...components, ...parts, aside: this.#aside, seen }, this.#options);
  }

  /** Watches the node until `signal` is aborted. What `pods` throw is logged, and costs a round; the next one is a second later. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const { thresholds, localStorageCapacityIsolation } = this.#options;
    if (thresholds.length === 0 && !localStorageCapacityIsolation) return;
    logger.info({ thresholds: thresholds.map(formatThreshold) }, 'Eviction manager: starting control loop');
    this.#staleUntilMs = clock.now();
    try {
      while (!signal.aborted) {
        try {
          const hasEvicted = await this.#round(signal);
          this.#failure = undefined;
          if (hasEvicted) this.#staleUntilMs = clock.now();
          else await this.#aside.wait(signal);
        } catch (err) {
          signal.throwIfAborted();
          this.#fail(err);
          await sleep(clock, RETRY_MS, signal);
        }
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      await Promise.all([this.#aside.ended(), this.#inquiry.ended()]);
    }
  }

  /** What the node is short of, for its conditions; each outlasts its cause by the transition period (N3). */
  pressure(): Pressure {
    const conditions = conditionsIn(this.#state);
    const has = (condition: PressureCondition): boolean => conditions.includes(condition);
    return { memory: has('MemoryPressure'), disk: has('DiskPressure'), pid: has('PIDPressure') };
  }

  /** Whether a pod may begin now. */
  admit(pod: Pod): PressureVerdict {
    return admitUnderPressure(pod, conditionsIn(this.#state));
  }

  /** What it sees, and what it did and why. */
  explain(): EvictionExplanation {
    const nowMs = this.#components.clock.monotonic();
    const problem = this.#failure ?? this.#inquiry.problem ?? this.#statistics.problem ?? this.#staleness;
    return {
      conditions: conditionsIn(this.#state),
      thresholds: this.#thresholds.map((threshold) => {
        const sinceMs = this.#state.firstMetAt.get(threshold);
        return {
          threshold: formatThreshold(threshold),
          ...observationView(this.#observations.get(threshold.signal)),
          met: sinceMs !== undefined,
          ...(sinceMs !== undefined && { metForMs: nowMs - sinceMs }),
        };
      }),
      ...(problem !== undefined && { problem }),
      decisions: this.#decisions.all(),
    };
  }

  /** The decisions in which a pod had a place, or was evicted; the newest last. */
  explainPod(uid: string): readonly EvictionDecision[] {
    return this.#decisions
      .all()
      .filter(({ evicted, ranked }) => evicted === uid || ranked.some((place) => place.uid === uid));
  }

  /** Resolves when there is a reason to look at the node again. */
  async #nextLook(signal: AbortSignal): Promise<void> {
    const soonMs = this.#isWaitingForFigures ? RETRY_MS : this.#patienceMs;
    const nextMs = untilNextMs(this.#components.clock.monotonic(), this.#options.monitoringPeriodMs);
    if (this.#layout === undefined && this.#inquiry.layout !== undefined) return;
    using link = linkAbort(signal);
    const disksKnown = Promise.withResolvers<undefined>();
    this.#disksKnown = () => disksKnown.resolve(undefined);
    const looks = [
      this.#watch.crossed(Math.min(nextMs, this.#graceEndsInMs(), soonMs), link.signal),
      disksKnown.promise,
    ];
    const crossed = await Promise.race(looks).finally(() => link.abort());
    if (crossed === undefined) return;
    this.#isWaitingForFigures = true;
    this.#components.logger.info({ signal: crossed }, 'Eviction manager: a threshold seems to be crossed');
  }

  /** N2: what was measured until now may know nothing of what was done. Each failure is told once, for as long as it lasts. */
  #fail(err: unknown): void {
    const { clock, logger } = this.#components;
    const failure = `a round has failed: ${errorText(err)}`;
    if (failure !== this.#failure)
      logger.error({ err }, 'Eviction manager: a round has failed, the next one comes soon');
    this.#failure = failure;
    this.#staleUntilMs = clock.now();
  }

  /** One look at the node, and what it leads to. @returns whether a pod was evicted */
  async #round(signal: AbortSignal): Promise<boolean> {
    this.#evictor.look();
    this.#lookAside();
    const layout = this.#disks(signal);
    const figures = await this.#measure(signal);
    if (figures === undefined) return false;
    const actionable = this.#see(figures);
    if (layout !== undefined && (await this.#keepStorageLimits(figures, actionable, signal))) return true;
    let newest = figures;
    for (const threshold of actionable) {
      // N2: figures of before the wait would be old ones.
      if (this.#aside.isLookDue) return false;
      const lane = laneOf(threshold.signal);
      if (this.#busy.has(lane)) {
        this.#relief.hurry(threshold, signal);
        continue;
      }
      // What helped against one may have helped against the other.
      if (newest !== figures && !isMetBy(threshold, newest.observations, true)) continue;
      const { outcome, after } = await this.#relief.relieve(threshold, actionable, newest, layout ?? ONE_DISK, signal);
      if (outcome === 'under way') this.#busy = new Set([...this.#busy, lane]);
      this.#isWaitingForFigures ||= outcome === 'unknown' || outcome === 'settling';
      if (outcome === 'unknown' || outcome === 'evicted') return outcome === 'evicted';
      newest = after;
    }
    return false;
  }

  /** N2: what was measured before the end of what went on aside knows nothing of it. */
  #lookAside(): void {
    const busy = new Set(LANES.filter((lane) => this.#aside.isUnderWay(lane)));
    if ([...this.#busy].some((lane) => !busy.has(lane))) this.#staleUntilMs = this.#components.clock.now();
    this.#busy = busy;
  }

  /** @returns whether pods were evicted, and are gone */
  async #keepStorageLimits(figures: Figures, actionable: readonly Threshold[], signal: AbortSignal): Promise<boolean> {
    if (!this.#options.localStorageCapacityIsolation || !figures.ofPods || this.#busy.has('disk')) return false;
    const parts = { ...this.#components, evictor: this.#evictor, decisions: this.#decisions };
    const over = overStorageLimits(parts, figures);
    if (over.length === 0) return false;
    if (actionable.some((threshold) => laneOf(threshold.signal) === 'node')) this.#patienceMs = OVER_LIMITS_PATIENCE_MS;
    const end = async (): Promise<void> => {
      await endOverLimits(parts, over, signal);
      this.#relief.podsEnded();
    };
    const hasEnded = await this.#aside.run('disk', end, signal);
    this.#patienceMs = Number.POSITIVE_INFINITY;
    if (!hasEnded) this.#busy = new Set([...this.#busy, 'disk']);
    return hasEnded;
  }

  /** Most of the time nobody has to be chosen or measured: then it is not found out what each pod takes. */
  #looksAtNodeAlone(): boolean {
    if (!this.#statistics.hasNodeAlone) return false;
    return !this.#options.localStorageCapacityIsolation || !this.#components.pods.active().some(hasStorageLimit);
  }

  /** The node, with its pods where one may have to be chosen at once. */
  async #measure(
    signal: AbortSignal,
    of: 'node' | 'pods' = this.#looksAtNodeAlone() ? 'node' : 'pods',
  ): Promise<Figures | undefined> {
    const readings = await this.#watch.read(this.#thresholds, signal);
    const figures = await this.#statistics.take(signal, of);
    if (figures === undefined) return undefined;
    // Those that count are the figures by which pods are chosen: these would make them old news.
    if (!figures.ofPods && this.#mayChoose(figures)) return await this.#measure(signal, 'pods');
    this.#watch.mark(readings, this.#thresholds, figures.observations);
    return figures;
  }

  /** For a disk pods are measured before something is removed, and after that: what a runtime tells of writable layers first may be old. */
  #mayChoose({ observations }: Figures): boolean {
    const met = this.#thresholds.filter((threshold) => isMetBy(threshold, observations, false));
    return met.length > 0 || this.#state.pressing.length > 0;
  }

  /** Takes in what the figures say of the node. @returns the thresholds for which something is to be done */
  #see(figures: Figures): readonly Threshold[] {
    const { observations, askedAtMs } = figures;
    // A clock that was set back makes nothing stale for ever.
    this.#staleUntilMs = Math.min(this.#staleUntilMs, askedAtMs);
    const input = {
      thresholds: this.#thresholds,
      observations,
      nowMs: this.#components.clock.monotonic(),
      staleUntilMs: this.#staleUntilMs,
      transitionMs: this.#options.pressureTransitionMs,
    };
    const step = nextPressure(this.#state, input);
    const { state, actionable } = step;
    this.#staleness = staleness(step, input);
    this.#observations = observations;
    this.#relief.settle(figures, [...state.firstMetAt.keys()]);
    this.#isWaitingForFigures = state.pressing.length > actionable.length;
    this.#remember(state);
    return actionable;
  }

  /** Tells where the node has other conditions by it than before. */
  #remember(state: PressureState): void {
    const before = conditionsIn(this.#state);
    this.#state = state;
    const conditions = conditionsIn(state);
    if (conditions.join() === before.join()) return;
    const { logger, onPressureChanged } = this.#components;
    logger.info({ conditions }, 'Eviction manager: the node has other conditions');
    if (onPressureChanged !== undefined) bear('onPressureChanged', onPressureChanged, logger);
  }

  #seeMeanwhile({ observations }: Figures): void {
    const nowMs = this.#components.clock.monotonic();
    this.#remember(seenMeanwhile(this.#state, { thresholds: this.#thresholds, observations, nowMs }));
  }

  /** N2: memory waits for no disk, nor for who knows which there are. */
  #disks(signal: AbortSignal): DiskLayout | undefined {
    if (this.#layout !== undefined) return this.#layout;
    this.#inquiry.ask(signal);
    const { layout } = this.#inquiry;
    if (layout === undefined) return undefined;
    const { thresholds, overridden } = withContainerFs(this.#options.thresholds, layout);
    if (overridden.length > 0) {
      this.#components.logger.warn(
        { signals: overridden },
        'Thresholds of containerfs are those of the disk that it is on: ignoring these',
      );
    }
    this.#layout = layout;
    this.#thresholds = thresholds;
    return layout;
  }

  /** How long until the first grace period under way is over. */
  #graceEndsInMs(): number {
    const nowMs = this.#components.clock.monotonic();
    const rest = [...this.#state.firstMetAt].map(([{ gracePeriodMs }, sinceMs]) => sinceMs + gracePeriodMs - nowMs);
    return Math.min(...rest.filter((ms) => ms > 0));
  }
}
