import { expand, type VolumeMount } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';

/** Environment variable of a container. */
export interface MountVariable {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns the subPath of a mount, with its expression expanded from the container's environment; '' for the whole
 * volume (`ExpandContainerVolumeMounts` and `makeMounts` of `pkg/kubelet`).
 * @throws VolumeError `InvalidPath` if a variable has no value, or the path is absolute or contains `..` (W3)
 */
export function subPathOf(
  { subPath = '', subPathExpr = '' }: Pick<VolumeMount, 'subPath' | 'subPathExpr'>,
  environment: readonly MountVariable[],
): string {
  const path = subPathExpr === '' ? subPath : expanded(subPathExpr, environment);
  if (path.startsWith('/')) {
    throw new VolumeError('InvalidPath', `error SubPath \`${path}\` must not be an absolute path`);
  }
  if (path.split('/').includes('..')) {
    throw new VolumeError('InvalidPath', `unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  if (path.includes('\0')) {
    throw new VolumeError('InvalidPath', `unable to provision SubPath: must not contain a NUL character`);
  }
  return path;
}

/** Expands the expression; an empty value counts as missing. */
function expanded(expression: string, environment: readonly MountVariable[]): string {
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const missing = new Set<string>();
  const path = expand(expression, (name) => {
    const value = values.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size === 0) return path;
  throw new VolumeError('InvalidPath', `missing value for ${[...missing].sort().join(', ')}`);
}
