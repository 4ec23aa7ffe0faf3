import { CONFIG_SOURCE_ANNOTATION, type Pod, podState } from '@node-agent/pod-spec';
import { renderTable } from '../table.ts';
import { ageOf } from '../units.ts';

/** Renders pods, sorted by namespace and name. @param wide whether to add the pod's address, source and images */
export function podsTable(
  pods: readonly Pod[],
  { wide, nowMs }: { readonly wide: boolean; readonly nowMs: number },
): string {
  const header = ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'];
  const rows = sortedPods(pods).map((pod) => podRow(pod, wide, nowMs));
  return renderTable(wide ? [...header, 'IP', 'SOURCE', 'IMAGES'] : header, rows);
}

/** Sorts pods by namespace and name. */
export function sortedPods(pods: readonly Pod[]): readonly Pod[] {
  return pods.toSorted(({ metadata: a }, { metadata: b }) => compare(keyOf(a), keyOf(b)));
}

function podRow(pod: Pod, wide: boolean, nowMs: number): readonly string[] {
  const { metadata, spec, status } = pod;
  const { ready, status: shown, restarts } = podState(pod);
  const since = status?.startTime ?? metadata.creationTimestamp;
  const row = [metadata.namespace ?? '', metadata.name, ready, shown, String(restarts), ageOf(since, nowMs)];
  if (!wide) return row;
  const images = spec.containers.map(({ image }) => image ?? '').join(',');
  return [...row, status?.podIP ?? '', metadata.annotations?.[CONFIG_SOURCE_ANNOTATION] ?? 'api', images];
}

/** A change between two lists of pods, for output that is not a terminal. */
export interface PodsChange {
  readonly changed: readonly Pod[];
  /** `NAMESPACE/NAME` of the pods that the new list no longer contains. */
  readonly gone: readonly string[];
}

/** Compares two lists of pods by what their rows show; a pod's age is not a change. */
export function podsChange(before: readonly Pod[], after: readonly Pod[]): PodsChange {
  const shown = (pod: Pod): string => JSON.stringify([pod.metadata.uid, podRow(pod, true, 0).toSpliced(5, 1)]);
  const old = new Map(before.map((pod) => [keyOf(pod.metadata), shown(pod)]));
  const now = new Set(after.map(({ metadata }) => keyOf(metadata)));
  return {
    changed: after.filter((pod) => old.get(keyOf(pod.metadata)) !== shown(pod)),
    gone: [...old.keys()].filter((key) => !now.has(key)),
  };
}

function keyOf({ namespace = '', name }: Pod['metadata']): string {
  return `${namespace}/${name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
