/** Any JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** One place where two documents differ; `undefined` is what is not there. */
export interface Difference {
  /** As `status.conditions.Ready.status`. */
  readonly path: string;
  readonly go: Json | undefined;
  readonly ours: Json | undefined;
}

/** Where two documents differ, in the order of their fields: the deepest places that are in both. */
export function differences(go: Json | undefined, ours: Json | undefined, path = ''): readonly Difference[] {
  if (isBranch(go) && isBranch(ours) && Array.isArray(go) === Array.isArray(ours)) {
    const keys = new Set([...Object.keys(go), ...Object.keys(ours)]);
    return [...keys].flatMap((key) => differences(childOf(go, key), childOf(ours, key), path ? `${path}.${key}` : key));
  }
  return Object.is(go, ours) ? [] : [{ path, go, ours }];
}

/** How many values a document has. */
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
