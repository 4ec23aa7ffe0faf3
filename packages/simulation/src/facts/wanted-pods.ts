import type { Observation } from '../observation.ts';
import type { NodePlan } from '../scenario/actions.ts';
import type { PodPlan } from '../scenario/plans.ts';
import { ManifestFacts } from './manifest-facts.ts';
import { ServedFacts } from './served-facts.ts';

/** The pods that the user wants according to manifests and API, and all pods that were ever wanted. */
export class WantedPods {
  readonly #files = new ManifestFacts();
  /** Facts about the manifest URL; `undefined` if the node has no manifest URL. */
  readonly #served: ServedFacts | undefined;
  #nowMs = 0;
  readonly #inApi = new Map<string, PodPlan>();
  readonly #everInApi = new Set<string>();
  #wanted: ReadonlyMap<string, PodPlan> = new Map();
  readonly #lastUnwantedAtMs = new Map<string, number>();
  readonly #unwantedSinceMs = new Map<string, number>();
  readonly #wantedSinceMs = new Map<string, number>();
  readonly #plans = new Map<string, PodPlan[]>();

  constructor({ http, httpDelayMs }: NodePlan) {
    this.#served = http ? new ServedFacts(httpDelayMs) : undefined;
  }

  /** The wanted pods by UID. */
  get wanted(): ReadonlyMap<string, PodPlan> {
    return this.#wanted;
  }

  /** All UIDs that were ever wanted. */
  get knownUids(): readonly string[] {
    return [...this.#plans.keys()];
  }

  /**
   * Reports whether a manifest ever contained the pod while manifests of other pods with its name may have been
   * unreadable. The user may then have wanted another pod of this name instead.
   */
  mayHaveBeenFirst(uid: string): boolean {
    return this.#files.hiddenUntilMs >= 0 && this.#files.hasEverHad(uid);
  }

  /** Reports whether the pod was bound to the node in the API. */
  isApiPod(uid: string): boolean {
    return this.#everInApi.has(uid);
  }

  /** Time at which the pod was last unwanted; -1 if the pod is wanted and always was. */
  lastUnwantedAtMs(uid: string): number {
    return this.#wanted.has(uid) ? (this.#lastUnwantedAtMs.get(uid) ?? -1) : this.#nowMs;
  }

  /** Time since which the pod is no longer wanted; `Infinity` if the pod is wanted. */
  unwantedSinceMs(uid: string): number {
    return this.#wanted.has(uid) ? Number.POSITIVE_INFINITY : (this.#unwantedSinceMs.get(uid) ?? 0);
  }

  /** Time since which the pod is wanted in its current version. */
  wantedSinceMs(uid: string): number {
    return this.#wantedSinceMs.get(uid) ?? this.#nowMs;
  }

  /** Reports whether the pod's manifest file is currently malformed. */
  isBroken(uid: string): boolean {
    return this.#files.isBroken(uid);
  }

  /**
   * Reports whether it is uncertain that a kubelet keeps the pod, because the pod's source cannot be read and has
   * changed since the last successful read.
   */
  isUnsure(uid: string): boolean {
    if (this.isApiPod(uid)) return false;
    return (
      this.#files.isUnsure(this.planOf(uid)?.name ?? '') ||
      (this.#served?.isUnsure(uid, this.#files.storeFaultUntilMs) ?? false)
    );
  }

  /** Whether {@link isUnsure} is true for any pod that was ever wanted. */
  get someAreUnsure(): boolean {
    return this.knownUids.some((uid) => this.isUnsure(uid));
  }

  /** Time until which the kubelet's own directory last had a fault. */
  get storeFaultUntilMs(): number {
    return this.#files.storeFaultUntilMs;
  }

  /** Time until which changes of manifests could not be read; -1 if there never was a read fault. */
  get hiddenUntilMs(): number {
    return this.#files.hiddenUntilMs;
  }

  /** Returns all versions of the pod's plan, newest last. */
  plansOf(uid: string): readonly PodPlan[] {
    return this.#plans.get(uid) ?? [];
  }

  /** Returns the current or last version of the pod's plan. */
  planOf(uid: string): PodPlan | undefined {
    return this.#wanted.get(uid) ?? this.#plans.get(uid)?.at(-1);
  }

  observe(observation: Observation): void {
    this.#nowMs = observation.atMs;
    const { unread } = this.#files;
    this.#files.observe(observation);
    this.#served?.observe(observation);
    if (observation.kind === 'podDeleted') this.#inApi.delete(observation.uid);
    else if (observation.kind === 'podCreated') {
      const { pod } = observation;
      this.#inApi.set(pod.uid, pod);
      this.#everInApi.add(pod.uid);
    } else if (observation.kind === 'action' && observation.action.do === 'apiWipe') this.#inApi.clear();
    else if (observation.kind !== 'action' && observation.kind !== 'kubeletStarted' && this.#files.unread === unread)
      return;
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
    for (const pod of this.#files.pods()) {
      if (wanted.has(pod.uid) || names.has(pod.name)) continue;
      wanted.set(pod.uid, pod);
      names.add(pod.name);
    }
    for (const pod of this.#served?.pods ?? []) if (!wanted.has(pod.uid)) wanted.set(pod.uid, pod);
    for (const [uid, pod] of this.#inApi) wanted.set(uid, pod);
    return wanted;
  }
}
