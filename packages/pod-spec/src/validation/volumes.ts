import type { Volume } from '../api.ts';
import { duplicate, forbidden, invalid, required } from '../field-error.ts';
import { dns1123LabelProblem } from '../names.ts';
import { validateFieldSelector, validateResourceSelector } from './field-selectors.ts';
import { quantityOrProblem } from './quantities.ts';
import { descendingUnreserved, fileMode, named, noStepUp, oneOf, type Problems, requiredOneOf } from './rules.ts';

type KeyToPath = NonNullable<NonNullable<Volume['secret']>['items']>[number];
type DownwardFile = NonNullable<NonNullable<Volume['downwardAPI']>['items']>[number];
type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
export const PULL_POLICIES: readonly string[] = ['Always', 'IfNotPresent', 'Never'];

/** Validates a pod's volumes. */
export function* validateVolumes(volumes: readonly Volume[], path: string): Problems {
  const names = new Set<string>();
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    yield* validateSource(volume, at);
    if (!volume.name) yield required(`${at}.name`);
    else yield* named(`${at}.name`, volume.name, dns1123LabelProblem);
    if (names.has(volume.name)) yield duplicate(`${at}.name`, volume.name);
    names.add(volume.name);
  }
}

function* validateSource(volume: Volume, path: string): Problems {
  const [first, ...others] = Object.entries(volume).filter(([key, value]) => key !== 'name' && value);
  if (first === undefined) yield required(path, 'must specify a volume type');
  for (const [key] of others) yield forbidden(`${path}.${key}`, 'may not specify more than 1 volume type');
  if (others.length > 0) return;
  const { configMap, csi, downwardAPI, emptyDir, hostPath, image, nfs, persistentVolumeClaim, projected, secret } =
    volume;
  if (emptyDir?.sizeLimit !== undefined) {
    const { quantity } = quantityOrProblem(emptyDir.sizeLimit);
    if (quantity === undefined || quantity.nanos < 0n) {
      yield forbidden(`${path}.emptyDir.sizeLimit`, 'SizeLimit field must be a valid resource quantity');
    }
  }
  if (hostPath) yield* validateHostPath(hostPath, `${path}.hostPath`);
  if (secret) {
    if (!secret.secretName) yield required(`${path}.secret.secretName`);
    yield* validateFiles(secret, `${path}.secret`);
  }
  if (configMap) {
    if (!configMap.name) yield required(`${path}.configMap.name`);
    yield* validateFiles(configMap, `${path}.configMap`);
  }
  if (downwardAPI) {
    yield* fileMode(`${path}.downwardAPI.defaultMode`, downwardAPI.defaultMode);
    for (const file of downwardAPI.items ?? []) yield* validateDownwardFile(file, `${path}.downwardAPI`);
  }
  if (projected) {
    yield* fileMode(`${path}.projected.defaultMode`, projected.defaultMode);
    yield* validateProjections(projected.sources ?? [], `${path}.projected`);
  }
  if (persistentVolumeClaim && !persistentVolumeClaim.claimName) {
    yield required(`${path}.persistentVolumeClaim.claimName`);
  }
  if (csi && !csi.driver) yield required(`${path}.csi.driver`);
  if (nfs) yield* validateNfs(nfs, `${path}.nfs`);
  if (image) {
    if (!image.reference) yield required(`${path}.image.reference`);
    yield* requiredOneOf(`${path}.image.pullPolicy`, image.pullPolicy, PULL_POLICIES);
  }
}

function* validateHostPath(hostPath: NonNullable<Volume['hostPath']>, path: string): Problems {
  if (!hostPath.path) {
    yield required(`${path}.path`);
    return;
  }
  yield* noStepUp(`${path}.path`, hostPath.path);
  yield* oneOf(`${path}.type`, hostPath.type, HOST_PATH_TYPES);
}

function* validateNfs(nfs: NonNullable<Volume['nfs']>, path: string): Problems {
  if (!nfs.server) yield required(`${path}.server`);
  if (!nfs.path) yield required(`${path}.path`);
  if (!nfs.path?.startsWith('/')) yield invalid(`${path}.path`, nfs.path, 'must be an absolute path');
}

function* validateFiles(
  source: { readonly defaultMode?: number; readonly items?: readonly KeyToPath[] },
  path: string,
): Problems {
  yield* fileMode(`${path}.defaultMode`, source.defaultMode);
  for (const [index, item] of (source.items ?? []).entries()) yield* validateItem(item, `${path}.items[${index}]`);
}

function* validateItem(item: KeyToPath, path: string): Problems {
  if (!item.key) yield required(`${path}.key`);
  if (!item.path) yield required(`${path}.path`);
  yield* descendingUnreserved(`${path}.path`, item.path ?? '');
  yield* fileMode(`${path}.mode`, item.mode);
}

function* validateDownwardFile(file: DownwardFile, path: string): Problems {
  if (!file.path) yield required(`${path}.path`);
  yield* descendingUnreserved(`${path}.path`, file.path ?? '');
  if (file.fieldRef) {
    yield* validateFieldSelector(file.fieldRef, `${path}.fieldRef`, 'volume');
    if (file.resourceFieldRef) {
      yield invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    }
  } else if (file.resourceFieldRef) {
    yield* validateResourceSelector(file.resourceFieldRef, `${path}.resourceFieldRef`, 'volume');
  } else yield required(path, 'one of fieldRef and resourceFieldRef is required');
  yield* fileMode(`${path}.mode`, file.mode);
}

function* validateProjections(sources: readonly Projection[], path: string): Problems {
  const paths = new Set<string>();
  for (const [index, source] of sources.entries()) {
    const at = `${path}.sources[${index}]`;
    const kinds = Object.values(source).filter((value) => value);
    if (kinds.length > 1) yield forbidden(at, 'may not specify more than 1 volume type per source');
    for (const kind of ['secret', 'configMap'] as const) {
      if (source[kind] && !source[kind].name) yield required(`${at}.${kind}.name`);
      yield* validateFiles({ items: source[kind]?.items ?? [] }, `${at}.${kind}`);
    }
    for (const file of source.downwardAPI?.items ?? []) yield* validateDownwardFile(file, `${at}.downwardAPI`);
    if (source.serviceAccountToken) yield* validateToken(source.serviceAccountToken, `${at}.serviceAccountToken`, path);
    for (const one of projectedPaths(source)) {
      if (paths.has(one)) yield invalid(path, one, 'conflicting duplicate paths');
      paths.add(one);
    }
  }
}

function* validateToken(token: NonNullable<Projection['serviceAccountToken']>, path: string, volume: string): Problems {
  const seconds = token.expirationSeconds ?? 3600;
  const at = `${path}.expirationSeconds`;
  if (seconds < 600) yield invalid(at, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > 2 ** 32) yield invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds');
  if (!token.path) yield required(`${volume}.path`);
  else yield* descendingUnreserved(`${volume}.path`, token.path);
}

/** Returns the paths of the files that a source declares; two files with the same path would conflict. */
function projectedPaths(source: Projection): readonly string[] {
  const { configMap, downwardAPI, secret } = source;
  const items = [...(secret?.items ?? []), ...(configMap?.items ?? []), ...(downwardAPI?.items ?? [])];
  return items.map((item) => item.path).filter((path) => path !== '');
}
