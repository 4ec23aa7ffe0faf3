import { posix } from 'node:path';
import type { Pod } from '@node-agent/pod-spec';
import { VolumeError } from './errors.ts';

/**
 * The directories that a volume needs for other volumes that containers mount below it, relative to it
 * (`getNestedMountpoints` of `pkg/volume/util/nested_volumes.go`): it is read-only, so no runtime can make them later.
 * @throws VolumeError `InvalidPath` for one that would lead out of the volume, or into what its writer keeps there (W3)
 */
export function nestedMountPoints(pod: Pod, volumeName: string): readonly string[] {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const found = new Set<string>();
  for (const { volumeMounts = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    // The runtime takes a relative path from the root.
    const mounts = volumeMounts.map(({ name, mountPath }) => ({ name, path: posix.resolve('/', mountPath) }));
    for (const own of mounts.filter(({ name }) => name === volumeName)) {
      const below = own.path === '/' ? '/' : `${own.path}/`;
      const inside = mounts.filter(({ path }) => path.startsWith(below) && path !== own.path).map(({ path }) => path);
      // One below another one is that one's to make.
      const outermost = inside.filter((path) => !inside.some((other) => path.startsWith(`${other}/`)));
      for (const path of outermost) found.add(path.slice(below.length));
    }
  }
  const bad = [...found].find((path) => path.startsWith('..') || path.includes('\0'));
  if (bad !== undefined) throw new VolumeError('InvalidPath', `invalid container mount point ${bad}`);
  return [...found].sort();
}
