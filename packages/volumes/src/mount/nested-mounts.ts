import { posix } from 'node:path';
import type { Pod } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';

/** Directories in volumes that are mount points of other volumes: paths relative to the volume, by volume name. */
export type NestedMounts = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Finds the mount points of containers that are inside volumes (`getNestedMountpoints` of
 * `pkg/volume/util/nested_volumes.go`), for all volumes in one pass, because a pod may have thousands of volumes.
 */
export function nestedMounts({
  spec: { initContainers = [], containers, ephemeralContainers = [] },
}: Pod): NestedMounts {
  const found = new Map<string, Set<string>>();
  for (const { volumeMounts = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    // Volumes by absolute mount path with a trailing slash. The runtime resolves relative paths against the root.
    const mounted = new Map<string, Set<string>>();
    for (const { name, mountPath } of volumeMounts) {
      const path = posix.resolve('/', mountPath).replace(/\/?$/, '/');
      mounted.set(path, (mounted.get(path) ?? new Set()).add(name));
    }
    // In sorted order, each path follows its parent paths. A nested mount point belongs only to its closest parent.
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
 * Returns the directories that a volume needs as mount points of other volumes, relative to the volume. The directories
 * must be created with the volume, because the volume is read-only and the runtime cannot create them later.
 * @throws VolumeError `InvalidPath` if a path leads out of the volume or into the atomic writer's own directories (W3)
 */
export function nestedMountPoints(mounts: NestedMounts, volumeName: string): readonly string[] {
  const found = [...(mounts.get(volumeName) ?? [])];
  const bad = found.find((path) => path.startsWith('..') || path.includes('\0'));
  if (bad !== undefined) throw new VolumeError('InvalidPath', `invalid container mount point ${bad}`);
  return found.sort();
}
