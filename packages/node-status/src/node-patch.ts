import { parseQuantity } from '@node-agent/pod-spec';
import type { Node, NodeAddress, NodeCondition, NodeStatus } from './node.ts';

type Json = { readonly [key: string]: unknown };

/**
 * Returns the strategic merge patch that changes a node's metadata and status, which contains only the differences
 * (component-helpers' `node/util/status.go`, PatchNodeStatus). Conditions merge by type, so that conditions of other
 * writers are kept. Addresses are replaced, because the API wrongly declares that addresses merge by type, although a
 * node can have several addresses of a type. The patch contains the node's UID, so that it is rejected if the node was
 * deleted and created again.
 *
 * @returns `undefined` if nothing changed
 */
export function nodePatch(before: Node, after: Node): object | undefined {
  const metadata = metadataPatch(before, after);
  const status = statusPatch(before.status ?? {}, after.status ?? {});
  if (metadata === undefined && status === undefined) return undefined;
  const uid = before.metadata.uid;
  return {
    ...((metadata !== undefined || uid !== undefined) && {
      metadata: { ...(uid !== undefined && { uid }), ...metadata },
    }),
    ...(status !== undefined && { status }),
  };
}

/**
 * Reports whether a patch should be sent immediately, because something other than heartbeat times changed
 * (nodeStatusHasChanged). Quantities are compared by amount, and empty values equal absent ones.
 */
export function hasNodeChanged(before: Node, after: Node): boolean {
  const stamped = (node: Node): Node => ({ ...node, status: { ...node.status, ...withoutHeartbeats(node.status) } });
  return nodePatch(stamped(before), stamped(after)) !== undefined;
}

function withoutHeartbeats(status: NodeStatus | undefined): Partial<NodeStatus> {
  const conditions = status?.conditions?.map(({ lastHeartbeatTime: _, ...rest }): NodeCondition => rest);
  return conditions === undefined ? {} : { conditions };
}

function metadataPatch(before: Node, after: Node): Json | undefined {
  const labels = mapPatch(before.metadata.labels, after.metadata.labels);
  const annotations = mapPatch(before.metadata.annotations, after.metadata.annotations);
  return labels || annotations ? { ...(labels && { labels }), ...(annotations && { annotations }) } : undefined;
}

/**
 * Returns the differences of labels or annotations, as {@link objectPatch} does. Here, an empty string counts as a
 * value, because labels may be empty.
 */
function mapPatch(
  before: Readonly<Record<string, string>> = {},
  after: Readonly<Record<string, string>> = {},
): Json | undefined {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (key) => before[key] !== after[key],
  );
  return keys.length === 0 ? undefined : Object.fromEntries(keys.map((key) => [key, after[key] ?? null]));
}

function statusPatch(before: NodeStatus, after: NodeStatus): Json | undefined {
  const { conditions: oldConditions = [], addresses: oldAddresses = [], ...oldRest } = before;
  const { conditions = [], addresses = [], ...rest } = after;
  const merged = conditionsPatch(oldConditions, conditions);
  const patch = {
    ...objectPatch(withEqualQuantities(oldRest, rest), rest),
    ...(merged && {
      ...(oldConditions.length > 0 && { '$setElementOrder/conditions': conditions.map(({ type }) => ({ type })) }),
      conditions: merged,
    }),
    ...(!same(oldAddresses, addresses) && { addresses: addressesPatch(oldAddresses, addresses) }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function conditionsPatch(
  before: readonly NodeCondition[],
  after: readonly NodeCondition[],
): readonly object[] | undefined {
  const changed = after.flatMap((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const patch = objectPatch({ ...old }, { ...condition });
    return patch === undefined ? [] : [{ ...patch, type: condition.type }];
  });
  return changed.length === 0 ? undefined : changed;
}

function addressesPatch(before: readonly NodeAddress[], after: readonly NodeAddress[]): readonly object[] {
  return before.length === 0 ? after : [...after, { $patch: 'replace' }];
}

/** Returns the old status, in which each quantity that only changed its notation has the new notation. */
function withEqualQuantities(before: NodeStatus, after: NodeStatus): Json {
  const reword = (own: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>> = {}): object =>
    Object.fromEntries(
      Object.entries(own).map(([name, text]) => {
        const other = wanted[name] ?? text;
        return [name, other !== text && parseQuantity(other).equals(parseQuantity(text)) ? other : text];
      }),
    );
  return {
    ...before,
    ...(before.capacity && { capacity: reword(before.capacity, after.capacity) }),
    ...(before.allocatable && { allocatable: reword(before.allocatable, after.allocatable) }),
  };
}

/**
 * Returns the differences, member by member. Lists are replaced as a whole; a removed or empty value becomes `null`.
 */
function objectPatch(before: Json, after: Json): Json | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, wanted] = [before[key], after[key]];
    if (same(old, wanted)) continue;
    if (typeof wanted !== 'string' && isEmpty(wanted)) patch[key] = null;
    else patch[key] = isObject(old) && isObject(wanted) ? objectPatch(old, wanted) : wanted;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Compares JSON values. As in Go's types, empty values equal absent ones. */
function same(a: unknown, b: unknown): boolean {
  if (a === b || (isEmpty(a) && isEmpty(b))) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (isObject(a) && isObject(b)) {
    const isSame = (key: string): boolean => same(a[key], b[key]);
    return Object.keys(a).every(isSame) && Object.keys(b).every((key) => Object.hasOwn(a, key) || isSame(key));
  }
  return false;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.values(value).every(isEmpty);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
