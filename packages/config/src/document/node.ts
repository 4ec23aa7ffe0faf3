/** A position in a file; line and column start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A value of a file, with its position. */
export type ConfigNode =
  | { readonly kind: 'scalar'; readonly value: null | boolean | number | bigint | string; readonly at: Position }
  | { readonly kind: 'list'; readonly items: readonly ConfigNode[]; readonly at: Position }
  | { readonly kind: 'map'; readonly entries: readonly ConfigEntry[]; readonly at: Position };

export interface ConfigEntry {
  readonly key: string;
  readonly keyAt: Position;
  readonly value: ConfigNode;
}

/** Describes a value for an error. For a secret value only its type is shown. */
export function describe(node: ConfigNode, isSecret: boolean = false): string {
  if (node.kind !== 'scalar') return node.kind === 'list' ? 'a list' : 'an object';
  if (isSecret && node.value !== null) return `a ${typeof node.value === 'bigint' ? 'number' : typeof node.value}`;
  if (node.value === null) return 'null';
  return typeof node.value === 'string'
    ? `the string ${JSON.stringify(shorten(node.value))}`
    : `${typeof node.value === 'boolean' ? '' : 'the number '}${node.value}`;
}

/** Shortens a text to a length suitable for an error. */
export function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
