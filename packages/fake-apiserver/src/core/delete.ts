import { keyOf, type ResourceDefinition } from '../resources/definition.ts';
import { conflict, fieldError, invalid, notFound } from './failure.ts';
import {
  clone,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  numberAt,
  objectAt,
  same,
  setOrDelete,
  textAt,
} from './json.ts';
import type { ServerState, Target } from './state.ts';
import { parseTimestamp, timestamp } from './time.ts';

/** The supported fields of `DeleteOptions`. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: string | undefined;
  readonly dryRun: boolean;
}

/** Result of a deletion: the object is removed, or it waits for its grace period or finalizers. */
export interface Deletion {
  readonly object: JsonObject;
  readonly gone: boolean;
}

const GC_FINALIZERS: Readonly<Record<string, string>> = { Orphan: 'orphan', Foreground: 'foregroundDeletion' };

/**
 * Parses `DeleteOptions` from a body or a query.
 * @throws ApiFailure 422
 */
export function parseDeleteOptions(value: unknown, query: URLSearchParams): DeleteOptions {
  const body = isObject(value) ? value : {};
  const fromQuery = query.get('gracePeriodSeconds');
  const seconds = numberAt(body, 'gracePeriodSeconds') ?? (fromQuery === null ? undefined : Number(fromQuery));
  const policy = textAt(body, 'propagationPolicy') || query.get('propagationPolicy') || undefined;
  const orphans = body.orphanDependents;
  if (policy !== undefined && !['Orphan', 'Background', 'Foreground'].includes(policy)) {
    const why = 'supported values: "Foreground", "Background", "Orphan", "nil"';
    throw invalid('meta.k8s.io', 'DeleteOptions', '', [
      fieldError('Unsupported value', 'propagationPolicy', why, policy),
    ]);
  }
  return {
    gracePeriodSeconds: seconds !== undefined && seconds < 0 ? 1 : seconds,
    uid: textAt(body, 'preconditions', 'uid') || undefined,
    resourceVersion: textAt(body, 'preconditions', 'resourceVersion') || undefined,
    propagationPolicy: policy ?? (orphans === true ? 'Orphan' : undefined),
    dryRun: listAt(body, 'dryRun').includes('All') || query.getAll('dryRun').includes('All'),
  };
}

/**
 * Deletes an object or marks it as being deleted (`k8s.io/apiserver/pkg/registry/rest/delete.go`).
 * @throws ApiFailure 404, 409
 */
export function deleteObject(
  state: ServerState,
  { definition, namespace, name }: Omit<Target, 'subresource'>,
  options: DeleteOptions,
): Deletion {
  const key = keyOf(definition, namespace, name);
  const old = state.store.get(definition.storage, key);
  if (old === undefined) throw notFound(definition, name);
  checkPreconditions(definition, old, name, options);
  const object = clone(old);
  const metadata = metadataOf(object);
  const verdict = graceOf(definition, object, options, state.clock.now());
  if (verdict === 'pending') return { object: old, gone: false };
  setOrDelete(metadata, 'finalizers', finalizersOf(listAt(metadata, 'finalizers'), options.propagationPolicy));
  const waits = listAt(metadata, 'finalizers').length > 0;
  if (verdict === 'now' && waits) markDeleted(metadata, state.clock.now());
  const held = verdict === 'now' ? definition.strategy.holdDeletion : undefined;
  if (held !== undefined) {
    markDeleted(metadata, state.clock.now());
    delete metadata.deletionGracePeriodSeconds;
    held(object);
  }
  const stays = waits || verdict === 'waits' || held !== undefined;
  if (options.dryRun) return { object, gone: !stays };
  if (stays) {
    return { object: same(object, old) ? old : state.store.put(definition.storage, key, object), gone: false };
  }
  // Like the real server, stores the pod with a grace period of 0 before removing it, so that watches see this state.
  if (verdict === 'graceless') state.store.put(definition.storage, key, object);
  const gone = state.store.delete(definition.storage, key);
  return { object: gone ?? object, gone: true };
}

function checkPreconditions(
  { group, kind }: ResourceDefinition,
  old: JsonObject,
  name: string,
  { uid, resourceVersion }: DeleteOptions,
): void {
  // Error messages of preconditions name the kind of the object; all other messages name the resource.
  const about = { group, plural: kind };
  const ownUid = textAt(old, 'metadata', 'uid');
  if (uid !== undefined && uid !== ownUid) {
    throw conflict(
      about,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${ownUid}). The object might have been deleted and then recreated`,
    );
  }
  const ownVersion = textAt(old, 'metadata', 'resourceVersion');
  if (resourceVersion !== undefined && resourceVersion !== ownVersion) {
    throw conflict(
      about,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${ownVersion}). The object might have been modified`,
    );
  }
}

/**
 * Applies the grace period to the object and returns the reason why the deletion waits:
 * - `waits`: the grace period is running, and the object records its end;
 * - `graceless`: the grace period is 0, and the object records this;
 * - `pending`: the grace period is already running and is not shortened;
 * - `now`: the kind has no grace period.
 */
function graceOf(
  definition: ResourceDefinition,
  object: JsonObject,
  { gracePeriodSeconds }: DeleteOptions,
  nowMs: number,
): 'waits' | 'graceless' | 'pending' | 'now' {
  const { strategy } = definition;
  const metadata = metadataOf(object);
  if (strategy.gracePeriodSeconds === undefined) return 'now';
  const deletedAtMs = parseTimestamp(metadata.deletionTimestamp);
  if (deletedAtMs !== undefined) {
    const running = numberAt(metadata, 'deletionGracePeriodSeconds') ?? 0;
    if (running === 0) return 'now';
    if (gracePeriodSeconds === undefined || gracePeriodSeconds >= running) return 'pending';
    // The grace period can only be shortened. If the shortened period is already over, the grace period becomes 1 s,
    // the shortest graceful period.
    const endMs = deletedAtMs + (gracePeriodSeconds - running) * 1000;
    const over = endMs < nowMs;
    metadata.deletionTimestamp = timestamp(over ? nowMs : endMs);
    metadata.deletionGracePeriodSeconds = over && gracePeriodSeconds !== 0 ? 1 : gracePeriodSeconds;
    return gracePeriodSeconds === 0 ? 'graceless' : 'waits';
  }
  const period = strategy.gracePeriodSeconds(object, gracePeriodSeconds);
  metadata.deletionTimestamp = timestamp(nowMs + period * 1000);
  metadata.deletionGracePeriodSeconds = period;
  bumpGeneration(metadata);
  return period === 0 ? 'graceless' : 'waits';
}

function bumpGeneration(metadata: JsonObject): void {
  const generation = numberAt(metadata, 'generation');
  if (generation !== undefined && generation > 0) metadata.generation = generation + 1;
}

function markDeleted(metadata: JsonObject, nowMs: number): void {
  const deletedAtMs = parseTimestamp(metadata.deletionTimestamp);
  if (deletedAtMs === undefined) bumpGeneration(metadata);
  if (deletedAtMs === undefined || deletedAtMs > nowMs) metadata.deletionTimestamp = timestamp(nowMs);
  metadata.deletionGracePeriodSeconds = 0;
}

function finalizersOf(finalizers: readonly unknown[], policy: string | undefined): unknown[] | undefined {
  if (policy === undefined) return finalizers.length === 0 ? undefined : [...finalizers];
  const others = finalizers.filter((one) => one !== 'orphan' && one !== 'foregroundDeletion');
  const added = GC_FINALIZERS[policy];
  const all = added === undefined ? others : [...others, added];
  return all.length === 0 ? undefined : all;
}

/** Kinds whose deletion returns the object. For other kinds, deletion returns a Status. */
const RETURNS_OBJECT = new Set([
  'csidrivers',
  'csinodes',
  'namespaces',
  'persistentvolumeclaims',
  'persistentvolumes',
  'pods',
  'resourceclaims',
  'resourceslices',
  'serviceaccounts',
  'services',
  'storageclasses',
  'volumeattachments',
]);

/** Returns the response body of a deletion. */
export function deletionAnswer(definition: ResourceDefinition, { object, gone }: Deletion): JsonObject {
  if (!gone || RETURNS_OBJECT.has(definition.plural)) return object;
  const { name, uid } = objectAt(object, 'metadata');
  const group = definition.group === '' ? {} : { group: definition.group };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...group, kind: definition.plural, uid },
  };
}

/** Returns whether the response to an unfinished deletion has status 202. */
export function isAccepted({ gone }: Deletion, options: DeleteOptions): boolean {
  return !gone && options.propagationPolicy === 'Foreground';
}
