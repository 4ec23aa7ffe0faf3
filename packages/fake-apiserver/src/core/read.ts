import { apiVersionOf, keyOf, type ResourceDefinition } from '../resources/definition.ts';
import { badRequest, expired, notFound, tooLargeResourceVersion, unreadableVersion } from './failure.ts';
import { type JsonObject, metadataOf } from './json.ts';
import { type Continuation, decodeContinue, encodeContinue, type ListOptions } from './list-options.ts';
import { type ServerState, served, type Target } from './state.ts';
import type { Store } from './store.ts';

/** Time for which a read waits for a newer revision, in milliseconds, as upstream's watch cache does. */
const FRESHNESS_WAIT_MS = 3000;
const LIST_EXPIRED = 'The resourceVersion for the provided list is too old.';
const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

/** Age of an injected stale read, as a number of writes to the store. */
export interface Staleness {
  readonly revisionsBehind: number;
}

/**
 * Waits until the store has reached a revision.
 * @throws ApiFailure 504 after 3 s
 */
export async function untilFresh(state: ServerState, wanted: number, signal?: AbortSignal): Promise<void> {
  const { store, clock } = state;
  if (store.revision >= wanted) return;
  await new Promise<void>((resolve, reject) => {
    const finish = (settle: () => void): void => {
      unsubscribe();
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = (): void => finish(() => reject(signal?.reason));
    const unsubscribe = store.subscribe((change) => {
      if (change.revision >= wanted) finish(resolve);
    });
    const timer = clock.setTimer(FRESHNESS_WAIT_MS, () =>
      finish(() => reject(tooLargeResourceVersion(wanted, store.revision))),
    );
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Returns an object in the form that is served.
 * @throws ApiFailure 400, 404, 504
 */
export async function getObject(
  state: ServerState,
  { definition, namespace, name }: Target,
  resourceVersion: string,
  stale: Staleness | undefined,
  signal?: AbortSignal,
): Promise<JsonObject> {
  if (!/^\d*$/.test(resourceVersion)) throw unreadableVersion(resourceVersion);
  await untilFresh(state, Number(resourceVersion), signal);
  const key = keyOf(definition, namespace, name);
  const found =
    stale === undefined
      ? state.store.get(definition.storage, key)
      : pastState(state.store, definition, stale).state.get(key);
  if (found === undefined) throw notFound(definition, name);
  return served(definition, found);
}

interface Snapshot {
  readonly state: ReadonlyMap<string, JsonObject>;
  readonly revision: number;
}

function pastState(store: Store, { storage }: ResourceDefinition, { revisionsBehind }: Staleness): Snapshot {
  const revision = Math.max(store.revision - revisionsBehind, store.compactedRevision);
  return { state: store.listAt(storage, revision) ?? store.list(storage), revision };
}

/**
 * Returns a collection, or a page of it.
 * @throws ApiFailure 400, 410, 422, 504
 */
export async function listObjects(
  state: ServerState,
  definition: ResourceDefinition,
  namespace: string,
  options: ListOptions,
  stale: Staleness | undefined,
  signal?: AbortSignal,
): Promise<JsonObject> {
  const continuation = options.continueToken === '' ? undefined : decodeContinue(options.continueToken);
  if (continuation !== undefined && options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  if (continuation === undefined) await untilFresh(state, Number(options.resourceVersion), signal);
  const snapshot =
    stale === undefined
      ? snapshotFor(state, definition, options, continuation)
      : pastState(state.store, definition, stale);
  const prefix = definition.namespaced && namespace !== '' ? `${namespace}/` : '';
  const keys = [...snapshot.state.keys()].filter((key) => key.startsWith(prefix)).sort(byCodeUnits);
  // As upstream, the token's key is relative to the listed collection.
  const start = continuation === undefined ? undefined : `${prefix}${continuation.after}`;
  const items: JsonObject[] = [];
  let more: Continuation | undefined;
  let remaining = 0;
  let last = '';
  for (const key of keys) {
    if (start !== undefined && key <= start) continue;
    const object = snapshot.state.get(key);
    if (object === undefined || !options.matches(object)) continue;
    if (options.limit > 0 && items.length === options.limit) {
      more ??= { revision: snapshot.revision, after: last.slice(prefix.length) };
      remaining++;
      continue;
    }
    items.push(listItem(definition, object));
    last = key;
  }
  return listBody(definition, items, snapshot.revision, more, options.selects ? undefined : remaining);
}

function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function snapshotFor(
  { store }: ServerState,
  { storage }: ResourceDefinition,
  options: ListOptions,
  continuation: Continuation | undefined,
): Snapshot {
  const now: Snapshot = { state: store.list(storage), revision: store.revision };
  if (continuation !== undefined) {
    if (continuation.revision < 0) return now;
    const state = store.listAt(storage, continuation.revision);
    if (state !== undefined) return { state, revision: continuation.revision };
    const token = encodeContinue({ revision: -1, after: continuation.after });
    throw expired(CONTINUE_EXPIRED, { continue: token });
  }
  const wanted = Number(options.resourceVersion);
  // For compatibility, a limit with a resource version and without resourceVersionMatch means exactly this version.
  const legacyExact = options.resourceVersionMatch === '' && options.limit > 0 && wanted > 0;
  if (options.resourceVersionMatch !== 'Exact' && !legacyExact) return now;
  const state = store.listAt(storage, wanted);
  if (state === undefined) throw expired(LIST_EXPIRED);
  return { state, revision: wanted };
}

/** Returns an object as an item of a list, without its kind and apiVersion, which only the list has. */
function listItem(definition: ResourceDefinition, object: JsonObject): JsonObject {
  const { kind: _, apiVersion: __, ...item } = served(definition, object);
  return item;
}

function listBody(
  definition: ResourceDefinition,
  items: readonly JsonObject[],
  revision: number,
  more: Continuation | undefined,
  remaining: number | undefined,
): JsonObject {
  const body: JsonObject = {
    kind: `${definition.kind}List`,
    apiVersion: apiVersionOf(definition),
    metadata: {},
    items,
  };
  const metadata = metadataOf(body);
  metadata.resourceVersion = String(revision);
  if (more !== undefined) {
    metadata.continue = encodeContinue(more);
    if (remaining !== undefined) metadata.remainingItemCount = remaining;
  }
  return body;
}
