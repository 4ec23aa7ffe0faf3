import {
  type Mount as CriMount,
  type IDMapping,
  type Init,
  MountPropagation,
  type UserNamespace,
} from '@node-agent/cri-client';
import type { Container, Mount } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import { absolutePath } from './absolute-path.ts';
import type { ContainerContext } from './context.ts';

const PROPAGATION: Readonly<Record<Mount['propagation'], MountPropagation>> = {
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
};

/**
 * Returns a container's CRI mounts: volumes and hosts file, then the termination message file.
 * @throws PodRuntimeError `MissingObject` for an image volume whose image was not pulled (KEP-4639)
 */
export function containerMounts(
  container: Container,
  context: ContainerContext,
  namespace: Init<UserNamespace> | null | undefined,
): readonly Init<CriMount>[] {
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
      ...(mount.imageVolume && imageOf(mount.imageVolume, context)),
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
      containerPath: absolutePath(terminationMessagePath),
      selinuxRelabel: context.selinuxEnabled ?? false,
      ...mappings,
    },
  ];
}

function imageOf(
  { name, subPath }: NonNullable<Mount['imageVolume']>,
  { imageVolumes }: ContainerContext,
): Pick<Init<CriMount>, 'image' | 'imageSubPath'> {
  const image = imageVolumes?.get(name);
  if (image === undefined) throw new PodRuntimeError('MissingObject', `the image of volume "${name}" was not pulled`);
  return { image, imageSubPath: subPath };
}
