/** JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Difference at one path of two documents; `undefined` means that the value is absent. */
export interface Difference {
  /** Path such as `status.conditions.Ready.status`. */
  readonly path: string;
  readonly go: Json | undefined;
  readonly ours: Json | undefined;
}

/** Returns the differences of two documents in field order. Each difference is reported at its deepest common path. */
export function differences(go: Json | undefined, ours: Json | undefined, path = ''): readonly Difference[] {
  if (isBranch(go) && isBranch(ours) && Array.isArray(go) === Array.isArray(ours)) {
    const keys = new Set([...Object.keys(go), ...Object.keys(ours)]);
    return [...keys].flatMap((key) => differences(childOf(go, key), childOf(ours, key), path ? `${path}.${key}` : key));
  }
  return Object.is(go, ours) ? [] : [{ path, go, ours }];
}

/** Returns the number of leaf values in a document. */
export function leavesOf(document: Json): number {
  return isBranch(document) ? Object.values(document).reduce((sum: number, child) => sum + leavesOf(child), 0) : 1;
}

type Branch = Exclude<Json, null | boolean | number | string>;

function isBranch(document: Json | undefined): document is Branch {
  return typeof document === 'object' && document !== null;
}

function childOf(branch: Branch, key: string): Json | undefined {
  return Object.hasOwn(branch, key) ? (branch as Readonly<Record<string, Json>>)[key] : undefined;
}
