import type { Observation } from '../observation.ts';
import type { Action } from '../scenario/actions.ts';
import type { PodPlan } from '../scenario/plans.ts';

interface FileFacts {
  /** What the file says now; `undefined` where it is broken. */
  readonly content: PodPlan | undefined;
  /** What a kubelet that saw all of it holds on to. */
  readonly lastGood: PodPlan | undefined;
}

/** The pods that the user wants to run, as manifests and the API say them, and those that were ever wanted. */
export class WantedPods {
  readonly #http: boolean;
  #nowMs = 0;
  #kubeletUp = false;
  readonly #files = new Map<string, FileFacts>();
  #served: readonly PodPlan[] = [];
  readonly #inApi = new Map<string, PodPlan>();
  readonly #everInApi = new Set<string>();
  #wanted: ReadonlyMap<string, PodPlan> = new Map();
  readonly #lastUnwantedAtMs = new Map<string, number>();
  readonly #unwantedSinceMs = new Map<string, number>();
  readonly #wantedSinceMs = new Map<string, number>();
  readonly #plans = new Map<string, PodPlan[]>();

  /** @param http whether what the manifest URL serves counts */
  constructor(http: boolean) {
    this.#http = http;
  }

  /** The pods that the user wants to run, by UID. */
  get wanted(): ReadonlyMap<string, PodPlan> {
    return this.#wanted;
  }

  /** All UIDs that were ever wanted. */
  get knownUids(): readonly string[] {
    return [...this.#plans.keys()];
  }

  /** Whether the pod was bound to the node in the API. */
  isApiPod(uid: string): boolean {
    return this.#everInApi.has(uid);
  }

  /** When the pod was last not wanted; -1 where it is, and always was. */
  lastUnwantedAtMs(uid: string): number {
    return this.#wanted.has(uid) ? (this.#lastUnwantedAtMs.get(uid) ?? -1) : this.#nowMs;
  }

  /** Since when the pod is not wanted any more; infinite where it is. */
  unwantedSinceMs(uid: string): number {
    return this.#wanted.has(uid) ? Number.POSITIVE_INFINITY : (this.#unwantedSinceMs.get(uid) ?? 0);
  }

  /** Since when the pod is wanted as it is. */
  wantedSinceMs(uid: string): number {
    return this.#wantedSinceMs.get(uid) ?? this.#nowMs;
  }

  /** Whether the pod's manifest is a file that is broken now. */
  isBroken(uid: string): boolean {
    return [...this.#files.values()].some(({ content, lastGood }) => content === undefined && lastGood?.uid === uid);
  }

  /** What the pod was planned as, at any time: the newest last. */
  plansOf(uid: string): readonly PodPlan[] {
    return this.#plans.get(uid) ?? [];
  }

  /** The plan that is or was the newest of this pod. */
  planOf(uid: string): PodPlan | undefined {
    return this.#wanted.get(uid) ?? this.#plans.get(uid)?.at(-1);
  }

  observe(observation: Observation): void {
    this.#nowMs = observation.atMs;
    switch (observation.kind) {
      case 'action':
        this.#onAction(observation.action);
        return;
      case 'kubeletStarted':
        this.#kubeletUp = true;
        for (const [file, { content }] of this.#files) this.#files.set(file, { content, lastGood: content });
        this.#update();
        return;
      case 'kubeletEnded':
        this.#kubeletUp = false;
        return;
      case 'podDeleted':
        this.#inApi.delete(observation.uid);
        this.#update();
        return;
      default:
    }
  }

  #onAction(action: Action): void {
    switch (action.do) {
      case 'writeManifest':
        this.#files.set(action.file, { content: action.pod, lastGood: action.pod });
        break;
      case 'breakManifest': {
        const lastGood = this.#kubeletUp ? this.#files.get(action.file)?.lastGood : undefined;
        this.#files.set(action.file, { content: undefined, lastGood });
        break;
      }
      case 'removeManifest':
        this.#files.delete(action.file);
        break;
      case 'serve':
        this.#served = action.pods;
        break;
      case 'apiCreate':
        this.#inApi.set(action.pod.uid, action.pod);
        this.#everInApi.add(action.pod.uid);
        break;
      default:
        return;
    }
    this.#update();
  }

  #update(): void {
    const wanted = this.#now();
    for (const uid of this.#wanted.keys()) {
      if (wanted.has(uid)) continue;
      this.#wantedSinceMs.delete(uid);
      this.#unwantedSinceMs.set(uid, this.#nowMs);
    }
    for (const [uid, pod] of wanted) {
      const before = this.#wanted.get(uid);
      if (before === undefined) this.#lastUnwantedAtMs.set(uid, this.#nowMs);
      if (before === pod) continue;
      this.#wantedSinceMs.set(uid, this.#nowMs);
      const plans = this.#plans.get(uid) ?? [];
      plans.push(pod);
      this.#plans.set(uid, plans);
    }
    this.#wanted = wanted;
  }

  #now(): ReadonlyMap<string, PodPlan> {
    const wanted = new Map<string, PodPlan>();
    const names = new Set<string>();
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, { lastGood }] of files) {
      if (lastGood === undefined || wanted.has(lastGood.uid) || names.has(lastGood.name)) continue;
      wanted.set(lastGood.uid, lastGood);
      names.add(lastGood.name);
    }
    for (const pod of this.#http ? this.#served : []) if (!wanted.has(pod.uid)) wanted.set(pod.uid, pod);
    for (const [uid, pod] of this.#inApi) wanted.set(uid, pod);
    return wanted;
  }
}
