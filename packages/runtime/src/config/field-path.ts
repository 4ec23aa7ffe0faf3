import { dns1123SubdomainProblem, type Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';

const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** Addresses that only the node and the runtime know. */
export interface PodAddresses {
  /** The primary one first; none while the sandbox has none. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

/**
 * The value of a `fieldRef` of the downward API (`pkg/fieldpath`, `podFieldSelectorRuntimeValue` upstream).
 * @throws PodRuntimeError `InvalidSpec` for a field that cannot be referred to
 */
export function podFieldValue(
  pod: Pod,
  fieldPath: string,
  { podIps, hostIps }: PodAddresses,
  apiVersion = 'v1',
): string {
  if (apiVersion !== 'v1') throw invalid(`unsupported pod version: ${apiVersion}`);
  const { metadata, spec } = pod;
  const subscripted = /^(.+?)\['(.*)'\]$/s.exec(fieldPath);
  if (subscripted) {
    const [, path, key = ''] = subscripted;
    if (path === 'metadata.annotations') return entry(metadata.annotations, key, key.toLowerCase(), fieldPath);
    if (path === 'metadata.labels') return entry(metadata.labels, key, key, fieldPath);
    throw invalid(`field label does not support subscript: ${fieldPath}`);
  }
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return formatMap(metadata.labels ?? {});
    case 'metadata.annotations':
      return formatMap(metadata.annotations ?? {});
    case 'spec.nodeName':
    case 'spec.host': // as clients of old wrote it
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.podIP':
      return podIps[0] ?? '';
    case 'status.podIPs':
      return podIps.join(',');
    case 'status.hostIP':
      return requireHostIps(hostIps)[0] ?? '';
    case 'status.hostIPs':
      return requireHostIps(hostIps).join(',');
    case 'spec.restartPolicy':
    case 'spec.schedulerName':
    case 'status.phase':
      throw invalid(`unsupported fieldPath: ${fieldPath}`);
    default:
      throw invalid(`field label not supported: ${fieldPath}`);
  }
}

/** A map as the downward API writes it: `key="value"`, one a line, sorted by key, quoted as Go quotes. */
export function formatMap(map: Readonly<Record<string, string>>): string {
  const byKey = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  return byKey.map(([key, value]) => `${key}=${quote(value)}`).join('\n');
}

const NAMED_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

function quote(text: string): string {
  const escaped = Array.from(text.toWellFormed(), (character) => {
    const named = NAMED_ESCAPES[character];
    if (named !== undefined) return named;
    if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) return character;
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
    return code < 0x1_0000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return `"${escaped.join('')}"`;
}

function entry(
  map: Readonly<Record<string, string>> | undefined,
  key: string,
  qualifiedName: string,
  fieldPath: string,
): string {
  const parts = qualifiedName.split('/');
  const name = parts.pop() ?? '';
  const [prefix] = parts;
  const valid =
    name.length <= 63 &&
    NAME.test(name) &&
    parts.length <= 1 &&
    (prefix === undefined || dns1123SubdomainProblem(prefix).length === 0);
  if (!valid) throw invalid(`invalid key subscript in ${fieldPath}: not a qualified name`);
  return map && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

function requireHostIps(hostIps: readonly string[]): readonly string[] {
  if (hostIps.length === 0) throw invalid("the node's addresses are not known");
  return hostIps;
}

function invalid(message: string): PodRuntimeError {
  return new PodRuntimeError('InvalidSpec', message);
}
