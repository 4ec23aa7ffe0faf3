import { qualifiedNameProblem } from '@node-agent/pod-spec';
import { type Fields, fieldsOf, onlyFields, textOf, textsOf } from './fields.ts';

/** The service account token and annotations that a plugin gets (KEP-4412). */
export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  /** Whether the plugin's credentials are valid for the token only, or for all pods of the account. */
  readonly cacheType: 'Token' | 'ServiceAccount';
  /** Whether the plugin is skipped for a pod without a service account, such as a static pod. */
  readonly requireServiceAccount: boolean;
  /** Annotations of the account that the plugin gets. If one is missing, the plugin is skipped. */
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  /** Annotations of the account that the plugin gets if they exist. */
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

const REQUIRED_KEYS = 'requiredServiceAccountAnnotationKeys';
const OPTIONAL_KEYS = 'optionalServiceAccountAnnotationKeys';
const FIELDS = ['serviceAccountTokenAudience', 'cacheType', 'requireServiceAccount', REQUIRED_KEYS, OPTIONAL_KEYS];
const ONLY_VERSION = 'credentialprovider.kubelet.k8s.io/v1';

/** @throws Error naming the field */
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
