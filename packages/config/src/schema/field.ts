/** JSON value: the content of a parsed configuration file. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Type of a field, in a file (wire form) and in the program (normal form).
 *
 * - `duration`: a Go duration in the file (`1m30s`), milliseconds in the program; the property's name ends in `Ms`.
 * - `bytes`: a resource quantity in the file (`10Mi`), a number of bytes in the program; the name ends in `Bytes`.
 * - `quantity`: a resource quantity that stays text, because its unit depends on the resource.
 * - `object`: a type with fields, such as a taint.
 */
export type FieldType =
  | { readonly kind: 'boolean' }
  | { readonly kind: 'integer'; readonly bits: 32 | 64; readonly unsigned?: boolean }
  | { readonly kind: 'number' }
  | { readonly kind: 'string' }
  | { readonly kind: 'enum'; readonly typeName: string; readonly values: readonly string[] }
  | { readonly kind: 'duration'; readonly integerNanoseconds?: boolean }
  | { readonly kind: 'bytes'; readonly acceptsNumber?: boolean }
  | { readonly kind: 'quantity'; readonly acceptsNumber?: boolean }
  | { readonly kind: 'list'; readonly of: FieldType }
  | { readonly kind: 'map'; readonly of: FieldType }
  | { readonly kind: 'object'; readonly typeName: string; readonly doc: string; readonly fields: readonly Field[] };

/** Command-line flag that sets a field. */
export interface FieldFlag {
  readonly name: string;
  readonly shorthand?: string;
  /** `false` if upstream does not deprecate the flag. Default: the flag is deprecated and causes a warning. */
  readonly deprecated?: false;
  /** Syntax of the flag's value. Default: follows from the field's type. */
  readonly syntax?:
    | 'ip'
    | 'decimal'
    | 'thresholds'
    | 'oneEntry'
    | 'headers'
    | 'taints'
    | 'reservedMemory'
    | 'vmodule'
    | 'onlyTrueCounts';
}

/**
 * Whether this kubelet implements a field.
 *
 * - `supported`: the value takes effect.
 * - `inert`: the value is accepted and has no effect.
 * - `unsupported`: a value other than the default is refused or causes a warning that names the field. Values in
 *   `accepted` are treated like the default, because they request the behaviour that the kubelet has anyway.
 */
export type Support =
  | { readonly state: 'supported' }
  | { readonly state: 'inert'; readonly because: string }
  | {
      readonly state: 'unsupported';
      readonly severity: 'refuse' | 'warn';
      readonly because: string;
      readonly accepted?: readonly Json[];
    };

type SupportExceptions = Pick<Extract<Support, { state: 'unsupported' }>, 'accepted'>;

/** Validates a value in normal form. @returns the problem, or `undefined` */
export type Check = (value: unknown) => string | undefined;

/** Field of KubeletConfiguration v1beta1 or of an object in it. */
export interface Field {
  /** Name in the file. */
  readonly name: string;
  /** Name of the property in the program: the name in the file, followed by the unit, if there is one. */
  readonly property: string;
  readonly type: FieldType;
  /** Documentation of the field in one or two sentences: meaning, unit, range. */
  readonly doc: string;
  /** Default in wire form; `undefined` if the field stays unset. */
  readonly default: Json | undefined;
  /**
   * Whether the zero value (0, "", 0s) in a file counts as unset. True for fields that upstream declares without a
   * pointer.
   */
  readonly zeroIsUnset: boolean;
  /** Whether the property may be missing in normal form. */
  readonly optional: boolean;
  readonly flag: FieldFlag | undefined;
  /** Whether a relative path in the `--config` file is resolved against that file's directory. */
  readonly isPath: boolean;
  /** Whether the values are kept out of errors, origins and logs (W4). */
  readonly isSecret: boolean;
  readonly check: Check | undefined;
  readonly support: Support;
  /** Whether a changed value takes effect while the kubelet runs, or with its next start. Default: `restart`. */
  readonly reload: 'live' | 'restart';
}

/** Declaration of a field, in which the parts with a default may be omitted. */
export type FieldInit = Partial<Omit<Field, 'name' | 'type' | 'doc' | 'flag'>> &
  Pick<Field, 'name' | 'type' | 'doc'> & { readonly flag?: string | FieldFlag };

const UNIT_SUFFIX: Partial<Record<FieldType['kind'], string>> = { duration: 'Ms', bytes: 'Bytes' };

/** Returns a field with the defaults for omitted parts. */
export function field(init: FieldInit): Field {
  return {
    name: init.name,
    property: init.property ?? init.name + (UNIT_SUFFIX[init.type.kind] ?? ''),
    type: init.type,
    doc: init.doc,
    default: init.default,
    zeroIsUnset: init.zeroIsUnset ?? false,
    optional: init.optional ?? false,
    flag: typeof init.flag === 'string' ? { name: init.flag } : init.flag,
    isPath: init.isPath ?? false,
    isSecret: init.isSecret ?? false,
    check: init.check,
    support: init.support ?? supported,
    reload: init.reload ?? 'restart',
  };
}

export const supported: Support = { state: 'supported' };

/** Returns the support of a field that is accepted and has no effect. */
export function inert(because: string): Support {
  return { state: 'inert', because };
}

/** Returns the support of a field of which other values than the default are refused, because running without their effect would be unsafe or wrong. */
export function refuse(because: string, more: SupportExceptions = {}): Support {
  return { state: 'unsupported', severity: 'refuse', because, ...more };
}

/** Returns the support of a field of which other values than the default cause a warning and have no effect. */
export function warn(because: string, more: SupportExceptions = {}): Support {
  return { state: 'unsupported', severity: 'warn', because, ...more };
}
