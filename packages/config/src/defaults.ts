import { nanosecondsToMs, parseDuration } from './duration.ts';
import type { FeatureGates } from './feature-gates/feature-gates.ts';
import { type Draft, getIn, isObject, setIn } from './merge.ts';
import type { Field, FieldType, Json } from './schema/field.ts';
import { configurationFields } from './schema/kubelet-configuration.ts';

/** Hard eviction thresholds of a kubelet whose --config file sets none (pkg/kubelet/eviction/defaults_linux.go). */
export const DEFAULT_EVICTION_HARD: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/**
 * Defaults that apply instead of the usual defaults if there is no --config file, for compatibility with old command
 * lines (`applyLegacyDefaults` in cmd/kubelet/app/options/options.go). Without a --config file, upstream also opens the
 * read-only port 10255; this kubelet keeps it closed.
 */
export const FLAG_DEFAULTS: readonly (readonly [path: readonly string[], value: Json])[] = [
  [['authentication', 'anonymous', 'enabled'], true],
  [['authentication', 'webhook', 'enabled'], false],
  [['authorization', 'mode'], 'AlwaysAllow'],
];

/**
 * Fills in absent values (`SetDefaults_KubeletConfiguration`, pkg/kubelet/apis/config/v1beta1/defaults.go). Values that
 * depend on others are filled in first.
 */
export function applyDefaults(draft: Draft, gates: FeatureGates): Draft {
  return fill(configurationFields, dependentDefaults(draft, gates));
}

/**
 * Fills in hard eviction thresholds of a --config file: all defaults if the file sets none, or the missing defaults if
 * `mergeDefaultEvictionSettings` is true.
 */
export function applyEvictionDefaults(draft: Draft): Draft {
  const own = draft.evictionHard;
  if (own === undefined || own === null) return { ...draft, evictionHard: DEFAULT_EVICTION_HARD };
  if (draft.mergeDefaultEvictionSettings !== true || !isObject(own)) return draft;
  return { ...draft, evictionHard: { ...DEFAULT_EVICTION_HARD, ...own } };
}

function dependentDefaults(draft: Draft, gates: FeatureGates): Draft {
  let result = draft;
  const set = (path: readonly string[], value: Json): void => {
    result = setIn(result, path, value);
  };
  if (isUnset(draft.nodeStatusReportFrequency) && !isUnset(draft.nodeStatusUpdateFrequency)) {
    set(['nodeStatusReportFrequency'], draft.nodeStatusUpdateFrequency ?? null);
  }
  const parallel = draft.maxParallelImagePulls;
  if (isMissing(draft.serializeImagePulls) && typeof parallel === 'number' && parallel >= 2) {
    set(['serializeImagePulls'], false);
  }
  if (typeof draft.podPidsLimit === 'number' && draft.podPidsLimit < 0) set(['podPidsLimit'], -1);
  const restartPeriod = ['crashLoopBackOff', 'maxContainerRestartPeriod'];
  if (gates.enabled('KubeletCrashLoopBackOffMax') && isMissing(getIn(draft, restartPeriod))) {
    set(restartPeriod, '5m0s');
  }
  const policy = draft.imagePullCredentialsVerificationPolicy;
  if (gates.enabled('KubeletEnsureSecretPulledImages') && (isMissing(policy) || policy === '')) {
    set(['imagePullCredentialsVerificationPolicy'], 'NeverVerifyPreloadedImages');
  }
  return result;
}

function isMissing(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null;
}

function isUnset(value: Json | undefined): boolean {
  return isMissing(value) || (typeof value === 'string' && parseDuration(value) === 0n);
}

function fill(fields: readonly Field[], value: Readonly<Record<string, Json>>): Draft {
  const members: [string, Json][] = [];
  for (const line of fields) {
    const filled = fillField(line, value[line.name]);
    if (filled !== undefined) members.push([line.name, filled]);
  }
  return Object.fromEntries(members);
}

function fillField(line: Field, value: Json | undefined): Json | undefined {
  const own = isMissing(value) || (line.zeroIsUnset && isZero(value, line.type)) ? line.default : value;
  return own === undefined ? undefined : fillType(line.type, own);
}

function fillType(type: FieldType, value: Json): Json {
  if (type.kind === 'object' && isObject(value)) return fill(type.fields, value);
  if (type.kind === 'list' && Array.isArray(value)) return value.map((item: Json) => fillType(type.of, item));
  return value;
}

function isZero(value: Json, type: FieldType): boolean {
  if (type.kind !== 'duration') return value === 0 || value === '';
  return value === 0 || (typeof value === 'string' && durationMs(value) === 0);
}

/** Converts a duration in wire form to milliseconds: text, or a whole number of nanoseconds. */
export function durationMs(value: Json): number | undefined {
  if (typeof value === 'number') return nanosecondsToMs(BigInt(value));
  const nanoseconds = typeof value === 'string' ? parseDuration(value) : undefined;
  return nanoseconds === undefined ? undefined : nanosecondsToMs(nanoseconds);
}
