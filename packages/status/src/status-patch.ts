import type { Pod, PodCondition, PodStatus } from '@node-agent/pod-spec';
import { type MergeContext, mergePodStatus } from './merge.ts';
import { isRecord, normalized, sameOnWire } from './wire-value.ts';

/**
 * A strategic merge patch of a pod's status. The UID is a precondition: another pod of that name is not changed (S4). So is
 * the resource version where the phase changes: somebody may end the pod between reading and writing, and a patch of which
 * no answer was heard may arrive late (S1, S3).
 */
export interface PodStatusPatch {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly status: Readonly<Record<string, unknown>>;
}

type Json = Readonly<Record<string, unknown>>;

/** The lists of a status that are merged by a key rather than replaced (`core/v1/types.go`), and whether order counts. */
const MERGED_LISTS: ReadonlyMap<string, { readonly key: string; readonly ordered: boolean }> = new Map([
  ['conditions', { key: 'type', ordered: false }],
  ['podIPs', { key: 'ip', ordered: true }],
  ['hostIPs', { key: 'ip', ordered: true }],
]);

/**
 * What turns one status into another, as upstream's `PatchPodStatus` sends it (`pkg/util/pod/pod.go`): only what differs,
 * so that fields and conditions of others are not touched. `undefined` where nothing does.
 * @param metadata of the pod as it was read
 */
export function podStatusPatch(
  { uid, resourceVersion }: Pick<Pod['metadata'], 'uid' | 'resourceVersion'>,
  before: PodStatus,
  after: PodStatus,
): PodStatusPatch | undefined {
  const status: Record<string, unknown> = {};
  for (const [name, [old, next]] of changedFields(before as Json, after as Json)) {
    const list = MERGED_LISTS.get(name);
    if (list === undefined) status[name] = fieldPatch(old, next);
    else Object.assign(status, listPatch(name, list.key, itemsOf(old), itemsOf(next)));
  }
  if (Object.keys(status).length === 0) return undefined;
  const guarded = resourceVersion !== undefined && 'phase' in status;
  return { metadata: { uid, ...(guarded && { resourceVersion }) }, status };
}

/**
 * Whether the API shows something else than it should (`needsReconcile`). Times of conditions are not looked at: they
 * are no reason to write.
 * @param pod as the API server's watch has it
 */
export function needsReconcile(pod: Pod, next: PodStatus, context: MergeContext): boolean {
  const { conditions: shown = [], ...before } = pod.status ?? {};
  const { conditions: merged = [], ...after } = mergePodStatus(pod, next, context);
  return !sameOnWire(before, after) || !sameOnWire(comparable(shown), comparable(merged));
}

/** Conditions by type, without their times; a null or an unset list is an empty one. */
function comparable(conditions: readonly PodCondition[] | null): readonly Json[] {
  return (conditions ?? [])
    .map(({ type, status, reason, message }) => ({ type, status, reason, message }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

/** The fields that differ, with their values as they are to be sent; `undefined`: absent. */
function changedFields(before: Json, after: Json): readonly (readonly [string, readonly [unknown, unknown]])[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const list = MERGED_LISTS.get(name);
    const [old, next] = [before[name], after[name]];
    const same = list?.ordered === false ? sameSet(itemsOf(old), itemsOf(next), list.key) : sameOnWire(old, next, name);
    return same ? [] : [[name, [normalized(old, name), normalized(next, name)]] as const];
  });
}

/** Whether two lists have the same items, in whatever order. */
function sameSet(old: readonly Json[], next: readonly Json[], key: string): boolean {
  const known = new Map(old.map((item) => [item[key], item]));
  return next.every((item) => sameOnWire(known.get(item[key]), item)) && known.size === next.length;
}

function fieldPatch(old: unknown, next: unknown): unknown {
  if (next === undefined) return null;
  if (!isRecord(old) || !isRecord(next)) return next;
  return Object.fromEntries(changedFields(old, next).map(([name, [o, n]]) => [name, fieldPatch(o, n)]));
}

function itemsOf(list: unknown): readonly Json[] {
  return Array.isArray(list) ? list : [];
}

/** Items are taken away one by one, never with the whole list: somebody else may have added one meanwhile. */
function listPatch(
  name: string,
  key: string,
  old: readonly Json[],
  next: readonly Json[],
): Readonly<Record<string, unknown>> {
  const changed = next.flatMap((item) => {
    const before = old.find((candidate) => candidate[key] === item[key]);
    if (before === undefined) return [item];
    const fields = changedFields(before, item);
    if (fields.length === 0) return [];
    return [{ [key]: item[key], ...Object.fromEntries(fields.map(([field, [o, n]]) => [field, fieldPatch(o, n)])) }];
  });
  const removed = old
    .filter((item) => !next.some((candidate) => candidate[key] === item[key]))
    .map((item) => ({ $patch: 'delete', [key]: item[key] }));
  const items = [...changed, ...removed];
  return {
    ...(items.length > 0 && { [name]: items }),
    ...(next.length > 0 && { [`$setElementOrder/${name}`]: next.map((item) => ({ [key]: item[key] })) }),
  };
}
