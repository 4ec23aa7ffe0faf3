import { posix } from 'node:path';
import type { Pod } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';

/** The directories that volumes need for others, by the name of the volume, relative to it. */
export type NestedMounts = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * What containers of a pod mount below volumes (`getNestedMountpoints` of `pkg/volume/util/nested_volumes.go`): of all volumes in one go,
 * as each of thousands may have the others beside it.
 */
export function nestedMounts({
  spec: { initContainers = [], containers, ephemeralContainers = [] },
}: Pod): NestedMounts {
  const found = new Map<string, Set<string>>();
  for (const { volumeMounts = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    // The runtime takes a relative path from the root. What is mounted, by path, a slash at its end.
    const mounted = new Map<string, Set<string>>();
    for (const { name, mountPath } of volumeMounts) {
      const path = posix.resolve('/', mountPath).replace(/\/?$/, '/');
      mounted.set(path, (mounted.get(path) ?? new Set()).add(name));
    }
    // Who is below another comes right after it and who else is below that: one below another one is that one's to make.
    const above: string[] = [];
    for (const path of [...mounted.keys()].sort()) {
      while (!path.startsWith(above.at(-1) ?? '')) above.pop();
      const parent = above.at(-1) ?? '';
      for (const name of mounted.get(parent) ?? []) {
        found.set(name, (found.get(name) ?? new Set()).add(path.slice(parent.length, -1)));
      }
      above.push(path);
    }
  }
  return found;
}

/**
 * The directories that a volume needs for other volumes that containers mount below it, relative to it: it is read-only, so no runtime can
 * make them later.
 * @throws VolumeError `InvalidPath` for one that would lead out of the volume, or into what its writer keeps there (W3)
 */
export function nestedMountPoints(mounts: NestedMounts, volumeName: string): readonly string[] {
  const found = [...(mounts.get(volumeName) ?? [])];
  const bad = found.find((path) => path.startsWith('..') || path.includes('\0'));
  if (bad !== undefined) throw new VolumeError('InvalidPath', `invalid container mount point ${bad}`);
  return found.sort();
}
