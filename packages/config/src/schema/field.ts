/** A value as JSON has it: what a configuration file may hold once its syntax is understood. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * The type of a field, in a file (its wire form) and in the program (its normal form).
 *
 * - `duration`: a Go duration in the file (`1m30s`), milliseconds in the program; the property's name ends in `Ms`.
 * - `bytes`: a resource quantity in the file (`10Mi`), a number of bytes in the program; the name ends in `Bytes`.
 * - `quantity`: a resource quantity that stays text, because its unit depends on the resource it measures.
 * - `taint` and the like are `object` types with fields of their own.
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

/** The command line's way to set a field. */
export interface FieldFlag {
  readonly name: string;
  readonly shorthand?: string;
  /** Most flags that mirror a field are deprecated upstream and print a warning; the few that are not say so here. */
  readonly deprecated?: false;
  /** How the text of the flag is read, where the field's type does not already tell. */
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
 * Whether this kubelet does what a field asks for. One line of the table; flip it when the feature lands.
 *
 * - `supported`: the value is obeyed.
 * - `inert`: the value is accepted and has no effect upstream either.
 * - `unsupported`: a value other than the default is refused, or warned of, by name. Values in `accepted` are as good
 *   as the default: they ask for what happens anyway.
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

/** A rule on one value in its normal form: what is wrong with it, or nothing. */
export type Check = (value: unknown) => string | undefined;

/** One field of KubeletConfiguration v1beta1 or of an object in it. */
export interface Field {
  /** Its name in the file. */
  readonly name: string;
  /** Its name in the program: the file's, with the unit appended. */
  readonly property: string;
  readonly type: FieldType;
  /** One or two sentences: what it does, its unit, its range. */
  readonly doc: string;
  /** The value in wire form that an unset field gets; `undefined` where it stays unset. */
  readonly default: Json | undefined;
  /**
   * Whether the zero value (0, "", 0s) in a file counts as unset, as it does for the fields that upstream declares
   * without a pointer.
   */
  readonly zeroIsUnset: boolean;
  /** Whether the property may be missing in the program's form. */
  readonly optional: boolean;
  readonly flag: FieldFlag | undefined;
  /** A relative path in the `--config` file is resolved against that file's directory. */
  readonly isPath: boolean;
  /** Its values stay out of errors, origins and logs (W4). */
  readonly isSecret: boolean;
  readonly check: Check | undefined;
  readonly support: Support;
}

/** What the table's authors write: a field with the usual parts left out. */
export type FieldInit = Partial<Omit<Field, 'name' | 'type' | 'doc' | 'flag'>> &
  Pick<Field, 'name' | 'type' | 'doc'> & { readonly flag?: string | FieldFlag };

const UNIT_SUFFIX: Partial<Record<FieldType['kind'], string>> = { duration: 'Ms', bytes: 'Bytes' };

/** Completes one line of the table. */
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
  };
}

export const supported: Support = { state: 'supported' };

/** Accepted, and without effect upstream as well. */
export function inert(because: string): Support {
  return { state: 'inert', because };
}

/** A value other than the default stops the kubelet: it would be unsafe or wrong to go on without it. */
export function refuse(because: string, more: SupportExceptions = {}): Support {
  return { state: 'unsupported', severity: 'refuse', because, ...more };
}

/** A value other than the default is warned of by name, and the kubelet goes on without it. */
export function warn(because: string, more: SupportExceptions = {}): Support {
  return { state: 'unsupported', severity: 'warn', because, ...more };
}
