import { qualifiedNameProblem } from '@node-agent/pod-spec';
import { type Fields, fieldsOf, onlyFields, textOf, textsOf } from './fields.ts';

/** That a plugin is given a token of the pod's service account (KEP-4412), and what else of the account. */
export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  /** Whether what the plugin gives is good for the token alone, or for all pods of the account. */
  readonly cacheType: 'Token' | 'ServiceAccount';
  /** Whether the plugin is of no use for a pod without an account, such as a static one. */
  readonly requireServiceAccount: boolean;
  /** Annotations of the account that the plugin is given, and without which it is not asked. */
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  /** Annotations that it is given where they are there. */
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

const REQUIRED_KEYS = 'requiredServiceAccountAnnotationKeys';
const OPTIONAL_KEYS = 'optionalServiceAccountAnnotationKeys';
const FIELDS = ['serviceAccountTokenAudience', 'cacheType', 'requireServiceAccount', REQUIRED_KEYS, OPTIONAL_KEYS];
const ONLY_VERSION = 'credentialprovider.kubelet.k8s.io/v1';

/** @throws Error that names the field */
export function tokenAttributesOf(value: unknown, apiVersion: string, where: string): TokenAttributes | undefined {
  if (value === undefined || value === null) return undefined;
  const fields = fieldsOf(value, where);
  onlyFields(fields, FIELDS, where);
  if (apiVersion !== ONLY_VERSION) {
    throw new Error(`${where}: Forbidden: tokenAttributes is only supported for ${ONLY_VERSION} API version`);
  }
  const audience = textOf(fields, 'serviceAccountTokenAudience', where);
  if (audience === '') throw new Error(`${where}.serviceAccountTokenAudience: Required value`);
  const { requireServiceAccount, cacheType } = fields;
  if (typeof requireServiceAccount !== 'boolean') throw new Error(`${where}.requireServiceAccount: Required value`);
  const required = annotationKeys(fields, REQUIRED_KEYS, where);
  const optional = annotationKeys(fields, OPTIONAL_KEYS, where);
  if (!requireServiceAccount && required.length > 0) {
    const why = `requireServiceAccount cannot be false when ${REQUIRED_KEYS} is set`;
    throw new Error(`${where}.${REQUIRED_KEYS}: Forbidden: ${why}`);
  }
  if (required.some((key) => optional.includes(key))) {
    throw new Error(`${where}: Invalid value: annotation keys cannot be both required and optional`);
  }
  if (cacheType !== 'Token' && cacheType !== 'ServiceAccount') {
    throw new Error(`${where}.cacheType: Unsupported value: supported values: "ServiceAccount", "Token"`);
  }
  return {
    serviceAccountTokenAudience: audience,
    cacheType,
    requireServiceAccount,
    requiredServiceAccountAnnotationKeys: required,
    optionalServiceAccountAnnotationKeys: optional,
  };
}

function annotationKeys(fields: Fields, field: string, where: string): readonly string[] {
  const keys = textsOf(fields, field, where);
  for (const [index, key] of keys.entries()) {
    const [problem] = qualifiedNameProblem(key.toLowerCase());
    if (problem !== undefined) throw new Error(`${where}.${field}: Invalid value: ${JSON.stringify(key)}: ${problem}`);
    if (keys.indexOf(key) < index) throw new Error(`${where}.${field}: Duplicate value: ${JSON.stringify(key)}`);
  }
  return keys;
}
