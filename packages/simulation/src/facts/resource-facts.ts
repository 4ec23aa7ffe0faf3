import type { Observation } from '../observation.ts';
import type { CpuPlan } from '../scenario/plans.ts';
import { millisOf } from '../world/millis.ts';
import type { Figures } from '../world/pressure.ts';

/** The file in which the kubelet keeps what it has granted. */
const GRANTS_FILE = '/allocated_pods_state';

/** What is true of the node's resources: what pods were granted, which were ended for others' sake, and what was measured. */
export class ResourceFacts {
  /** What the kubelet has granted, as it wrote it last: CPU of whole pods in thousandths, by UID. */
  grants: ReadonlyMap<string, number> = new Map();
  /** The last figures that the kubelet got which runs now. */
  figures: Figures | undefined;
  /** When the kubelet that runs was last told that memory is short; -1 where it never was. */
  shortAtMs = -1;
  /** Since when all that it was told says so; infinite where the last figures do not. */
  shortSinceMs: number = Number.POSITIVE_INFINITY;
  readonly #ended = new Set<string>();
  readonly #over = new Set<string>();
  readonly #asked = new Map<string, CpuPlan>();

  /** Whether the node has ever refused or ended the pod, as it had not enough for it: nobody can say that it is to run. */
  wasEnded(uid: string): boolean {
    return this.#ended.has(uid);
  }

  /** Whether it has ended as the kubelet says that runs: then it holds nothing. */
  isOver(uid: string): boolean {
    return this.#over.has(uid);
  }

  /** What was last asked for, for a pod that was ever resized. */
  askedFor(uid: string): CpuPlan | undefined {
    return this.#asked.get(uid);
  }

  observe(observation: Observation): void {
    switch (observation.kind) {
      case 'kubeletStarted':
        this.figures = undefined;
        this.shortAtMs = -1;
        this.shortSinceMs = Number.POSITIVE_INFINITY;
        this.#over.clear();
        return;
      case 'figures':
        this.figures = observation.figures;
        if (!this.figures.short) this.shortSinceMs = Number.POSITIVE_INFINITY;
        else {
          this.shortAtMs = observation.atMs;
          this.shortSinceMs = Math.min(this.shortSinceMs, observation.atMs);
        }
        return;
      case 'podEndedByNode':
        this.#ended.add(observation.uid);
        return;
      case 'podResized':
        this.#asked.set(observation.uid, { ...this.#asked.get(observation.uid), ...observation.cpu });
        return;
      case 'status': {
        const { pod, status } = observation.status;
        const { uid } = pod.metadata;
        if (status.phase === 'Failed' && status.reason !== undefined) this.#ended.add(uid);
        if (status.phase === 'Failed' || status.phase === 'Succeeded') this.#over.add(uid);
        else this.#over.delete(uid);
        return;
      }
      case 'call': {
        const { port, name, args } = observation.call;
        if (port !== 'fs' || name !== 'writeFileAtomic' || !String(args[0]).endsWith(GRANTS_FILE)) return;
        this.grants = grantsIn(textOf(args[1]));
        return;
      }
      default:
    }
  }
}

function textOf(content: unknown): string {
  return content instanceof Uint8Array ? Buffer.from(content).toString() : String(content);
}

interface Grants {
  readonly entries?: Readonly<Record<string, { readonly ContainerResources?: Readonly<Record<string, Granted>> }>>;
}

interface Granted {
  readonly requests?: { readonly cpu?: string };
}

function grantsIn(text: string): ReadonlyMap<string, number> {
  const { data } = JSON.parse(text) as { readonly data: string };
  const { entries = {} } = JSON.parse(data) as Grants;
  return new Map(
    Object.entries(entries).map(([uid, { ContainerResources = {} }]) => [
      uid,
      Object.values(ContainerResources).reduce((sum, { requests }) => sum + millisOf(requests?.cpu ?? '0'), 0),
    ]),
  );
}
