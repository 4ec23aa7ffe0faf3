import {
  type Absent,
  checkBigInt64,
  checkBigUint64,
  checkInt32,
  checkInt64,
  checkUint32,
  checkUint64,
  type Init,
  list,
  refuse,
} from './wire.ts';

/*
 * The functions of this module convert a value of a message as encoding and decoding would. Absent values become
 * defaults, text becomes well-formed, and the copy shares no object with the original.
 */

export function copyString(value: string | Absent, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw refuse(field, value, 'a string');
  return value.toWellFormed();
}

export function copyStrings(values: readonly string[] | Absent, field: string): string[] {
  return list(values, field).map((value) => {
    if (typeof value !== 'string') throw refuse(field, value, 'a string');
    return value.toWellFormed();
  });
}

export function copyBool(value: boolean | Absent, field: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw refuse(field, value, 'a boolean');
  return value;
}

export function copyBytes(value: Uint8Array | Absent, field: string): Uint8Array {
  if (value === undefined || value === null) return new Uint8Array(0);
  if (!(value instanceof Uint8Array)) throw refuse(field, value, 'a Uint8Array');
  return new Uint8Array(value);
}

export function copyDouble(value: number | Absent, field: string): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number') throw refuse(field, value, 'a number');
  return value;
}

// Adding 0 turns -0 into 0.

export function copyInt32(value: number | Absent, field: string): number {
  return value === undefined || value === null ? 0 : checkInt32(value, field) + 0;
}

export function copyUint32(value: number | Absent, field: string): number {
  return value === undefined || value === null ? 0 : checkUint32(value, field) + 0;
}

export function copyInt64(value: number | Absent, field: string): number {
  return value === undefined || value === null ? 0 : checkInt64(value, field) + 0;
}

export function copyUint64(value: number | Absent, field: string): number {
  return value === undefined || value === null ? 0 : checkUint64(value, field) + 0;
}

export function copyBigInt64(value: bigint | Absent, field: string): bigint {
  return value === undefined || value === null ? 0n : checkBigInt64(value, field);
}

export function copyBigUint64(value: bigint | Absent, field: string): bigint {
  return value === undefined || value === null ? 0n : checkBigUint64(value, field);
}

/** Copies a member of a oneof. An absent member stays absent instead of getting a default. */
export function copyMember<T, C>(value: T | Absent, copy: (value: T, field: string) => C, field: string): C | null {
  return value === undefined || value === null ? null : copy(value, field);
}

export function copyInt32s(values: readonly number[] | Absent, field: string): number[] {
  return list(values, field).map((value) => checkInt32(value, field) + 0);
}

export function copyInt64s(values: readonly number[] | Absent, field: string): number[] {
  return list(values, field).map((value) => checkInt64(value, field) + 0);
}

export function copyMap(
  map: Readonly<Record<string, string | Absent>> | Absent,
  field: string,
): Record<string, string> {
  const copy: Record<string, string> = {};
  if (map === undefined || map === null) return copy;
  for (const key of Object.keys(map)) {
    const value = map[key];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') throw refuse(`${field}[${JSON.stringify(key)}]`, value, 'a string');
    setEntry(copy, key.toWellFormed(), value.toWellFormed());
  }
  return copy;
}

export function copyMessageMap<M>(
  map: Readonly<Record<string, Init<M> | Absent>> | Absent,
  create: (message: Init<M>) => M,
  field: string,
): Record<string, M> {
  const copy: Record<string, M> = {};
  if (map === undefined || map === null) return copy;
  for (const [key, value] of Object.entries(map)) {
    const message = copyMessage(value, create, `${field}[${JSON.stringify(key)}]`);
    if (message !== null) setEntry(copy, key.toWellFormed(), message);
  }
  return copy;
}

export function copyMessage<M>(message: Init<M> | Absent, create: (message: Init<M>) => M, field: string): M | null {
  if (message === undefined || message === null) return null;
  if (typeof message !== 'object') throw refuse(field, message, 'an object');
  return create(message);
}

export function copyMessages<M>(
  items: readonly (Init<M> | Absent)[] | Absent,
  create: (message: Init<M>) => M,
  field: string,
): M[] {
  return list(items, field).map((message) => {
    if (typeof message !== 'object' || message === null) throw refuse(field, message, 'an object');
    return create(message);
  });
}

/** Sets an entry of a map. The key `__proto__` is stored as an ordinary key. */
export function setEntry<V>(map: Record<string, V>, key: string, value: V): void {
  if (key !== '__proto__') map[key] = value;
  else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
}
