import type { KubeObject, RestClient, resources } from '@node-agent/kube-client';
import { ObjectCacheError } from './errors.ts';

/** How objects are kept up to date (`configMapAndSecretChangeDetectionStrategy`). */
export type ChangeDetectionStrategy = 'Get' | 'Cache' | 'Watch';

/** What the stores ask of an API client. */
export type ObjectClient = Pick<RestClient, 'get' | 'list' | 'watch'>;

/** A v1 Secret, as its JSON is. */
export type Secret = NonNullable<(typeof resources.secrets)['object']>;
/** A v1 ConfigMap, as its JSON is. */
export type ConfigMap = NonNullable<(typeof resources.configMaps)['object']>;

/** An object that its maker can promise never to change. */
export interface ConfigObject extends KubeObject {
  readonly immutable?: boolean;
}

/** Objects of one type that something on the node refers to. References are counted by who refers. */
export interface ObjectStore<T extends ConfigObject> {
  /** Does no I/O that is waited for. */
  addReference(namespace: string, name: string, podUid: string): void;
  deleteReference(namespace: string, name: string, podUid: string): void;
  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError `NotFound` and what else the server says */
  get(namespace: string, name: string, signal: AbortSignal): Promise<T>;
  /** The server may have lost what it had: what is known may be of another cluster, and is read again. */
  listAnew(): void;
  /** Keeps the store going until `signal` is aborted. */
  start(signal: AbortSignal): Promise<void>;
}

/** The key of an object in a store: neither part can have a slash. */
export function storeKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** What upstream says of an object that no registered pod refers to. */
export function notRegistered(namespace: string, name: string): ObjectCacheError {
  const message = `object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`;
  return new ObjectCacheError('NotRegistered', message);
}
