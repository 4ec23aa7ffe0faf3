import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '@node-agent/pod-spec';
import { isWrittenCondition, type MergeContext, mergePodStatus } from './merge.ts';

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
  const merged = mergePodStatus(pod, next, context);
  return !isDeepStrictEqual(comparable(pod.status ?? {}), comparable(merged));
}

function comparable(status: PodStatus): unknown {
  const conditions = (status.conditions ?? [])
    .filter(({ type }) => isWrittenCondition(type))
    .map(({ type, status: value, reason, message }) => ({ type, status: value, reason, message }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return normalized({ ...status, conditions });
}

/** The fields that differ, with their values as they are to be sent; `undefined`: absent. */
function changedFields(before: Json, after: Json): readonly (readonly [string, readonly [unknown, unknown]])[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const list = MERGED_LISTS.get(name);
    const [old, next] = [normalized(before[name], name), normalized(after[name], name)];
    const sorted = list?.ordered === false;
    const same = isDeepStrictEqual(sorted ? byKey(old, list.key) : old, sorted ? byKey(next, list.key) : next);
    return same ? [] : [[name, [old, next]] as const];
  });
}

function byKey(list: unknown, key: string): unknown {
  return Array.isArray(list) ? new Map(list.map((item: Json) => [item[key], item])) : list;
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

/** Fields of Go structs that are absent on the wire where they are empty. */
const ABSENT_WHEN_EMPTY: ReadonlySet<string> = new Set(['state', 'lastState']);
const ABSENT_WHEN_ZERO: ReadonlySet<string> = new Set(['observedGeneration', 'signal']);

/** A value without what means nothing on the wire: nulls, empty texts and lists, zeros that are left out there. */
function normalized(value: unknown, name = ''): unknown {
  if (value === null || value === '' || (value === 0 && ABSENT_WHEN_ZERO.has(name))) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => normalized(item));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .map(([key, field]) => [key, normalized(field, key)] as const)
    .filter(([, field]) => field !== undefined);
  if (entries.length === 0 && ABSENT_WHEN_EMPTY.has(name)) return undefined;
  return Object.fromEntries(entries);
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
