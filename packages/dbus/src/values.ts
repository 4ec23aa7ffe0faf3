import { brand, hasBrand } from '@node-agent/async';

const BRAND = '@node-agent/dbus.Variant';

/** A value with its type: what properties are sent as. */
export class Variant {
  static {
    brand(Variant, BRAND);
  }

  readonly signature: string;
  readonly value: DbusValue;

  constructor(signature: string, value: DbusValue) {
    this.signature = signature;
    this.value = value;
  }

  /** Whether a value is a `Variant`, of this copy of the package or of another one. */
  static is(value: unknown): value is Variant {
    return hasBrand(value, BRAND);
  }
}

/**
 * Values as they are in programs: `x` and `t` are bigints, all other numbers are numbers, `ay` is bytes, structs, arrays
 * and entries of dictionaries are arrays.
 */
export type DbusValue = string | number | bigint | boolean | Uint8Array | Variant | readonly DbusValue[];

/** Arrays may have no more bytes than this, by the standard. */
export const MAX_ARRAY_BYTES: number = 1 << 26;
/** Variants in variants; whoever sends more means no good. */
export const MAX_VARIANT_DEPTH = 16;
