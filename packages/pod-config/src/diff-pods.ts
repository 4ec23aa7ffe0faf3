import {
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  type Pod,
  podFullName,
  sameJson,
} from '@node-agent/pod-spec';

/** Annotations that the kubelet adds to a pod and that comparisons ignore. */
const LOCAL_ANNOTATIONS: readonly string[] = [
  CONFIG_SOURCE_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
];

/** Kind of difference between a known pod and its new version. */
export type PodChange = 'none' | 'UPDATE' | 'DELETE' | 'RECONCILE';

/** Annotations that the kubelet adds to pods of a source. */
export interface PodMarks {
  /** Name of the source. */
  readonly source: string;
  /** Time at which new pods were first seen (RFC 3339). Known pods keep their time. */
  readonly seenAt: string;
}

/** A pod of the new list that was ignored because an earlier pod has the same full name or UID. */
export interface DuplicatePod {
  readonly pod: Pod;
  readonly of: Pod;
  readonly key: 'name' | 'uid';
}

/**
 * Result of {@link diffPods}. `pods` contains each pod of the new state; each change is in exactly one of the lists.
 */
export interface PodDiff {
  /** The new state by UID, in the order of the new list. An unchanged pod is the same object as in the old state. */
  readonly pods: ReadonlyMap<string, Pod>;
  readonly added: readonly Pod[];
  readonly updated: readonly Pod[];
  readonly deleted: readonly Pod[];
  readonly removed: readonly Pod[];
  readonly reconciled: readonly Pod[];
  readonly duplicates: readonly DuplicatePod[];
}

/**
 * Compares a source's new pods with its previous pods (`pkg/kubelet/config/config.go`, `merge`).
 * @param old state returned by the previous call
 * @param next all pods of the source; of pods with the same full name or UID the first is used
 */
export function diffPods(old: ReadonlyMap<string, Pod>, next: readonly Pod[], marks: PodMarks): PodDiff {
  const comparison = new PodComparison(old, marks);
  for (const pod of next) comparison.add(pod);
  return comparison.end();
}

/** Performs {@link diffPods} pod by pod, so that a long list can be compared in portions. */
export class PodComparison {
  readonly #old: ReadonlyMap<string, Pod>;
  readonly #marks: PodMarks;
  readonly #pods = new Map<string, Pod>();
  readonly #names = new Map<string, Pod>();
  readonly #lists = { ADD: [] as Pod[], UPDATE: [] as Pod[], DELETE: [] as Pod[], RECONCILE: [] as Pod[] };
  readonly #duplicates: DuplicatePod[] = [];
  #keptCount = 0;

  constructor(old: ReadonlyMap<string, Pod>, marks: PodMarks) {
    this.#old = old;
    this.#marks = marks;
  }

  /** Compares the next pod of the list. */
  add(pod: Pod): void {
    const fullName = podFullName(pod);
    const { uid } = pod.metadata;
    const sameName = this.#names.get(fullName);
    const sameUid = this.#pods.get(uid);
    if (sameName !== undefined) this.#duplicates.push({ pod, of: sameName, key: 'name' });
    else if (sameUid !== undefined) this.#duplicates.push({ pod, of: sameUid, key: 'uid' });
    else {
      const { change, current } = nextVersion(this.#old.get(uid), pod, this.#marks);
      this.#pods.set(uid, current);
      this.#names.set(fullName, current);
      if (change !== 'none') this.#lists[change].push(current);
      if (change !== 'ADD') this.#keptCount++;
    }
  }

  /** Returns the result after the last pod of the list. */
  end(): PodDiff {
    const { ADD: added, UPDATE: updated, DELETE: deleted, RECONCILE: reconciled } = this.#lists;
    const old = this.#old;
    const removed =
      this.#keptCount === old.size ? [] : [...old.values()].filter((pod) => !this.#pods.has(pod.metadata.uid));
    return { pods: this.#pods, added, updated, deleted, removed, reconciled, duplicates: this.#duplicates };
  }
}

/** Returns the difference between a pod and its known version, and the version to keep. */
export function nextVersion(
  existing: Pod | undefined,
  pod: Pod,
  marks: PodMarks,
): { readonly change: PodChange | 'ADD'; readonly current: Pod } {
  const change = existing === undefined ? 'ADD' : comparePods(existing, pod);
  return { change, current: change === 'none' && existing ? existing : withMarks(pod, existing, marks) };
}

/**
 * Returns the difference between two versions of a pod that the kubelet must act on. A difference in spec, labels,
 * deletion fields or annotations other than the kubelet's own (`podsDifferSemantically`) comes before a difference in
 * the status.
 */
export function comparePods(existing: Pod, next: Pod): PodChange {
  const a = existing.metadata;
  const b = next.metadata;
  // The API server gives each change of an object a new resource version (the UIDs are equal here).
  if (a.resourceVersion && a.resourceVersion === b.resourceVersion) return 'none';
  const same =
    sameJson(existing.spec, next.spec) &&
    sameJson(a.labels ?? {}, b.labels ?? {}) &&
    a.deletionTimestamp === b.deletionTimestamp &&
    a.deletionGracePeriodSeconds === b.deletionGracePeriodSeconds &&
    sameForeignAnnotations(a.annotations, b.annotations);
  if (!same) return b.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
  return sameJson(existing.status ?? {}, next.status ?? {}) ? 'none' : 'RECONCILE';
}

type Annotations = Readonly<Record<string, string>>;

function sameForeignAnnotations(one: Annotations = {}, other: Annotations = {}): boolean {
  let rest = 0;
  for (const key in one) {
    if (LOCAL_ANNOTATIONS.includes(key)) continue;
    if (one[key] !== other[key]) return false;
    rest++;
  }
  for (const key in other) if (!LOCAL_ANNOTATIONS.includes(key)) rest--;
  return rest === 0;
}

function withMarks(pod: Pod, existing: Pod | undefined, { source, seenAt }: PodMarks): Pod {
  const seen = existing?.metadata.annotations?.[CONFIG_SEEN_ANNOTATION] ?? seenAt;
  const annotations = {
    ...pod.metadata.annotations,
    [CONFIG_SOURCE_ANNOTATION]: source,
    [CONFIG_SEEN_ANNOTATION]: seen,
  };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
