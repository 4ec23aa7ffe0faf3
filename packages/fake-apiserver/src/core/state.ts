import type { Clock, Random } from '@node-agent/async';
import type { ResourceDefinition, UserInfo, WriteContext } from '../resources/definition.ts';
import type { JsonObject } from './json.ts';
import type { Store } from './store.ts';

/** State that the parts of the server share. */
export interface ServerState {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  /** Returns the next UID: a version 4 UUID from the random source. */
  uid(): string;
  context(user: UserInfo): WriteContext;
}

/** The object or collection that a request addresses. */
export interface Target {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
  /** Addressed subresource; '' for the object itself. */
  readonly subresource: string;
}

/** Options of a write. */
export interface WriteOptions {
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Field manager that owns the written fields. */
  readonly manager: string;
  /** If true, the managed fields are already up to date, because server-side apply sets them itself. */
  readonly managedFieldsDone?: boolean;
}

const HEX = '0123456789abcdef';
const ALPHANUMERICS = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns a version 4 UUID. */
export function randomUuid(random: Random): string {
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replaceAll(/[xy]/g, (place) => {
    const digit = Math.floor(random.next() * 16);
    return HEX[place === 'y' ? (digit & 3) | 8 : digit] ?? '0';
  });
}

/** Returns a name for `generateName`: at most 63 characters, of which the last five are random. */
export function randomName(random: Random, base: string): string {
  const suffix = Array.from({ length: 5 }, () => ALPHANUMERICS[Math.floor(random.next() * ALPHANUMERICS.length)]);
  return `${base.slice(0, 58)}${suffix.join('')}`;
}

/** Converts a stored object into the form of the API group that serves it. */
export function served(definition: ResourceDefinition, stored: JsonObject): JsonObject {
  return definition.strategy.fromStored?.(stored) ?? stored;
}
