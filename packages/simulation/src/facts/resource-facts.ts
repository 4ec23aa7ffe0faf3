import type { Observation } from '../observation.ts';
import type { CpuPlan, PodPlan } from '../scenario/plans.ts';
import { millisOf } from '../world/millis.ts';
import { type Figures, SCARCE, type Scarce } from '../world/pressure.ts';
import { SEEN_MS } from './manifest-facts.ts';
import { REFUSAL_REASON } from './shutdown-facts.ts';

/** Reason of a termination that makes room for another pod. */
const PREEMPTION_REASON = 'Preempting';
/** The file in which the kubelet stores allocated resources. */
const GRANTS_FILE = '/allocated_pods_state';

/** Stats about memory or disk that the running kubelet has received. */
export interface Lack {
  /** Time of the last stats that showed a shortage; -1 if there were none. */
  readonly lastAtMs: number;
  /** Time since which all received stats have shown a shortage; `Infinity` if the last stats did not. */
  readonly sinceMs: number;
}

const NO_LACK: Lack = { lastAtMs: -1, sinceMs: Number.POSITIVE_INFINITY };

/** Ground truth about the node's resources: allocations of pods, evicted and preempted pods, and stats. */
export class ResourceFacts {
  /** CPU allocated to each pod in thousandths, by UID, as the kubelet last stored it. */
  grants: ReadonlyMap<string, number> = new Map();
  /**
   * Whether the running kubelet has found all allocations of the previous one, that is, whether the last allocations
   * could be stored.
   */
  startedWithAllGrants = true;
  /** The last stats that the running kubelet received. */
  figures: Figures | undefined;
  /** Time at which the kubelet last looked for unused images; -1 if the running kubelet never did. */
  imagesSoughtAtMs = -1;
  /** Whether the node was ever short of a resource or below a soft threshold. */
  wasShort = false;
  /** Whether the node was ever short of disk or below a soft threshold for disk. */
  diskWasShort = false;
  #grantsAreKept = true;
  readonly #lacks: Record<Scarce, Lack> = { memory: NO_LACK, disk: NO_LACK };
  readonly #hardLacks: Record<Scarce, Lack> = { memory: NO_LACK, disk: NO_LACK };
  /** Times at which pods were evicted for a soft threshold only. */
  readonly #softly = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #preemptedAtMs = new Map<string, number>();
  readonly #refusedAtMs = new Map<string, number>();
  readonly #over = new Set<string>();
  readonly #stoppedAtMs = new Map<string, number>();
  readonly #asked = new Map<string, CpuPlan>();
  /** Earlier CPU requests of pods, with the times at which they were replaced. */
  readonly #askedBefore = new Map<string, { readonly cpu: CpuPlan; readonly untilMs: number }[]>();
  readonly #written = new Map<string, CpuPlan | undefined>();
  readonly #changedAtMs = new Map<string, number>();
  #granted: ReadonlyMap<string, Granted> = new Map();

  /** Returns the shortage of a resource, by its soft or hard threshold. */
  lackOf(of: Scarce): Lack {
    return this.#lacks[of];
  }

  /** Returns the shortage of a resource, by its hard threshold only. */
  hardLackOf(of: Scarce): Lack {
    return this.#hardLacks[of];
  }

  /**
   * Time at which a pod was evicted for a soft threshold, with a grace period; -1 for all other pods. A hard threshold
   * that is exceeded later ends the grace period, and the result is then -1, too.
   */
  softlyEvictedAtMs(uid: string): number {
    return this.#softly.get(uid) ?? -1;
  }

  /**
   * Reports whether the node has ever rejected or terminated the pod for lack of resources, so that no invariant may
   * require the pod to run.
   */
  wasEnded(uid: string): boolean {
    return this.#ended.has(uid);
  }

  /** Whether the node has ever rejected or terminated any pod for lack of resources. */
  get someWereEnded(): boolean {
    return this.#ended.size > 0;
  }

  /** Reports whether the running kubelet has rejected the pod, which then holds no resources. */
  isRefused(uid: string): boolean {
    return this.#refusedAtMs.has(uid);
  }

  /** Time at which the running kubelet last rejected the pod; -1 if the kubelet has not. */
  refusedAtMs(uid: string): number {
    return this.#refusedAtMs.get(uid) ?? -1;
  }

  /** Time since which the pod is being preempted; `Infinity` if the pod is not being preempted. */
  preemptedAtMs(uid: string): number {
    return this.#preemptedAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** Reports whether the running kubelet has reported a terminal phase of the pod, which then holds no resources. */
  isOver(uid: string): boolean {
    return this.#over.has(uid);
  }

  /**
   * Returns the time at which the running kubelet had stopped the whole pod; -1 if the kubelet has not, or has
   * restarted the pod since.
   */
  stoppedAtMs(uid: string): number {
    return this.#stoppedAtMs.get(uid) ?? -1;
  }

  /** Returns the latest CPU requests of a pod; `undefined` if the pod was never resized. */
  askedFor(uid: string): CpuPlan | undefined {
    return this.#asked.get(uid);
  }

  /** Returns the earlier CPU requests of a pod that were in effect at any time since `sinceMs`. */
  askedBefore(uid: string, sinceMs: number): readonly CpuPlan[] {
    return (this.#askedBefore.get(uid) ?? []).flatMap(({ cpu, untilMs }) => (untilMs >= sinceMs ? [cpu] : []));
  }

  /** Time of the last change of the pod's requests or allocation; -1 if there was none. */
  changedAtMs(uid: string): number {
    return this.#changedAtMs.get(uid) ?? -1;
  }

  /**
   * @param storeFaultUntilMs time until which the kubelet's own directory last had a fault; allocations made before
   * that time may not be stored
   */
  observe(observation: Observation, storeFaultUntilMs: number): void {
    switch (observation.kind) {
      case 'kubeletStarted':
        this.startedWithAllGrants = this.#grantsAreKept;
        this.figures = undefined;
        this.imagesSoughtAtMs = -1;
        for (const of of SCARCE) {
          this.#lacks[of] = NO_LACK;
          this.#hardLacks[of] = NO_LACK;
        }
        this.#over.clear();
        this.#refusedAtMs.clear();
        this.#stoppedAtMs.clear();
        this.#preemptedAtMs.clear();
        return;
      case 'figures':
        this.#onFigures(observation.figures, observation.atMs);
        return;
      case 'podEndedByNode':
        this.#ended.add(observation.uid);
        // A pod that is already being preempted keeps the start of its wait if it is preempted again.
        if (observation.reason === PREEMPTION_REASON && !this.#preemptedAtMs.has(observation.uid))
          this.#preemptedAtMs.set(observation.uid, observation.atMs);
        this.#onEnded(observation);
        return;
      case 'podRefused':
        if (observation.reason !== REFUSAL_REASON) this.#ended.add(observation.uid);
        this.#refusedAtMs.set(observation.uid, observation.atMs);
        return;
      case 'action': {
        const { action } = observation;
        if (action.do === 'writeManifest') this.#onWritten(action.pod, observation.atMs);
        return;
      }
      case 'podResized': {
        const before = this.#asked.get(observation.uid);
        if (before !== undefined) {
          const all = this.#askedBefore.get(observation.uid) ?? [];
          this.#askedBefore.set(observation.uid, [...all, { cpu: before, untilMs: observation.atMs }]);
        }
        this.#asked.set(observation.uid, { ...before, ...observation.cpu });
        this.#changedAtMs.set(observation.uid, observation.atMs);
        return;
      }
      case 'stepBegan':
        if (observation.step !== 'syncPod') return;
        this.#stoppedAtMs.delete(observation.uid);
        this.#preemptedAtMs.delete(observation.uid);
        return;
      case 'stepEnded':
        if (observation.step === 'syncTerminatingPod' && observation.ok)
          this.#stoppedAtMs.set(observation.uid, observation.atMs);
        return;
      case 'status': {
        const { pod, status } = observation.status;
        if (status.phase === 'Failed' || status.phase === 'Succeeded') this.#over.add(pod.metadata.uid);
        else this.#over.delete(pod.metadata.uid);
        return;
      }
      case 'call': {
        const { port, name, args } = observation.call;
        if (name === 'listImages' || name === 'streamImages') this.imagesSoughtAtMs = observation.atMs;
        if (port !== 'fs' || name !== 'writeFileAtomic' || !String(args[0]).endsWith(GRANTS_FILE)) return;
        this.#onGrants(grantsIn(textOf(args[1])), observation.atMs);
        this.#grantsAreKept = observation.atMs > storeFaultUntilMs;
        return;
      }
      default:
    }
  }

  #onFigures(figures: Figures, atMs: number): void {
    this.figures = figures;
    for (const of of SCARCE) {
      this.wasShort ||= figures.low[of];
      this.diskWasShort ||= figures.low.disk;
      this.#lacks[of] = toldOf(this.#lacks[of], figures.low[of], atMs);
      this.#hardLacks[of] = toldOf(this.#hardLacks[of], figures.short[of], atMs);
    }
    // A hard threshold ends the grace period of a pod that was evicted for a soft one, also if it concerns the other
    // resource.
    if (figures.short.memory || figures.short.disk) this.#softly.clear();
  }

  /**
   * Records whether a pod is evicted for a soft threshold only. A pod that is also terminated for another reason may
   * have no grace period.
   */
  #onEnded({ uid, reason, of, atMs }: Extract<Observation, { readonly kind: 'podEndedByNode' }>): void {
    const isSoft = reason === 'Evicted' && of !== undefined && this.figures?.short[of] === false;
    if (isSoft && !this.#softly.has(uid)) this.#softly.set(uid, atMs);
    else if (!isSoft) this.#softly.delete(uid);
  }

  /** Records a changed CPU request in a manifest, which resizes the pod if the pod exists. */
  #onWritten({ uid, cpu }: PodPlan, atMs: number): void {
    const before = this.#written.get(uid);
    this.#written.set(uid, cpu);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(cpu))
      this.#changedAtMs.set(uid, atMs + SEEN_MS);
  }

  #onGrants(grants: ReadonlyMap<string, Granted>, atMs: number): void {
    // The sum may stay the same while the containers' allocations change.
    for (const [uid, { text }] of grants) if (this.#granted.get(uid)?.text !== text) this.#changedAtMs.set(uid, atMs);
    this.#granted = grants;
    this.grants = new Map(Array.from(grants, ([uid, { millis }]) => [uid, millis]));
  }
}

function toldOf({ lastAtMs, sinceMs }: Lack, isLacking: boolean, atMs: number): Lack {
  return isLacking ? { lastAtMs: atMs, sinceMs: Math.min(sinceMs, atMs) } : { ...NO_LACK, lastAtMs };
}

function textOf(content: unknown): string {
  return content instanceof Uint8Array ? Buffer.from(content).toString() : String(content);
}

interface Grants {
  readonly entries?: Readonly<Record<string, { readonly ContainerResources?: Readonly<Record<string, Resources>> }>>;
}

interface Resources {
  readonly requests?: { readonly cpu?: string };
}

/** CPU that is allocated to a pod. */
interface Granted {
  /** Sum of the allocations of all containers, in thousandths of a CPU. */
  readonly millis: number;
  /** Allocation of each container as text, for comparison. */
  readonly text: string;
}

function grantsIn(text: string): ReadonlyMap<string, Granted> {
  const { data } = JSON.parse(text) as { readonly data: string };
  const { entries = {} } = JSON.parse(data) as Grants;
  return new Map(
    Object.entries(entries).map(([uid, { ContainerResources = {} }]) => {
      const each = Object.values(ContainerResources).map(({ requests }) => millisOf(requests?.cpu ?? '0'));
      return [uid, { millis: each.reduce((sum, millis) => sum + millis, 0), text: JSON.stringify(ContainerResources) }];
    }),
  );
}
