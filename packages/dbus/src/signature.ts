import { DbusError } from './errors.ts';

/**
 * One complete type of a signature: `u`, `as`, `(sv)`, `a{sv}`. File descriptors (`h`) are not supported, because
 * Node.js cannot pass them.
 */
export type DbusType =
  | { readonly kind: 'basic'; readonly code: BasicCode }
  | { readonly kind: 'variant' }
  | { readonly kind: 'array'; readonly item: DbusType }
  | { readonly kind: 'struct'; readonly fields: readonly DbusType[] }
  /** A dict entry, which the D-Bus specification allows only as the item type of an array. */
  | { readonly kind: 'entry'; readonly fields: readonly [DbusType, DbusType] };

const BASIC_CODES = ['y', 'b', 'n', 'q', 'i', 'u', 'x', 't', 'd', 's', 'o', 'g'] as const;
export type BasicCode = (typeof BASIC_CODES)[number];

const MAX_LENGTH = 255;
/** The limit of nested arrays and structs; the standard allows 32 of each. */
const MAX_DEPTH = 64;

/** Parses the types of a signature, in order. An empty signature has none. @throws DbusError `Protocol` */
export function parseSignature(signature: string): readonly DbusType[] {
  if (signature.length > MAX_LENGTH) throw invalid(signature);
  const types: DbusType[] = [];
  let at = 0;
  const next = (depth: number, inArray: boolean): DbusType => {
    const code = signature[at++];
    if (code === undefined || depth > MAX_DEPTH) throw invalid(signature);
    const within = (isArray = false): DbusType => next(depth + 1, isArray);
    if (isBasic(code)) return { kind: 'basic', code };
    if (code === 'v') return { kind: 'variant' };
    if (code === 'a') return { kind: 'array', item: within(true) };
    if (code === '(') {
      const fields: DbusType[] = [];
      while (signature[at] !== ')') fields.push(within());
      at++;
      if (fields.length === 0) throw invalid(signature);
      return { kind: 'struct', fields };
    }
    if (code === '{' && inArray) {
      const key = within();
      const value = within();
      if (key.kind !== 'basic' || signature[at++] !== '}') throw invalid(signature);
      return { kind: 'entry', fields: [key, value] };
    }
    throw invalid(signature);
  };
  while (at < signature.length) types.push(next(0, false));
  return types;
}

/** Parses the single type of a variant's signature. @throws DbusError `Protocol` */
export function parseSingleType(signature: string): DbusType {
  const [type, ...more] = parseSignature(signature);
  if (type === undefined || more.length > 0) throw invalid(signature);
  return type;
}

const ALIGNMENTS: Readonly<Record<BasicCode, number>> = {
  ...{ y: 1, g: 1, n: 2, q: 2, b: 4, i: 4, u: 4, s: 4, o: 4, x: 8, t: 8, d: 8 },
};

/** Returns the alignment of a value in bytes, relative to the start of the message. */
export function alignmentOf(type: DbusType): number {
  switch (type.kind) {
    case 'basic':
      return ALIGNMENTS[type.code];
    case 'variant':
      return 1;
    case 'array':
      return 4;
    case 'struct':
    case 'entry':
      return 8;
  }
}

function isBasic(code: string): code is BasicCode {
  return (BASIC_CODES as readonly string[]).includes(code);
}

function invalid(signature: string): DbusError {
  return new DbusError('Protocol', `invalid D-Bus signature ${JSON.stringify(signature.slice(0, MAX_LENGTH))}`);
}
