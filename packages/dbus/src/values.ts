import { brand, hasBrand } from '@node-agent/async';

const BRAND = '@node-agent/dbus.Variant';

/** A value with its type. Properties are sent as variants. */
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

  /** Returns whether a value is a `Variant`, of this or of another copy of the package. */
  static is(value: unknown): value is Variant {
    return hasBrand(value, BRAND);
  }
}

/**
 * The JavaScript representation of values: `x` and `t` are bigints, all other numbers are numbers, `ay` is bytes;
 * structs, arrays and dictionary entries are arrays.
 */
export type DbusValue = string | number | bigint | boolean | Uint8Array | Variant | readonly DbusValue[];

/** The size limit of arrays in the D-Bus standard, in bytes. */
export const MAX_ARRAY_BYTES: number = 1 << 26;
/** The limit of nested variants. Deeper nesting is only used by attackers. */
export const MAX_VARIANT_DEPTH = 16;
