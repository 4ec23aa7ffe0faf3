import { notAcceptable } from './failure.ts';
import { type JsonObject, listAt, textAt } from './json.ts';
import { toTable } from './table.ts';

/** The form in which a client wants objects. */
export type Form = 'plain' | 'Table' | 'PartialObjectMetadata';

const ACCEPTED = ['application/json'];

/** The form that `Accept` asks for first, of those that there are. @throws ApiFailure 406 */
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

/** An object or a list in another form. A Status is what it is. */
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

/** The name that managed fields have for a client: the one it says, or the first word of its user agent. */
export function managerOf(query: URLSearchParams, userAgent: string | undefined): string {
  return query.get('fieldManager') || (userAgent ?? '').split('/')[0] || 'unknown';
}

/** What a create is about, where the path does not say. */
export function nameInBody(body: unknown): string {
  return textAt(body, 'metadata', 'name') || textAt(body, 'metadata', 'generateName');
}
