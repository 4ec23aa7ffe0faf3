import { checkPod } from '@node-agent/pod-spec';
import { parse as parseYaml } from '@node-agent/yaml';
import { apiVersionOf, type ResourceDefinition } from '../resources/definition.ts';
import { ApiFailure, badRequest, unsupportedMediaType } from './failure.ts';
import { isObject, type JsonObject, objectAt } from './json.ts';
import { metadataTypeProblem } from './metadata.ts';

/** Maximum body size: 3 MiB, as upstream. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;
const ACCEPTED = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/**
 * Returns the text of a body.
 * @throws ApiFailure 413
 */
export function bodyText(body: string | Uint8Array | undefined): string {
  if (body === undefined) return '';
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  if (Buffer.byteLength(text) <= MAX_BODY_BYTES) return text;
  throw new ApiFailure({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: limit is ${MAX_BODY_BYTES}`,
  });
}

/** Returns the media type without parameters, in lower case. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/**
 * Parses a body as JSON, or as YAML if the content type says so.
 * @throws ApiFailure 400, 413, 415
 */
export function decodeBody(body: string | Uint8Array | undefined, contentType: string | undefined): unknown {
  const type = mediaType(contentType);
  if (type !== '' && type !== '*/*' && type !== 'application/json' && type !== 'application/yaml') {
    throw unsupportedMediaType(ACCEPTED);
  }
  const text = bodyText(body);
  try {
    return type === 'application/yaml' ? parseYaml(text, { version: '1.1' }) : JSON.parse(text);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${'object'}): couldn't get version/kind; json parse error: ${said}`,
    );
  }
}

/**
 * Checks a received object: its kind must match, its metadata must have the right types, and for a pod all fields must
 * have the right types.
 * @returns the object with its kind and version, and warnings for unknown fields
 * @throws ApiFailure 400
 */
export function decodeObject(
  value: unknown,
  definition: ResourceDefinition,
  validation: FieldValidation,
): { readonly object: JsonObject; readonly warnings: readonly string[] } {
  const { kind } = definition;
  const apiVersion = apiVersionOf(definition);
  const refuse = (why: string): ApiFailure =>
    badRequest(`${kind} in version ${JSON.stringify(definition.version)} cannot be handled as a ${kind}: ${why}`);
  if (!isObject(value)) throw refuse('json: cannot unmarshal into Go value: body must be an object');
  const sentKind = typeof value.kind === 'string' && value.kind !== '' ? value.kind : kind;
  const sentVersion = typeof value.apiVersion === 'string' && value.apiVersion !== '' ? value.apiVersion : apiVersion;
  if (sentKind !== kind || sentVersion !== apiVersion) {
    const version = JSON.stringify(sentVersion.split('/').at(-1));
    const what = `${sentKind} in version ${version} cannot be handled as a ${kind}`;
    throw badRequest(
      `${what}: no kind ${JSON.stringify(sentKind)} is registered for version ${JSON.stringify(sentVersion)} in the fake API server`,
    );
  }
  const problem = metadataTypeProblem(value.metadata);
  if (problem !== undefined) throw refuse(`json: cannot unmarshal: ${problem}`);
  const object = { ...value, kind, apiVersion };
  if (kind === 'Secret') checkBase64(object, refuse);
  const warnings = kind === 'Pod' ? checkTypes(object, validation, refuse) : [];
  return { object, warnings };
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function checkBase64(secret: JsonObject, refuse: (why: string) => ApiFailure): void {
  for (const value of Object.values(objectAt(secret, 'data'))) {
    if (typeof value === 'string' && BASE64.test(value)) continue;
    const byte = String(value).search(/[^A-Za-z0-9+/]/);
    throw refuse(`illegal base64 data at input byte ${Math.max(byte, 0)}`);
  }
}

function checkTypes(
  pod: JsonObject,
  validation: FieldValidation,
  refuse: (why: string) => ApiFailure,
): readonly string[] {
  const errors = checkPod(pod);
  const wrong = errors.find((error) => error.type !== 'Unknown field');
  if (wrong !== undefined) throw refuse(`json: cannot unmarshal into Go struct field ${wrong.field}: ${wrong.message}`);
  const unknown = errors.map((error) => `unknown field ${JSON.stringify(error.field)}`);
  if (validation === 'Strict' && unknown.length > 0) throw refuse(`strict decoding error: ${unknown.join(', ')}`);
  return validation === 'Warn' ? unknown : [];
}
