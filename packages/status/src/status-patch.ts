import type { Pod, PodCondition, PodStatus } from '@node-agent/pod-spec';
import { type MergeContext, mergePodStatus } from './merge.ts';
import { isRecord, normalized, sameOnWire } from './wire-value.ts';

/**
 * Strategic merge patch of a pod's status. The UID is a precondition, so that another pod of the same name is not
 * changed (S4). If the phase changes, the resource version is a precondition too. Another client may set a terminal
 * phase between read and write, and the API server may apply a patch late whose response was lost (S1, S3).
 */
export interface PodStatusPatch {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly status: Readonly<Record<string, unknown>>;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Lists of a status that are merged by a key instead of being replaced (`core/v1/types.go`), and whether their order
 * matters.
 */
const MERGED_LISTS: ReadonlyMap<string, { readonly key: string; readonly ordered: boolean }> = new Map([
  ['conditions', { key: 'type', ordered: false }],
  ['podIPs', { key: 'ip', ordered: true }],
  ['hostIPs', { key: 'ip', ordered: true }],
]);

/**
 * Returns the patch from one status to another, as upstream's `PatchPodStatus` sends it (`pkg/util/pod/pod.go`): only
 * the differences, so that fields and conditions of other writers stay untouched. Returns `undefined` if there is no
 * difference.
 * @param metadata metadata of the pod as it was read
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
 * Returns whether the API shows a status other than it should (`needsReconcile`). Times of conditions are ignored: a
 * different time alone is no reason to write.
 * @param pod the pod as the watch of the API server shows it
 */
export function needsReconcile(pod: Pod, next: PodStatus, context: MergeContext): boolean {
  const { conditions: shown = [], ...before } = pod.status ?? {};
  const { conditions: merged = [], ...after } = mergePodStatus(pod, next, context);
  return !sameOnWire(before, after) || !sameOnWire(comparable(shown), comparable(merged));
}

/** Returns conditions sorted by type, without their times. A null or absent list counts as empty. */
function comparable(conditions: readonly PodCondition[] | null): readonly Json[] {
  return (conditions ?? [])
    .map(({ type, status, reason, message }) => ({ type, status, reason, message }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

/** Returns the fields that differ, with their old and new values as sent to the API; `undefined` means absent. */
function changedFields(before: Json, after: Json): readonly (readonly [string, readonly [unknown, unknown]])[] {
  const changed: (readonly [string, readonly [unknown, unknown]])[] = [];
  const compare = (name: string): void => {
    const list = MERGED_LISTS.get(name);
    const old = before[name];
    const next = after[name];
    const same = list?.ordered === false ? sameSet(itemsOf(old), itemsOf(next), list.key) : sameOnWire(old, next, name);
    if (!same) changed.push([name, [normalized(old, name), normalized(next, name)]]);
  };
  for (const name of Object.keys(before)) compare(name);
  for (const name of Object.keys(after)) if (!Object.hasOwn(before, name)) compare(name);
  return changed;
}

/** Returns whether two lists have the same items in any order. */
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

/**
 * Items are deleted one by one instead of replacing the list, because another client may have added an item in the
 * meantime.
 */
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
