import { oncePer, type Pod } from '@node-agent/pod-spec';

/** Pod from which a volume's content was written, with the monotonic time of the write. */
export interface Filling {
  readonly pod: Pod;
  readonly atMs: number;
}

/**
 * Maximum age of a volume's content, in milliseconds. Older content is written again at the pod's next sync, to replace
 * damaged or expired content.
 */
const FRESH_MS = 30_000;

/**
 * Returns whether a sync of the pod can keep a volume's content. The content depends on the pod, whose changes are
 * compared here, and on objects, whose changes are reported separately. Upstream rewrites the content at each sync; a
 * single container start causes several syncs.
 */
export function isFresh(filling: Filling | undefined, pod: Pod, nowMs: number): boolean {
  return filling !== undefined && nowMs - filling.atMs < FRESH_MS && showsSame(filling.pod, pod);
}

/** Returns whether two versions of a pod lead to the same content of its volumes. */
function showsSame(a: Pod, b: Pod): boolean {
  const sameSpec =
    a.spec === b.spec || (a.metadata.generation !== undefined && a.metadata.generation === b.metadata.generation);
  return sameSpec && labelsOf(a) === labelsOf(b);
}

/** Serializes a pod's labels and annotations, so that equal sets give equal text. */
const labelsOf = oncePer(({ metadata }: Pod) => {
  const sorted = (entries: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] =>
    Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([sorted(metadata.labels), sorted(metadata.annotations)]);
});
