import { notAcceptable } from './failure.ts';
import { type JsonObject, listAt, textAt } from './json.ts';
import { toTable } from './table.ts';

/** Representation of objects that a client requests. */
export type Form = 'plain' | 'Table' | 'PartialObjectMetadata';

const ACCEPTED = ['application/json'];

/**
 * Returns the first supported representation in `Accept`.
 * @throws ApiFailure 406
 */
export function negotiate(accept: string | undefined): Form {
  if (accept === undefined || accept.trim() === '') return 'plain';
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (type !== 'application/json' && type !== 'application/*' && type !== '*/*') continue;
    const as = parameters.find((one) => one.startsWith('as='))?.slice('as='.length);
    if (as === undefined) return 'plain';
    if (!parameters.includes('g=meta.k8s.io') || !parameters.includes('v=v1')) continue;
    if (as === 'table') return 'Table';
    if (as === 'partialobjectmetadata' || as === 'partialobjectmetadatalist') return 'PartialObjectMetadata';
  }
  throw notAcceptable(ACCEPTED);
}

/** Converts an object or a list into a representation. A Status is returned unchanged. */
export function inForm(body: JsonObject, form: Form, includeObject: string, nowMs: number): JsonObject {
  if (form === 'plain' || body.kind === 'Status') return body;
  if (form === 'Table') return toTable(body, includeObject, nowMs);
  if (!Array.isArray(body.items)) return partial(body);
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata: body.metadata,
    items: listAt(body, 'items').map((item) => partial(item as JsonObject)),
  };
}

function partial(object: JsonObject): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

/** Returns the field manager of a request: its `fieldManager` parameter, or the first part of its user agent. */
export function managerOf(query: URLSearchParams, userAgent: string | undefined): string {
  return query.get('fieldManager') || (userAgent ?? '').split('/')[0] || 'unknown';
}

/** Returns the name of the object to create, for paths that contain no name. */
export function nameInBody(body: unknown): string {
  return textAt(body, 'metadata', 'name') || textAt(body, 'metadata', 'generateName');
}
