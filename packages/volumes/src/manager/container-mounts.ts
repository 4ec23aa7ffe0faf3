import type { Container, Mount, MountPropagation, Pod, VolumeMount } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import type { MountedVolume } from './plugin.ts';

/** A part of a volume. */
export interface SubPathPlace {
  /** Relative to the volume. */
  readonly path: string;
  /** Where it was mounted; absent for an image, of which the runtime mounts it. */
  readonly hostPath?: string;
}

/**
 * What of a pod's volumes shows in a container, in the order of its `volumeMounts` (`makeMounts` of
 * `pkg/kubelet/kubelet_pods.go`).
 * @param volumes the pod's volumes that are ready, by name
 * @param recursiveReadOnly whether the runtime can make submounts read-only (KEP-3857)
 * @param subPaths the parts of volumes that mounts show, by the mounts' indices
 * @throws VolumeError `NotMounted` for a volume that is not ready; `UnsupportedMount` for what the runtime cannot do
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

/** The volume that a mount shows, or shows a part of. @throws VolumeError `NotMounted` */
export function mountedVolume<V extends MountedVolume>(
  container: Pick<Container, 'name'>,
  { name }: Pick<VolumeMount, 'name'>,
  volumes: ReadonlyMap<string, V>,
): V {
  const volume = volumes.get(name);
  if (volume !== undefined) return volume;
  throw new VolumeError('NotMounted', `cannot find volume "${name}" to mount into container "${container.name}"`);
}

/** Ways to mount that a pod asks for and this kubelet has not got, one line for each. */
export function unsupportedMounts(pod: Pod): readonly string[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers].flatMap((container) =>
    (container.volumeDevices ?? []).map(
      ({ name }) => `container "${container.name}": block volume "${name}" is not supported by this kubelet`,
    ),
  );
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
