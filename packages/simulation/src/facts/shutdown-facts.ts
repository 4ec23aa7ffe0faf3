import type { Observation } from '../observation.ts';
import { CRITICAL_PRIORITY } from '../scenario/manifest.ts';
import type { PodPlan } from '../scenario/plans.ts';
import type { ShutdownPlan } from '../scenario/shutdown-plans.ts';
import type { Facts } from './facts.ts';

/** Reason in the status of a pod that was terminated for a shutdown. */
export const SHUTDOWN_REASON = 'Terminated';
/** Reason for the rejection of a pod during a shutdown. */
export const REFUSAL_REASON = 'NodeShutdown';
/** Pods with this or a higher priority are critical. */
const CRITICAL_FROM = 2_000_000_000;

/** Grace period for the pods with at least this priority, up to the next higher priority in the list. */
export interface Period {
  readonly priority: number;
  readonly graceSeconds: number;
}

/**
 * Returns the grace periods of a plan in ascending order of priority. The function is implemented from the
 * documentation, independently of the tested code.
 */
export function periodsOf({ total, byPriority }: ShutdownPlan): readonly Period[] {
  if (byPriority !== undefined) return byPriority.toSorted((a, b) => a.priority - b.priority);
  const { graceSeconds, criticalSeconds } = total ?? { graceSeconds: 0, criticalSeconds: 0 };
  return [
    { priority: 0, graceSeconds: graceSeconds - criticalSeconds },
    { priority: CRITICAL_FROM, graceSeconds: criticalSeconds },
  ];
}

/** Returns the index of the period that applies to a pod. */
export function groupOf(periods: readonly Period[], pod: PodPlan | undefined): number {
  const priority = pod?.critical ? CRITICAL_PRIORITY : (pod?.priority ?? 0);
  return Math.max(
    0,
    periods.findLastIndex((period) => period.priority <= priority),
  );
}

/**
 * Shutdowns that logind has announced, the shutdowns that the kubelet knows, and the pods that the kubelet has
 * terminated for a shutdown.
 */
export class ShutdownFacts {
  /** Whether a shutdown is announced, and the time at which this last changed: -1 before the first announcement. */
  isSaid = false;
  saidAtMs = -1;
  /**
   * Whether the running kubelet knows about the shutdown, and the time at which the kubelet last learned of a change:
   * -1 before the first one.
   */
  isHeard = false;
  heardAtMs = -1;
  /** Whether any kubelet has ever learned of a shutdown. */
  everHeard = false;
  busUp = true;
  busChangedAtMs = -1;
  /** Number of inhibitor locks. */
  locks = 0;
  lockChangedAtMs = -1;
  /** Whether the running kubelet has ever held a lock. */
  hasWatched = false;
  /**
   * UIDs of the pods that the running kubelet must terminate for the shutdown: pods that were running and wanted when
   * the kubelet learned of the shutdown.
   */
  due: readonly string[] = [];
  readonly #toldAtMs = new Map<string, number>();
  readonly #everTold = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #everEnded = new Set<string>();
  readonly #stoppedAtMs = new Map<string, number>();

  /**
   * Reports whether the pod was terminated or rejected for a shutdown, so that no invariant may require the pod to run.
   * The next kubelet starts static pods again.
   */
  wasEnded(uid: string): boolean {
    return this.#ended.has(uid);
  }

  /**
   * Reports whether any kubelet terminated or rejected the pod for a shutdown, also an earlier kubelet, unlike
   * {@link wasEnded}. A kubelet's decision about a static pod is lost with the kubelet, and the next kubelet may start
   * the pod again.
   */
  wasEverEnded(uid: string): boolean {
    return this.#everEnded.has(uid);
  }

  /** Reports whether any kubelet has ever terminated the pod for a shutdown. */
  wasTold(uid: string): boolean {
    return this.#everTold.has(uid);
  }

  /**
   * Time at which the running kubelet first started to terminate the pod for a shutdown; `undefined` if the kubelet has
   * not.
   */
  toldAtMs(uid: string): number | undefined {
    return this.#toldAtMs.get(uid);
  }

  /** Time at which the last container of the pod exited; -1 if no container has. */
  stoppedAtMs(uid: string): number {
    return this.#stoppedAtMs.get(uid) ?? -1;
  }

  observe(observation: Observation, facts: Facts): void {
    const { atMs } = observation;
    switch (observation.kind) {
      case 'kubeletStarted':
        this.#hear(false, atMs, facts);
        this.everHeard = false;
        this.hasWatched = false;
        this.#toldAtMs.clear();
        for (const uid of this.#ended) if (!facts.pods.isApiPod(uid)) this.#ended.delete(uid);
        return;
      case 'shutdownSaid':
        this.isSaid = observation.isShuttingDown;
        this.saidAtMs = atMs;
        return;
      case 'shutdownHeard':
        if (observation.isShuttingDown !== this.isHeard) this.#hear(observation.isShuttingDown, atMs, facts);
        return;
      case 'bus':
        this.busUp = observation.up;
        this.busChangedAtMs = atMs;
        return;
      case 'lock':
        this.locks = observation.held;
        this.lockChangedAtMs = atMs;
        if (observation.how === 'taken') this.hasWatched = true;
        return;
      case 'containerEnded':
        this.#stoppedAtMs.set(observation.life.podUid, atMs);
        return;
      case 'stepBegan':
        if (observation.reason !== SHUTDOWN_REASON) return;
        this.#end(observation.uid);
        this.#everTold.add(observation.uid);
        if (!this.#toldAtMs.has(observation.uid)) this.#toldAtMs.set(observation.uid, atMs);
        return;
      case 'podRefused':
        if (observation.reason === REFUSAL_REASON) this.#end(observation.uid);
        return;
      default:
    }
  }

  #end(uid: string): void {
    this.#ended.add(uid);
    this.#everEnded.add(uid);
  }

  #hear(isShuttingDown: boolean, atMs: number, facts: Facts): void {
    this.isHeard = isShuttingDown;
    this.heardAtMs = atMs;
    this.everHeard ||= isShuttingDown;
    const running = new Set(facts.lives.running.map(({ podUid }) => podUid));
    if (isShuttingDown) for (const uid of inLine(facts)) this.#end(uid);
    this.due = isShuttingDown ? [...running].filter((uid) => isDue(uid, facts)) : [];
  }
}

/** Returns static pods that wait for another pod of the same name. A shutdown terminates these pods without any run. */
function inLine(facts: Facts): readonly string[] {
  const { pods } = facts;
  return [...pods.wanted.values()].flatMap(({ uid, name }) => {
    const began = facts.isKnownToKubelet(uid) && pods.lastUnwantedAtMs(uid) < facts.syncBeganAtMs(uid);
    const waits = !pods.isApiPod(uid) && !began;
    return waits && pods.knownUids.some((one) => one !== uid && pods.planOf(one)?.name === name) ? [uid] : [];
  });
}

/** Reports whether a kubelet that learns of a shutdown now must know that the pod should be running. */
function isDue(uid: string, facts: Facts): boolean {
  const { pods } = facts;
  if (!facts.isKnownToKubelet(uid) || !pods.wanted.has(uid) || pods.isUnsure(uid)) return false;
  const syncBeganAtMs = facts.syncBeganAtMs(uid);
  return Number.isFinite(syncBeganAtMs) && pods.lastUnwantedAtMs(uid) < syncBeganAtMs;
}
