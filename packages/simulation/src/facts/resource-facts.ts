import type { Observation } from '../observation.ts';
import type { CpuPlan, PodPlan } from '../scenario/plans.ts';
import { millisOf } from '../world/millis.ts';
import { type Figures, SCARCE, type Scarce } from '../world/pressure.ts';
import { SEEN_MS } from './manifest-facts.ts';
import { REFUSAL_REASON } from './shutdown-facts.ts';

/** Why a pod is ended that makes room for another one. */
const PREEMPTION_REASON = 'Preempting';
/** The file in which the kubelet keeps what it has granted. */
const GRANTS_FILE = '/allocated_pods_state';

/** What the kubelet that runs was told of memory, or of disk. */
export interface Lack {
  /** When it was last told that there is too little; -1 where it never was. */
  readonly lastAtMs: number;
  /** Since when all that it was told says so; infinite where the last figures do not. */
  readonly sinceMs: number;
}

const NO_LACK: Lack = { lastAtMs: -1, sinceMs: Number.POSITIVE_INFINITY };

/** What is true of the node's resources: what pods were granted, which were ended for others' sake, and what was measured. */
export class ResourceFacts {
  /** What the kubelet has granted, as it wrote it last: CPU of whole pods in thousandths, by UID. */
  grants: ReadonlyMap<string, number> = new Map();
  /** Whether the kubelet that runs has found all that the one before it granted: what was written last could be written. */
  startedWithAllGrants = true;
  /** The last figures that the kubelet got which runs now. */
  figures: Figures | undefined;
  /** When unused images were last looked for; -1 where they never were. */
  imagesSoughtAtMs = -1;
  /** Whether the node was ever short of anything, or low on it. */
  wasShort = false;
  /** Whether it was ever short of disk, or low on it. */
  diskWasShort = false;
  #grantsAreKept = true;
  readonly #lacks: Record<Scarce, Lack> = { memory: NO_LACK, disk: NO_LACK };
  readonly #hardLacks: Record<Scarce, Lack> = { memory: NO_LACK, disk: NO_LACK };
  /** When pods were evicted for a soft threshold alone. */
  readonly #softly = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #preemptedAtMs = new Map<string, number>();
  readonly #refusedAtMs = new Map<string, number>();
  readonly #over = new Set<string>();
  readonly #stoppedAtMs = new Map<string, number>();
  readonly #asked = new Map<string, CpuPlan>();
  /** What was asked for before that, and until when. */
  readonly #askedBefore = new Map<string, { readonly cpu: CpuPlan; readonly untilMs: number }[]>();
  readonly #written = new Map<string, CpuPlan | undefined>();
  readonly #changedAtMs = new Map<string, number>();
  #granted: ReadonlyMap<string, Granted> = new Map();

  /** What the kubelet that runs was told of it, by any of its thresholds. */
  lackOf(of: Scarce): Lack {
    return this.#lacks[of];
  }

  /** The same by the hard ones alone. */
  hardLackOf(of: Scarce): Lack {
    return this.#hardLacks[of];
  }

  /**
   * When a pod was evicted for a soft threshold, so that it has time to end: -1 where it was not, or where a hard one is met since by which
   * it has none.
   */
  softlyEvictedAtMs(uid: string): number {
    return this.#softly.get(uid) ?? -1;
  }

  /** Whether the node has ever refused or ended the pod, as it had not enough for it: nobody can say that it is to run. */
  wasEnded(uid: string): boolean {
    return this.#ended.has(uid);
  }

  /** Whether that happened to any pod. */
  get someWereEnded(): boolean {
    return this.#ended.size > 0;
  }

  /** Whether the kubelet that runs has refused it: it holds nothing. */
  isRefused(uid: string): boolean {
    return this.#refusedAtMs.has(uid);
  }

  /** When the kubelet that runs has last refused it; -1 where it has not. */
  refusedAtMs(uid: string): number {
    return this.#refusedAtMs.get(uid) ?? -1;
  }

  /** Since when it is being ended to make room for another pod; infinite where it is not. */
  preemptedAtMs(uid: string): number {
    return this.#preemptedAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether it has ended as the kubelet says that runs: then it holds nothing. */
  isOver(uid: string): boolean {
    return this.#over.has(uid);
  }

  /** When all of it had been stopped by the kubelet that runs, which has begun nothing anew since; -1 where it was not. */
  stoppedAtMs(uid: string): number {
    return this.#stoppedAtMs.get(uid) ?? -1;
  }

  /** What was last asked for, for a pod that was ever resized. */
  askedFor(uid: string): CpuPlan | undefined {
    return this.#asked.get(uid);
  }

  /** What was asked for at any time since then, and is not any more. */
  askedBefore(uid: string, sinceMs: number): readonly CpuPlan[] {
    return (this.#askedBefore.get(uid) ?? []).flatMap(({ cpu, untilMs }) => (untilMs >= sinceMs ? [cpu] : []));
  }

  /** When the pod last asked for something else, or was granted something else; -1 where it never was. */
  changedAtMs(uid: string): number {
    return this.#changedAtMs.get(uid) ?? -1;
  }

  /** @param storeFaultUntilMs until when the kubelet's own directory was last out of order: what is granted then may not be kept */
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
        // For a second one, or the same once more, it need not be waited for anew.
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
    // Whoever goes for one of them may be the first to go for the other.
    if (figures.short.memory || figures.short.disk) this.#softly.clear();
  }

  /** Whoever is ended for another reason, too, may have no time for that. */
  #onEnded({ uid, reason, of, atMs }: Extract<Observation, { readonly kind: 'podEndedByNode' }>): void {
    const isSoft = reason === 'Evicted' && of !== undefined && this.figures?.short[of] === false;
    if (isSoft && !this.#softly.has(uid)) this.#softly.set(uid, atMs);
    else if (!isSoft) this.#softly.delete(uid);
  }

  /** A manifest asks for something else than it did: its pod is resized, where it is there. */
  #onWritten({ uid, cpu }: PodPlan, atMs: number): void {
    const before = this.#written.get(uid);
    this.#written.set(uid, cpu);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(cpu))
      this.#changedAtMs.set(uid, atMs + SEEN_MS);
  }

  #onGrants(grants: ReadonlyMap<string, Granted>, atMs: number): void {
    // What one container has more another may have less.
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

/** What a pod was granted. */
interface Granted {
  /** Of all its containers together. */
  readonly millis: number;
  /** Of each of them. */
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
