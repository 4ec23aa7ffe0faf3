import type { PodRow, PodsNews, UsageFigures, UsageSample } from '../wire.ts';

/** Period that the plots show, in ms. */
export const HISTORY_MS: number = 10 * 60_000;
/** Shortest period that the plots show, in ms. */
const SHORTEST_MS = 60_000;
/** Maximum number of samples in the history. */
const MAX_SAMPLES = 240;

/** Applies changes to the pods that the page knows. @returns the UIDs of new or changed pods */
export function applyPods(pods: Map<string, PodRow>, { isAll, changed, gone }: PodsNews): ReadonlySet<string> {
  if (isAll) pods.clear();
  for (const uid of gone) pods.delete(uid);
  for (const row of changed) pods.set(row.uid, row);
  return new Set(changed.map(({ uid }) => uid));
}

/** Filter of the pods table, as the user has set it. */
export interface PodFilter {
  /** Words that must all occur in namespace, name, status, image or label. */
  readonly text: string;
  /** Whether only pods are shown that are not ready. */
  readonly onlyProblems: boolean;
}

/** Returns the pods that pass a filter, by namespace and name. */
export function shownPods(pods: Iterable<PodRow>, { text, onlyProblems }: PodFilter): readonly PodRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return [...pods]
    .filter((pod) => !(onlyProblems && pod.isReady) && words.every((word) => searchText(pod).includes(word)))
    .sort((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.uid, b.uid));
}

function searchText({ namespace, name, status, containers, labels }: PodRow): string {
  const images = containers.map(({ image }) => image);
  const pairs = labels.map(([key, value]) => `${key}=${value}`);
  return [`${namespace}/${name}`, status, ...images, ...pairs].join('\n').toLowerCase();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Counts pods for the summary above the table. */
export function podCounts(pods: Iterable<PodRow>): { readonly all: number; readonly notReady: number } {
  const list = [...pods];
  return { all: list.length, notReady: list.filter(({ isReady }) => !isReady).length };
}

/** Adds a sample to the history, and drops samples that are too old. */
export function addSample(history: readonly UsageSample[], sample: UsageSample): readonly UsageSample[] {
  const last = history.at(-1);
  // After a change of the node's clock, the old samples have no place on the time axis.
  const kept = last !== undefined && sample.atMs < last.atMs ? [] : history;
  return [...kept, sample].filter(({ atMs }) => atMs > sample.atMs - HISTORY_MS).slice(-MAX_SAMPLES);
}

/** Returns the time axis of the plots: it grows with the history, up to {@link HISTORY_MS}. */
export function timeAxis(history: readonly UsageSample[]): { readonly toMs: number; readonly spanMs: number } {
  const toMs = history.at(-1)?.atMs ?? HISTORY_MS;
  const ageMs = toMs - (history[0]?.atMs ?? toMs);
  return { toMs, spanMs: Math.min(HISTORY_MS, Math.max(SHORTEST_MS, ageMs)) };
}

/** Returns one value of a pod, or of the node, over time. @param uid `undefined`: the node */
export function seriesOf(
  history: readonly UsageSample[],
  uid: string | undefined,
  value: keyof UsageFigures,
): readonly { readonly atMs: number; readonly value: number | undefined }[] {
  return history.map(({ atMs, node, pods }) => ({
    atMs,
    value: (uid === undefined ? node : Object.hasOwn(pods, uid) ? pods[uid] : undefined)?.[value],
  }));
}

/** Parses the fragment of the page's address: `#NAMESPACE/NAME`. */
export function selectionOf(fragment: string): { readonly namespace: string; readonly name: string } | undefined {
  let text: string;
  try {
    text = decodeURIComponent(fragment.replace(/^#/, ''));
  } catch {
    return undefined;
  }
  const [namespace = '', name = '', ...rest] = text.split('/');
  return namespace === '' || name === '' || rest.length > 0 ? undefined : { namespace, name };
}
