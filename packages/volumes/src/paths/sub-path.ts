import { expand, type VolumeMount } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';

/** A variable of a container's environment. */
export interface MountVariable {
  readonly name: string;
  readonly value: string;
}

/**
 * The path in its volume that a mount shows, its expression expanded from the container's environment; '' for all of it
 * (`ExpandContainerVolumeMounts` and `makeMounts` of `pkg/kubelet`).
 * @throws VolumeError `InvalidPath` where a variable has no value, and for a path that is absolute or goes back (W3)
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

/** An empty value counts as none. */
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
