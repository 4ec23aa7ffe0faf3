import type { Clock, Random } from '@node-agent/async';
import type { ResourceDefinition, UserInfo, WriteContext } from '../resources/definition.ts';
import type { JsonObject } from './json.ts';
import type { Store } from './store.ts';

/** What the parts of the server share. */
export interface ServerState {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  /** The next UID: a version 4 UUID from the random source. */
  uid(): string;
  context(user: UserInfo): WriteContext;
}

/** What a request is about. */
export interface Target {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
  /** '' for the object itself. */
  readonly subresource: string;
}

/** How a write is made. */
export interface WriteOptions {
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Who owns the fields written. */
  readonly manager: string;
  /** Apply sets the managed fields itself. */
  readonly managedFieldsDone?: boolean;
}

const HEX = '0123456789abcdef';
const ALPHANUMERICS = 'bcdfghjklmnpqrstvwxz2456789';

/** A version 4 UUID. */
export function randomUuid(random: Random): string {
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replaceAll(/[xy]/g, (place) => {
    const digit = Math.floor(random.next() * 16);
    return HEX[place === 'y' ? (digit & 3) | 8 : digit] ?? '0';
  });
}

/** A name for `generateName`: at most 63 characters, five of them by chance. */
export function randomName(random: Random, base: string): string {
  const suffix = Array.from({ length: 5 }, () => ALPHANUMERICS[Math.floor(random.next() * ALPHANUMERICS.length)]);
  return `${base.slice(0, 58)}${suffix.join('')}`;
}

/** The object in the form of the API group that serves it. */
export function served(definition: ResourceDefinition, stored: JsonObject): JsonObject {
  return definition.strategy.fromStored?.(stored) ?? stored;
}
