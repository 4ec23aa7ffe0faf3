import { applyDefaults, applyEvictionDefaults, durationMs } from './defaults.ts';
import { formatMs } from './duration.ts';
import { resolveFeatureGates } from './feature-gates/feature-gates.ts';
import type { KubeletConfiguration, KubeletConfigurationV1beta1 } from './generated/kubelet-configuration.ts';
import { type Draft, isObject } from './merge.ts';
import { parseQuantity } from './quantity.ts';
import type { Field, FieldType, Json } from './schema/field.ts';
import { API_VERSION, configurationFields, KIND } from './schema/kubelet-configuration.ts';

/** Converts a complete configuration from wire form to the program's form. */
export function normalizeConfiguration(draft: Draft): KubeletConfiguration {
  // The cast is safe, because the interface is generated from the table that this function reads.
  return normalizeObject(configurationFields, draft) as unknown as KubeletConfiguration;
}

/**
 * Returns the configuration of an empty file: all defaults of v1beta1, including hard eviction thresholds. @param set
 * properties that replace the defaults, for programs that embed a part of the kubelet and have no file
 */
export function defaultConfiguration(set: Partial<KubeletConfiguration> = {}): KubeletConfiguration {
  const draft = applyDefaults(applyEvictionDefaults({}), resolveFeatureGates({}).gates);
  return { ...normalizeConfiguration(draft), ...set };
}

/** Returns the configuration in the form of a file with every default filled in, as /configz serves it. */
export function renderConfiguration(configuration: KubeletConfiguration): KubeletConfigurationV1beta1 {
  const members = renderObject(configurationFields, configuration as unknown as Readonly<Record<string, unknown>>);
  return { apiVersion: API_VERSION, kind: KIND, ...members } as KubeletConfigurationV1beta1;
}

/** Returns the configuration with the values of HTTP headers masked, so that it can be logged (W4). */
export function maskSecrets(configuration: KubeletConfiguration): KubeletConfiguration {
  const names = Object.keys(configuration.staticPodURLHeader);
  return { ...configuration, staticPodURLHeader: Object.fromEntries(names.map((name) => [name, ['<masked>']])) };
}

function normalizeObject(fields: readonly Field[], value: Readonly<Record<string, Json>>): Record<string, unknown> {
  const members: [string, unknown][] = [];
  for (const line of fields) {
    const own = value[line.name];
    if (own !== undefined && own !== null) members.push([line.property, normalizeValue(line.type, own)]);
  }
  return Object.fromEntries(members);
}

/** Converts one value to the program's form. */
export function normalizeValue(type: FieldType, value: Json): unknown {
  switch (type.kind) {
    case 'duration':
      return durationMs(value);
    case 'bytes':
      return Number(parseQuantity(String(value))?.value() ?? 0);
    case 'list':
      return Array.isArray(value) ? value.map((item: Json) => normalizeValue(type.of, item)) : [];
    case 'map':
      return isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalizeValue(type.of, item)]))
        : {};
    case 'object':
      return isObject(value) ? normalizeObject(type.fields, value) : {};
    default:
      return value;
  }
}

function renderObject(fields: readonly Field[], value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const members: [string, unknown][] = [];
  for (const line of fields) {
    const own = value[line.property];
    if (own !== undefined) members.push([line.name, renderValue(line.type, own)]);
  }
  return Object.fromEntries(members);
}

/** Converts one value to the form of a file. The types are not checked, because the configuration matches the table. */
function renderValue(type: FieldType, value: unknown): unknown {
  switch (type.kind) {
    case 'duration':
      return formatMs(value as number);
    case 'bytes':
      return formatBytes(value as number);
    case 'list':
      return (value as readonly unknown[]).map((item) => renderValue(type.of, item));
    case 'map': {
      const entries = Object.entries(value as Readonly<Record<string, unknown>>);
      return Object.fromEntries(entries.map(([key, item]) => [key, renderValue(type.of, item)]));
    }
    case 'object':
      return renderObject(type.fields, value as Readonly<Record<string, unknown>>);
    default:
      return value;
  }
}

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

/** Returns the shortest quantity of a number of bytes: `10Mi`, `1500`. */
function formatBytes(bytes: number): string {
  let mantissa = bytes;
  let index = 0;
  while (mantissa !== 0 && mantissa % 1024 === 0 && index < BINARY.length - 1) {
    mantissa /= 1024;
    index++;
  }
  return `${mantissa}${BINARY[index] ?? ''}`;
}
