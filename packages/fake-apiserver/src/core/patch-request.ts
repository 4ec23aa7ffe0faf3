import { parse as parseYaml } from '@node-agent/yaml';
import { applyConfiguration } from '../patch/apply.ts';
import { applyJsonPatch, PatchProblem } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMerge } from '../patch/strategic-merge.ts';
import { apiVersionOf, type ResourceDefinition } from '../resources/definition.ts';
import { bodyText, decodeObject, type FieldValidation, mediaType } from './decode.ts';
import {
  ApiFailure,
  badRequest,
  conflict,
  fieldError,
  invalid,
  notFound,
  unprocessable,
  unsupportedPatchType,
} from './failure.ts';
import { at, clone, isObject, type JsonObject, textAt } from './json.ts';
import type { Target } from './state.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_MERGE = 'application/strategic-merge-patch+json';
const APPLY_YAML = 'application/apply-patch+yaml';
const MAX_JSON_PATCH_OPERATIONS = 10_000;

/** A received patch. */
export interface PatchRequest {
  readonly contentType: string | undefined;
  readonly body: string | Uint8Array | undefined;
  /** Whether a server-side apply takes conflicting fields from other managers. */
  readonly force: boolean;
  readonly fieldManager: string | undefined;
  readonly validation: FieldValidation;
  readonly nowMs: number;
}

/** A parsed patch, which computes the new object from the current one. */
export interface ParsedPatch {
  readonly isApply: boolean;
  change(current: JsonObject | undefined): JsonObject;
}

/**
 * Parses a patch.
 * @throws ApiFailure 400, 413, 415, 422
 */
export function parsePatch(target: Target, request: PatchRequest): ParsedPatch {
  const type = mediaType(request.contentType);
  if (![JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE, APPLY_YAML].includes(type)) {
    throw unsupportedPatchType();
  }
  if (type === APPLY_YAML) return parseApply(target, request);
  if (request.force) {
    throw invalid('meta.k8s.io', 'PatchOptions', '', [
      fieldError('Forbidden', 'force', 'may not be specified for non-apply patch'),
    ]);
  }
  const patch = parseJson(bodyText(request.body), type);
  if (type === JSON_PATCH && Array.isArray(patch) && patch.length > MAX_JSON_PATCH_OPERATIONS) {
    throw new ApiFailure({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: `Request entity too large: The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${patch.length}`,
    });
  }
  const { definition, name } = target;
  return {
    isApply: false,
    change(current) {
      if (current === undefined) throw notFound(definition, name);
      return patched(definition, name, request, applyByType(type, current, patch, definition.kind));
    },
  };
}

function parseJson(text: string, type: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badRequest(`error decoding patch: ${error instanceof Error ? error.message : String(error)}`);
  }
  const fits = type === JSON_PATCH ? Array.isArray(value) : isObject(value);
  if (fits) return value;
  const [found, wanted] = Array.isArray(value)
    ? ['array', 'map[string]interface {}']
    : ['object', '[]handlers.jsonPatchOp'];
  throw badRequest(`error decoding patch: json: cannot unmarshal ${found} into Go value of type ${wanted}`);
}

function applyByType(type: string, current: JsonObject, patch: unknown, kind: string): unknown {
  try {
    if (type === JSON_PATCH) return applyJsonPatch(clone(current), patch);
    if (type === MERGE_PATCH || !isObject(patch)) return applyMergePatch(current, patch);
    return applyStrategicMerge(current, patch, kind);
  } catch (error) {
    if (error instanceof PatchProblem) {
      if (type !== STRATEGIC_MERGE) throw unprocessable();
      if (error.message.startsWith('invalid patch format')) throw badRequest(error.message);
      throw new ApiFailure({ code: 500, message: error.message });
    }
    if (error instanceof TypeError) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}

/** Checks that the patched object still has the same kind and name. */
function patched(
  definition: ResourceDefinition,
  name: string,
  { validation }: PatchRequest,
  value: unknown,
): JsonObject {
  try {
    const { object } = decodeObject(value, definition, validation);
    const called = textAt(object, 'metadata', 'name');
    if (called !== name) {
      throw badRequest(`the name of the object (${called}) does not match the name on the URL (${name})`);
    }
    return object;
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.message.startsWith('the ')) throw error;
    // If the patch made the object invalid, the error is reported as an error of the patch.
    throw invalid('', '', '', [fieldError('Invalid value', 'patch', error.message)]);
  }
}

function parseApply(target: Target, request: PatchRequest): ParsedPatch {
  const { definition, name, namespace, subresource } = target;
  const { fieldManager, force, nowMs, validation } = request;
  if (!fieldManager) {
    throw invalid('meta.k8s.io', 'PatchOptions', '', [
      fieldError('Required value', 'fieldManager', 'is required for apply patch'),
    ]);
  }
  let value: unknown;
  try {
    value = parseYaml(bodyText(request.body), { version: '1.1' });
  } catch (error) {
    throw badRequest(`error decoding YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(value) || typeof value.kind !== 'string' || typeof value.apiVersion !== 'string') {
    const [apiVersion, kind] = [textAt(value, 'apiVersion'), textAt(value, 'kind')];
    throw badRequest(`invalid object type: ${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`);
  }
  const { object: config } = decodeObject(value, definition, validation);
  if (at(config, 'metadata', 'managedFields') !== undefined) throw badRequest('metadata.managedFields must be nil');
  const called = textAt(config, 'metadata', 'name');
  if (called !== '' && called !== name) {
    throw badRequest(`the name of the object (${called}) does not match the name on the URL (${name})`);
  }
  const metadata = { ...(isObject(config.metadata) ? config.metadata : {}), name };
  const named: JsonObject = { ...config, metadata: definition.namespaced ? { ...metadata, namespace } : metadata };
  const { kind } = definition;
  const options = { kind, manager: fieldManager, subresource, apiVersion: apiVersionOf(definition), force, nowMs };
  return {
    isApply: true,
    change(current) {
      const uid = textAt(named, 'metadata', 'uid');
      if (current === undefined && uid !== '') {
        const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
        throw conflict(definition, name, why);
      }
      return applyConfiguration(current, named, options);
    },
  };
}
