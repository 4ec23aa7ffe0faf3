import type { KubeObject, RestClient, resources } from '@node-agent/kube-client';
import { ObjectCacheError } from './errors.ts';

/** Strategy by which objects are kept up to date (`configMapAndSecretChangeDetectionStrategy`). */
export type ChangeDetectionStrategy = 'Get' | 'Cache' | 'Watch';

/** The methods of an API client that the stores use. */
export type ObjectClient = Pick<RestClient, 'get' | 'list' | 'watch'>;

/** A v1 Secret in its JSON form. */
export type Secret = NonNullable<(typeof resources.secrets)['object']>;
/** A v1 ConfigMap in its JSON form. */
export type ConfigMap = NonNullable<(typeof resources.configMaps)['object']>;

/** An object that its creator may mark as immutable. */
export interface ConfigObject extends KubeObject {
  readonly immutable?: boolean;
}

/** Objects of one type to which pods of the node refer. References are counted per pod. */
export interface ObjectStore<T extends ConfigObject> {
  /** Adds a reference of a pod to an object, without waiting for I/O. */
  addReference(namespace: string, name: string, podUid: string): void;
  deleteReference(namespace: string, name: string, podUid: string): void;
  /**
   * Returns an object to which a registered pod refers.
   * @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError `NotFound` and other errors of the server
   */
  get(namespace: string, name: string, signal: AbortSignal): Promise<T>;
  /** Reads all objects again: the server may have lost its data, and cached objects may be outdated. */
  listAnew(): void;
  /** Runs the store until `signal` is aborted. */
  start(signal: AbortSignal): Promise<void>;
}

/** Returns the key of an object in a store. Neither the namespace nor the name can contain a slash. */
export function storeKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Creates upstream's error for an object to which no registered pod refers. */
export function notRegistered(namespace: string, name: string): ObjectCacheError {
  const message = `object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`;
  return new ObjectCacheError('NotRegistered', message);
}
