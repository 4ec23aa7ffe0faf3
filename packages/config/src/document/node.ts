/** A place in a file; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A value of a file, with its place. */
export type ConfigNode =
  | { readonly kind: 'scalar'; readonly value: null | boolean | number | bigint | string; readonly at: Position }
  | { readonly kind: 'list'; readonly items: readonly ConfigNode[]; readonly at: Position }
  | { readonly kind: 'map'; readonly entries: readonly ConfigEntry[]; readonly at: Position };

export interface ConfigEntry {
  readonly key: string;
  readonly keyAt: Position;
  readonly value: ConfigNode;
}

/** What a value is called in an error; of a secret one, only its kind is told. */
export function describe(node: ConfigNode, isSecret: boolean = false): string {
  if (node.kind !== 'scalar') return node.kind === 'list' ? 'a list' : 'an object';
  if (isSecret && node.value !== null) return `a ${typeof node.value === 'bigint' ? 'number' : typeof node.value}`;
  if (node.value === null) return 'null';
  return typeof node.value === 'string'
    ? `the string ${JSON.stringify(shorten(node.value))}`
    : `${typeof node.value === 'boolean' ? '' : 'the number '}${node.value}`;
}

/** The text, cut to what an error may hold. */
export function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
