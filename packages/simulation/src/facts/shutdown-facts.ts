import type { Observation } from '../observation.ts';
import { CRITICAL_PRIORITY } from '../scenario/manifest.ts';
import type { PodPlan } from '../scenario/plans.ts';
import type { ShutdownPlan } from '../scenario/shutdown-plans.ts';
import type { Facts } from './facts.ts';

/** What the status of a pod gives as the reason that was ended for a shutdown. */
export const SHUTDOWN_REASON = 'Terminated';
/** Why a pod is refused while the machine shuts down. */
export const REFUSAL_REASON = 'NodeShutdown';
/** From this priority on a pod is critical. */
const CRITICAL_FROM = 2_000_000_000;

/** How long the pods of a priority, and of those up to the next one, have. */
export interface Period {
  readonly priority: number;
  readonly graceSeconds: number;
}

/** The periods that a plan means, from the lowest priority up: by the words of the documentation, not by what is tested. */
export function periodsOf({ total, byPriority }: ShutdownPlan): readonly Period[] {
  if (byPriority !== undefined) return byPriority.toSorted((a, b) => a.priority - b.priority);
  const { graceSeconds, criticalSeconds } = total ?? { graceSeconds: 0, criticalSeconds: 0 };
  return [
    { priority: 0, graceSeconds: graceSeconds - criticalSeconds },
    { priority: CRITICAL_FROM, graceSeconds: criticalSeconds },
  ];
}

/** To which of the periods a pod belongs. */
export function groupOf(periods: readonly Period[], pod: PodPlan | undefined): number {
  const priority = pod?.critical ? CRITICAL_PRIORITY : (pod?.priority ?? 0);
  return Math.max(
    0,
    periods.findLastIndex((period) => period.priority <= priority),
  );
}

/** What the machine says of its shutdown, what the kubelet knows of it, and whom it has ended for it. */
export class ShutdownFacts {
  /** Whether the machine says that it shuts down, and when it last began or ended to; -1 where it never did. */
  isSaid = false;
  saidAtMs = -1;
  /** Whether the kubelet that runs knows that, and when it came to know that or the contrary; -1 where it never did. */
  isHeard = false;
  heardAtMs = -1;
  /** Whether it has ever heard of one. */
  everHeard = false;
  busUp = true;
  busChangedAtMs = -1;
  /** How many locks are held. */
  locks = 0;
  lockChangedAtMs = -1;
  /** Whether the kubelet that runs has ever held one. */
  hasWatched = false;
  /** Whom the kubelet that runs had to end when it heard: what ran then, and was to run. */
  due: readonly string[] = [];
  readonly #toldAtMs = new Map<string, number>();
  readonly #everTold = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #everEnded = new Set<string>();
  readonly #stoppedAtMs = new Map<string, number>();

  /** Whether the pod was ended, or refused, for a shutdown: nobody can say that it is to run. A manifest's begins anew with the next kubelet. */
  wasEnded(uid: string): boolean {
    return this.#ended.has(uid);
  }

  /** The same of all kubelets: what each keeps of a pod of a manifest goes, and the next one may begin it anew. */
  wasEverEnded(uid: string): boolean {
    return this.#everEnded.has(uid);
  }

  /** Whether any kubelet ever ended the pod for a shutdown. */
  wasTold(uid: string): boolean {
    return this.#everTold.has(uid);
  }

  /** When the kubelet that runs first told the pod to end for a shutdown; `undefined` where it has not. */
  toldAtMs(uid: string): number | undefined {
    return this.#toldAtMs.get(uid);
  }

  /** When the last container of the pod ended; -1 where none has. */
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

/** Pods of manifests that wait for another one of their name: they are ended without having had their turn. */
function inLine(facts: Facts): readonly string[] {
  const { pods } = facts;
  return [...pods.wanted.values()].flatMap(({ uid, name }) => {
    const began = facts.isKnownToKubelet(uid) && pods.lastUnwantedAtMs(uid) < facts.syncBeganAtMs(uid);
    const waits = !pods.isApiPod(uid) && !began;
    return waits && pods.knownUids.some((one) => one !== uid && pods.planOf(one)?.name === name) ? [uid] : [];
  });
}

/** Whether a kubelet that hears of a shutdown now must know that the pod is to run. */
function isDue(uid: string, facts: Facts): boolean {
  const { pods } = facts;
  if (!facts.isKnownToKubelet(uid) || !pods.wanted.has(uid) || pods.isUnsure(uid)) return false;
  const syncBeganAtMs = facts.syncBeganAtMs(uid);
  return Number.isFinite(syncBeganAtMs) && pods.lastUnwantedAtMs(uid) < syncBeganAtMs;
}
