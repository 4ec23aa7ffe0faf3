import type { FieldError } from '@node-agent/pod-spec';
import type { ResourceDefinition } from '../resources/definition.ts';
import { badRequest, fieldError, invalid, unreadableVersion } from './failure.ts';
import { type FieldTerm, fieldSelector, parseFieldTerms } from './field-selector.ts';
import { type JsonObject, objectAt, textAt } from './json.ts';
import { parseLabelSelector } from './label-selector.ts';

/** Validated `ListOptions` of a list or a watch. */
export interface ListOptions {
  readonly watch: boolean;
  /** Requested resource version: '' is the newest version, `0` any version. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continueToken: string;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  /** Returns whether an object in its stored form matches all selectors. */
  readonly matches: (object: JsonObject) => boolean;
  /** Whether the request has a label or field selector. */
  readonly selects: boolean;
}

/** Parses the options of a list or watch from the query. @throws ApiFailure 400, 422 */
export function parseListOptions(query: URLSearchParams, { fields }: ResourceDefinition, name: string): ListOptions {
  const options = withWatchListDefaults({
    watch: isTrue(query.get('watch')),
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    limit: integer(query, 'limit') ?? 0,
    continueToken: query.get('continue') ?? '',
    timeoutSeconds: integer(query, 'timeoutSeconds'),
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: query.has('sendInitialEvents') ? isTrue(query.get('sendInitialEvents')) : undefined,
  });
  const errors = [...(options.watch ? watchProblems(options) : listProblems(options))];
  if (errors.length > 0) throw invalid('meta.k8s.io', 'ListOptions', '', errors);
  if (!/^\d*$/.test(options.resourceVersion)) {
    if (options.watch) throw unreadableVersion(options.resourceVersion);
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(options.resourceVersion)}: strconv.ParseUint: parsing ${JSON.stringify(options.resourceVersion)}: invalid syntax`,
    );
  }
  const terms = withName(parseFieldTerms(query.get('fieldSelector') ?? ''), name);
  const byFields = fieldSelector(terms, fields);
  const byLabels = parseLabelSelector(query.get('labelSelector') ?? '');
  return {
    ...options,
    selects: byFields !== undefined || byLabels !== undefined,
    matches: (object) => (byFields?.(object) ?? true) && (byLabels?.(objectAt(object, 'metadata', 'labels')) ?? true),
  };
}

/**
 * Treats a watch without resource version, or from 0, as a streamed list (upstream: `SetListOptionsDefaults`). The end
 * of the list is sent as a bookmark if the client allows bookmarks.
 */
function withWatchListDefaults(options: Raw): Raw {
  const { watch, resourceVersion, resourceVersionMatch, sendInitialEvents } = options;
  const legacy = resourceVersion === '' || resourceVersion === '0';
  if (!watch || !legacy || resourceVersionMatch !== '' || sendInitialEvents !== undefined) return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

/**
 * Converts a watch of a single object into a watch of its collection with a name selector.
 * @throws ApiFailure 400
 */
function withName(terms: readonly FieldTerm[], name: string): readonly FieldTerm[] {
  if (name === '') return terms;
  if (terms.some((term) => term.field === 'metadata.name' && (!term.equal || term.value !== name))) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  return [...terms, { field: 'metadata.name', equal: true, value: name }];
}

type Raw = Omit<ListOptions, 'matches' | 'selects'>;

const MATCHES = ['Exact', 'NotOlderThan'];
const FORBIDDEN_WITH_CONTINUE = 'resourceVersionMatch is forbidden when continue is provided';

function* listProblems(options: Raw): Generator<FieldError> {
  const { resourceVersionMatch: match, resourceVersion, continueToken } = options;
  if (match !== '') {
    const at = 'resourceVersionMatch';
    if (resourceVersion === '') {
      yield fieldError('Forbidden', at, 'resourceVersionMatch is forbidden unless resourceVersion is provided');
    }
    if (continueToken !== '') yield fieldError('Forbidden', at, FORBIDDEN_WITH_CONTINUE);
    if (!MATCHES.includes(match)) {
      yield fieldError('Unsupported value', at, 'supported values: "Exact", "NotOlderThan", ""', match);
    }
    if (match === 'Exact' && resourceVersion === '0') {
      yield fieldError('Forbidden', at, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  if (options.sendInitialEvents !== undefined) {
    yield fieldError('Forbidden', 'sendInitialEvents', 'sendInitialEvents is forbidden for list');
  }
}

function* watchProblems(options: Raw): Generator<FieldError> {
  const { resourceVersionMatch: match, sendInitialEvents, continueToken } = options;
  const at = 'resourceVersionMatch';
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    yield fieldError('Forbidden', at, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (match === '') return;
  if (sendInitialEvents === undefined) {
    yield fieldError(
      'Forbidden',
      at,
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  }
  if (match !== 'NotOlderThan') {
    yield fieldError('Unsupported value', at, 'supported values: "NotOlderThan"', match);
  }
  if (continueToken !== '') yield fieldError('Forbidden', at, FORBIDDEN_WITH_CONTINUE);
}

function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/** Position at which a paginated list continues. */
export interface Continuation {
  /** Revision of the first page. If negative, the list continues with the newest state. */
  readonly revision: number;
  /** The last key of the previous page. */
  readonly after: string;
}

/** Encodes a continue token in upstream's format. */
export function encodeContinue({ revision, after }: Continuation): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\u0000` })).toString(
    'base64url',
  );
}

/**
 * Decodes a continue token.
 * @throws ApiFailure 400 if the token is malformed
 */
export function decodeContinue(token: string): Continuation {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(`invalid continue token: continue key is not valid: ${why}`);
  }
  const { v, rv } = objectAt({ value }, 'value');
  const start = textAt(value, 'start');
  if (v !== 'meta.k8s.io/v1' || typeof rv !== 'number' || rv === 0 || start === '') {
    throw badRequest(
      'invalid continue token: continue key is not valid: server does not recognize this encoded version',
    );
  }
  return { revision: rv, after: start.endsWith('\u0000') ? start.slice(0, -1) : start };
}
