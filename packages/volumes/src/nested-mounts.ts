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
    // The runtime takes a relative path from the root. Whether the volume is mounted there, by path, a slash at its end.
    const isOwn = new Map<string, boolean>();
    for (const { name, mountPath } of volumeMounts) {
      const path = posix.resolve('/', mountPath).replace(/\/?$/, '/');
      isOwn.set(path, name === volumeName || isOwn.get(path) === true);
    }
    // Who is below another comes right after it and who else is below that: one below another one is that one's to make.
    const above: string[] = [];
    for (const path of [...isOwn.keys()].sort()) {
      while (!path.startsWith(above.at(-1) ?? '')) above.pop();
      const parent = above.at(-1);
      if (parent !== undefined && isOwn.get(parent)) found.add(path.slice(parent.length, -1));
      above.push(path);
    }
  }
  const bad = [...found].find((path) => path.startsWith('..') || path.includes('\0'));
  if (bad !== undefined) throw new VolumeError('InvalidPath', `invalid container mount point ${bad}`);
  return [...found].sort();
}
