import { oncePer, type Pod } from '@node-agent/pod-spec';

/** What a volume's content was made from, and when, by the monotonic clock. */
export interface Filling {
  readonly pod: Pod;
  readonly atMs: number;
}

/** Content that is older is made anew at the pod's next sync, so that what was damaged on the disk or has expired does not stay. */
const FRESH_MS = 30_000;

/**
 * Whether a sync of the pod can leave a volume's content as it is. It is made from the pod itself, which shows when it has
 * changed, and from objects whose changes are told by other ways; upstream makes it anew at each sync, of which one start of a
 * container has several.
 */
export function isFresh(filling: Filling | undefined, pod: Pod, nowMs: number): boolean {
  return filling !== undefined && nowMs - filling.atMs < FRESH_MS && showsSame(filling.pod, pod);
}

/** Whether volumes can tell no difference between two versions of a pod: the status they do not show. */
function showsSame(a: Pod, b: Pod): boolean {
  const sameSpec =
    a.spec === b.spec || (a.metadata.generation !== undefined && a.metadata.generation === b.metadata.generation);
  return sameSpec && labelsOf(a) === labelsOf(b);
}

/** Labels and annotations, the same text for the same ones. */
const labelsOf = oncePer(({ metadata }: Pod) => {
  const sorted = (entries: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] =>
    Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([sorted(metadata.labels), sorted(metadata.annotations)]);
});
