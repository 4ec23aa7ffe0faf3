import { VolumeError } from '../errors.ts';
import type { Payload, ProjectedFile } from './payload.ts';
import type { ConfigMapData, SecretData } from './sources.ts';

/**
 * Selects which keys of an object become which files. If no keys are selected, all keys become files with the keys'
 * names.
 */
export interface KeySelection {
  readonly items?: readonly { readonly key: string; readonly path: string; readonly mode?: number }[];
  /** Whether the object, or a selected key, may be missing. */
  readonly optional?: boolean;
}

/**
 * Returns the files of a configMap (`MakePayload` of `pkg/volume/configmap`). If a key is in both `data` and
 * `binaryData`, `data` takes precedence for a selected key, and `binaryData` if no keys are selected.
 * @throws VolumeError `MissingObject` if a required object or key does not exist
 */
export function configMapPayload(
  name: string,
  configMap: ConfigMapData | undefined,
  selection: KeySelection,
  defaultMode: number,
): Payload {
  if (configMap === undefined && !selection.optional) throw missing(`configmap "${name}" not found`);
  const text = entries(configMap?.data);
  const binary = entries(configMap?.binaryData, 'base64');
  const values = new Map(selection.items?.length ? [...binary, ...text] : [...text, ...binary]);
  return select(values, selection, defaultMode, (key) => `configmap references non-existent config key: ${key}`);
}

/**
 * Returns the files of a secret (`MakePayload` of `pkg/volume/secret`).
 * @throws VolumeError `MissingObject` if a required object or key does not exist
 */
export function secretPayload(
  name: string,
  secret: SecretData | undefined,
  selection: KeySelection,
  defaultMode: number,
): Payload {
  if (secret === undefined && !selection.optional) throw missing(`secret "${name}" not found`);
  const values = new Map(entries(secret?.data, 'base64'));
  return select(values, selection, defaultMode, (key) => `references non-existent secret key: ${key}`);
}

function select(
  values: ReadonlyMap<string, Uint8Array>,
  { items = [], optional = false }: KeySelection,
  defaultMode: number,
  missingKey: (key: string) => string,
): Payload {
  const payload = new Map<string, ProjectedFile>();
  if (items.length === 0) for (const [key, data] of values) payload.set(key, { data, mode: defaultMode });
  for (const { key, path, mode = defaultMode } of items) {
    const data = values.get(key);
    if (data !== undefined) payload.set(path, { data, mode });
    else if (!optional) throw missing(missingKey(key));
  }
  return payload;
}

/**
 * Returns the entries of a ConfigMap or secret with decoded values. @param encoding encoding of the values; if absent,
 * the values are plain text
 */
function entries(data: Readonly<Record<string, string>> | undefined, encoding?: 'base64'): [string, Uint8Array][] {
  return Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]);
}

function missing(message: string): VolumeError {
  return new VolumeError('MissingObject', message);
}
