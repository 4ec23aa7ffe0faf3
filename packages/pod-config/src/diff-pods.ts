import { isDeepStrictEqual } from 'node:util';
import {
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  type Pod,
  podFullName,
} from '@node-agent/pod-spec';

/** Annotations that the kubelet puts on a pod itself: they never make two versions of a pod differ. */
const LOCAL_ANNOTATIONS: readonly string[] = [
  CONFIG_SOURCE_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
];

/** How a new version of a known pod differs from the old one. */
export type PodChange = 'none' | 'UPDATE' | 'DELETE' | 'RECONCILE';

/** What the kubelet notes on pods that come from a source, as annotations. */
export interface PodMarks {
  /** Which source it is. */
  readonly source: string;
  /** When new pods were seen first (RFC 3339); known pods keep theirs. */
  readonly seenAt: string;
}

/** A pod of the new list that was left out, because another one before it has its full name or its UID. */
export interface DuplicatePod {
  readonly pod: Pod;
  readonly of: Pod;
  readonly key: 'name' | 'uid';
}

/** What {@link diffPods} found. Each pod of the new state is in `pods`; each change in exactly one of the lists. */
export interface PodDiff {
  /** The new state by UID, in the order of the new list. A pod that did not change is the very object of the old state. */
  readonly pods: ReadonlyMap<string, Pod>;
  readonly added: readonly Pod[];
  readonly updated: readonly Pod[];
  readonly deleted: readonly Pod[];
  readonly removed: readonly Pod[];
  readonly reconciled: readonly Pod[];
  readonly duplicates: readonly DuplicatePod[];
}

/**
 * Compares what a source said before with what it says now (`pkg/kubelet/config/config.go`, `merge`).
 * @param old the state that the last call returned
 * @param next all pods of the source; of two with one full name or one UID the first counts
 */
export function diffPods(old: ReadonlyMap<string, Pod>, next: readonly Pod[], marks: PodMarks): PodDiff {
  const comparison = new PodComparison(old, marks);
  for (const pod of next) comparison.add(pod);
  return comparison.end();
}

/** {@link diffPods} one pod at a time, so that a long list can be compared in portions. */
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

/** How a pod differs from the version that is known of it, and the version that is known from now on. */
export function nextVersion(
  existing: Pod | undefined,
  pod: Pod,
  marks: PodMarks,
): { readonly change: PodChange | 'ADD'; readonly current: Pod } {
  const change = existing === undefined ? 'ADD' : comparePods(existing, pod);
  return { change, current: change === 'none' && existing ? existing : withMarks(pod, existing, marks) };
}

/**
 * Whether and how two versions of one pod differ, as far as the kubelet must act: in spec, labels, deletion fields and
 * annotations but the kubelet's own (`podsDifferSemantically`); else in the status alone.
 */
export function comparePods(existing: Pod, next: Pod): PodChange {
  const a = existing.metadata;
  const b = next.metadata;
  // The API server gives each change a version of its own (of two pods of one UID).
  if (a.resourceVersion && a.resourceVersion === b.resourceVersion) return 'none';
  const same =
    isDeepStrictEqual(existing.spec, next.spec) &&
    isDeepStrictEqual(a.labels ?? {}, b.labels ?? {}) &&
    a.deletionTimestamp === b.deletionTimestamp &&
    a.deletionGracePeriodSeconds === b.deletionGracePeriodSeconds &&
    isDeepStrictEqual(foreignAnnotations(existing), foreignAnnotations(next));
  if (!same) return b.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
  return isDeepStrictEqual(existing.status ?? {}, next.status ?? {}) ? 'none' : 'RECONCILE';
}

function foreignAnnotations(pod: Pod): Readonly<Record<string, string>> {
  const annotations = Object.entries(pod.metadata.annotations ?? {});
  return Object.fromEntries(annotations.filter(([key]) => !LOCAL_ANNOTATIONS.includes(key)));
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
