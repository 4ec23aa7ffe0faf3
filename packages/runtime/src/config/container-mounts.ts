import {
  type Mount as CriMount,
  type IDMapping,
  type Init,
  MountPropagation,
  type UserNamespace,
} from '@node-agent/cri-client';
import type { Container, Mount, Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import type { ContainerContext } from './context.ts';

const PROPAGATION: Readonly<Record<Mount['propagation'], MountPropagation>> = {
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
};

/**
 * A container's mounts as the runtime is told them: volumes and hosts file, then the termination message file.
 * @throws PodRuntimeError `Unsupported` where the container mounts a volume made from an image (KEP-4639)
 */
export function containerMounts(
  pod: Pod,
  container: Container,
  context: ContainerContext,
  namespace: Init<UserNamespace> | null | undefined,
): readonly Init<CriMount>[] {
  refuseImageVolumes(pod, container);
  const mappings: { uidMappings: readonly Init<IDMapping>[]; gidMappings: readonly Init<IDMapping>[] } = {
    uidMappings: namespace?.uids ?? [],
    gidMappings: namespace?.gids ?? [],
  };
  const mounts = context.mounts.map(
    (mount): Init<CriMount> => ({
      hostPath: mount.hostPath,
      containerPath: mount.containerPath,
      readonly: mount.readOnly,
      recursiveReadOnly: mount.recursiveReadOnly,
      selinuxRelabel: mount.selinuxRelabel && (context.selinuxEnabled ?? false),
      propagation: PROPAGATION[mount.propagation],
      ...mappings,
    }),
  );
  const { terminationMessageFile } = context;
  const { terminationMessagePath } = container;
  if (terminationMessageFile === undefined || !terminationMessagePath) return mounts;
  return [
    ...mounts,
    {
      hostPath: terminationMessageFile,
      containerPath: terminationMessagePath.startsWith('/') ? terminationMessagePath : `/${terminationMessagePath}`,
      selinuxRelabel: context.selinuxEnabled ?? false,
      ...mappings,
    },
  ];
}

function refuseImageVolumes(pod: Pod, container: Container): void {
  const mounted = new Set(container.volumeMounts?.map((mount) => mount.name));
  const volume = pod.spec.volumes?.find(({ name, image }) => image && mounted.has(name));
  if (!volume) return;
  throw new PodRuntimeError('Unsupported', `volume ${volume.name}: image volumes are not supported by this kubelet`);
}
