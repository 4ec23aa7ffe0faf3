/** One step of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string };

/**
 * A patch and its kind: `strategic` (lists merge by their keys, as in the Go types), `merge` (RFC 7386), `json` (RFC
 * 6902), or `apply` (server-side apply: the fields that the field manager owns; the object is created if it does not
 * exist).
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
  // The JSON body is sent as YAML, because JSON is valid YAML: all servers accept this media type, while some do not
  // know `apply-patch+json`.
  apply: 'application/apply-patch+yaml',
} as const satisfies Record<Patch['type'], string>;

/** Returns the media type of a kind of patch. */
export function patchContentType(type: Patch['type']): string {
  return CONTENT_TYPES[type];
}
