import type { Container, Mount, MountPropagation, Pod, VolumeMount } from '@node-agent/pod-spec';
import { VolumeError } from './errors.ts';
import type { MountedVolume } from './plugin.ts';

/**
 * What of a pod's volumes shows in a container, in the order of its `volumeMounts` (`makeMounts` of
 * `pkg/kubelet/kubelet_pods.go`).
 * @param volumes the pod's volumes that are ready, by name
 * @param recursiveReadOnly whether the runtime can make submounts read-only (KEP-3857)
 * @throws VolumeError `NotMounted` for a volume that is not ready; `UnsupportedMount` for a sub-path, and for what the
 *   runtime cannot do
 */
export function containerMounts(
  container: Pick<Container, 'name' | 'volumeMounts'>,
  volumes: ReadonlyMap<string, MountedVolume>,
  recursiveReadOnly: boolean,
): readonly Mount[] {
  return (container.volumeMounts ?? []).map((mount): Mount => {
    const volume = volumes.get(mount.name);
    if (volume === undefined) {
      const message = `cannot find volume "${mount.name}" to mount into container "${container.name}"`;
      throw new VolumeError('NotMounted', message);
    }
    const unsupported = unsupportedMount(container.name, mount);
    if (unsupported !== undefined) throw new VolumeError('UnsupportedMount', unsupported);
    return {
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: volume.hostPath,
      readOnly: (mount.readOnly ?? false) || volume.readOnly,
      recursiveReadOnly: resolveRecursiveReadOnly(mount, recursiveReadOnly),
      selinuxRelabel: volume.selinuxRelabel,
      propagation: propagationOf(mount),
    };
  });
}

/** Ways to mount that a pod asks for and this kubelet has not got, one line for each. */
export function unsupportedMounts(pod: Pod): readonly string[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers].flatMap((container) => {
    const mounts = (container.volumeMounts ?? []).map((mount) => unsupportedMount(container.name, mount));
    const devices = (container.volumeDevices ?? []).map(
      ({ name }) => `container "${container.name}": block volume "${name}" is not supported by this kubelet`,
    );
    return [...mounts.filter((message) => message !== undefined), ...devices];
  });
}

function unsupportedMount(container: string, { name, subPath, subPathExpr }: VolumeMount): string | undefined {
  const field = subPath ? 'subPath' : subPathExpr ? 'subPathExpr' : undefined;
  return field && `container "${container}": ${field} of volume mount "${name}" is not supported by this kubelet`;
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
    new VolumeError('UnsupportedMount', `failed to resolve recursive read-only mode: volume "${name}" ${why}`);
  if (!mount.readOnly) throw refuse('requested recursive read-only mode, but it is not read-only');
  if (mountPropagation !== 'None') {
    throw refuse(`requested recursive read-only mode, but it is not compatible with propagation "${mountPropagation}"`);
  }
  if (mode === 'IfPossible') return supported;
  if (mode !== 'Enabled') throw refuse(`has an unknown recursive read-only mode "${mode}"`);
  if (!supported) throw refuse('requested recursive read-only mode, but it is not supported by the runtime');
  return true;
}
