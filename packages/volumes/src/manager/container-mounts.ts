import type { Container, Device, Mount, MountPropagation, VolumeMount } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import type { MountedVolume } from './plugin.ts';

/** A subPath in a volume, with the host path at which it is mounted. */
export interface SubPathPlace {
  /** Path relative to the volume. */
  readonly path: string;
  /** Host path at which the subPath is mounted; absent for an image volume, whose subPath the runtime mounts. */
  readonly hostPath?: string;
}

/**
 * Returns the mounts of a container, in the order of its `volumeMounts` (`makeMounts` of
 * `pkg/kubelet/kubelet_pods.go`).
 * @param volumes the pod's ready volumes, by name
 * @param recursiveReadOnly whether the runtime supports recursive read-only mounts (KEP-3857)
 * @param subPaths the subPaths of the mounts, by index of the mount
 * @throws VolumeError `NotMounted` if a volume is not ready; `UnsupportedMount` if the runtime does not support a mount
 */
export function containerMounts(
  container: Pick<Container, 'name' | 'volumeMounts'>,
  volumes: ReadonlyMap<string, MountedVolume>,
  recursiveReadOnly: boolean,
  subPaths: ReadonlyMap<number, SubPathPlace>,
): readonly Mount[] {
  return (container.volumeMounts ?? []).map((mount, index): Mount => {
    const volume = mountedVolume(container, mount, volumes);
    return {
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: subPaths.get(index)?.hostPath ?? volume.hostPath,
      ...(volume.isImage && { imageVolume: { name: mount.name, subPath: subPaths.get(index)?.path ?? '' } }),
      readOnly: mount.readOnly || volume.readOnly,
      recursiveReadOnly: resolveRecursiveReadOnly(mount, recursiveReadOnly),
      selinuxRelabel: volume.selinuxRelabel,
      propagation: propagationOf(mount),
    };
  });
}

/** Returns the volume of a mount. @throws VolumeError `NotMounted` */
export function mountedVolume<V extends MountedVolume>(
  container: Pick<Container, 'name'>,
  { name }: Pick<VolumeMount, 'name'>,
  volumes: ReadonlyMap<string, V>,
): V {
  const volume = volumes.get(name);
  if (volume !== undefined) return volume;
  throw new VolumeError('NotMounted', `cannot find volume "${name}" to mount into container "${container.name}"`);
}

/**
 * Returns the block devices of a container, in the order of its `volumeDevices` (`makeBlockVolumes` of
 * `pkg/kubelet/kubelet_pods.go`).
 * @param volumes the pod's ready volumes, by name
 * @throws VolumeError `NotMounted` if a volume is not ready; `InvalidPath` if a device path is not absolute
 */
export function containerDevices(
  container: Pick<Container, 'name' | 'volumeDevices'>,
  volumes: ReadonlyMap<string, MountedVolume>,
): readonly Device[] {
  return (container.volumeDevices ?? []).map(({ name, devicePath: containerPath }) => {
    if (!containerPath.startsWith('/')) {
      throw new VolumeError('InvalidPath', `error DevicePath \`${containerPath}\` must be an absolute path`);
    }
    const volume = volumes.get(name);
    if (volume === undefined) {
      const message = `cannot find volume "${name}" to pass into container "${container.name}"`;
      throw new VolumeError('NotMounted', message);
    }
    return { hostPath: volume.hostPath, containerPath, permissions: volume.readOnly ? 'r' : 'mrw' };
  });
}

function propagationOf({ mountPropagation = 'None' }: VolumeMount): MountPropagation {
  if (mountPropagation === 'None' || mountPropagation === 'HostToContainer' || mountPropagation === 'Bidirectional') {
    return mountPropagation;
  }
  throw new VolumeError('UnsupportedMount', `invalid MountPropagation mode: "${mountPropagation}"`);
}

function resolveRecursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const { name, recursiveReadOnly: mode = 'Disabled', mountPropagation = 'None' } = mount;
  if (mode === 'Disabled') return false;
  const refuse = (why: string): VolumeError =>
    new VolumeError('UnsupportedMount', `failed to resolve recursive read-only mode: ${why}`);
  const asked = `volume "${name}" requested recursive read-only mode, but it is not`;
  if (!mount.readOnly) throw refuse(`${asked} read-only`);
  if (mountPropagation !== 'None') throw refuse(`${asked} compatible with propagation "${mountPropagation}"`);
  if (mode === 'IfPossible') return supported;
  if (mode !== 'Enabled') throw refuse(`unknown recursive read-only mode "${mode}"`);
  if (!supported) throw refuse(`${asked} supported by the runtime`);
  return true;
}
