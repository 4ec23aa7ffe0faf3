/** One step of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string };

/**
 * A patch and its kind: `strategic` (lists merge by their keys, as the Go types say), `merge` (RFC 7386), `json`
 * (RFC 6902), `apply` (server-side apply: the object as its field manager wants it; it is made where it is not there).
 */
export type Patch =
  | { readonly type: 'strategic'; readonly body: object }
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'json'; readonly body: readonly JsonPatchOperation[] }
  | { readonly type: 'apply'; readonly body: object; readonly fieldManager: string; readonly force?: boolean };

const CONTENT_TYPES = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  // JSON is YAML: every server takes it, while `apply-patch+json` is not known to all.
  apply: 'application/apply-patch+yaml',
} as const satisfies Record<Patch['type'], string>;

/** The media type of a kind of patch. */
export function patchContentType(type: Patch['type']): string {
  return CONTENT_TYPES[type];
}
