import type { Pod } from './api.ts';
import { PodSpecError } from './errors.ts';
import { qualifiedNameProblem } from './names.ts';

/**
 * Returns a metadata field of a pod as the downward API shows it (`ExtractFieldPathAsString` of `pkg/fieldpath`): name,
 * namespace, UID, all labels or annotations, or one of them, for example `metadata.labels['app']`.
 * @throws PodSpecError `InvalidFieldPath` for any other field
 */
export function metadataFieldValue({ metadata }: Pick<Pod, 'metadata'>, fieldPath: string): string {
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
    default:
      throw invalid(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** Formats a map as the downward API does: one `key="value"` per line, sorted by key, with Go's quoting. */
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
  const problems = qualifiedNameProblem(qualifiedName);
  if (problems.length > 0) throw invalid(`invalid key subscript in ${fieldPath}: ${problems.join(';')}`);
  return map && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

function invalid(message: string): PodSpecError {
  return new PodSpecError('InvalidFieldPath', message);
}
