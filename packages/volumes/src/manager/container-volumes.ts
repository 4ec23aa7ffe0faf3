import type { Container, Device, Mount, Pod } from '@node-agent/pod-spec';
import { volumeGid } from '../claims/claim-rule.ts';
import { type MountVariable, subPathOf } from '../paths/sub-path.ts';
import type { SubPathMounts } from '../paths/sub-path-mounts.ts';
import { containerDevices, containerMounts, mountedVolume, type SubPathPlace } from './container-mounts.ts';
import type { VolumeEntries } from './volume-entries.ts';

/** Dependencies of {@link ContainerVolumes}. */
export interface ContainerVolumesComponents {
  readonly entries: Pick<VolumeEntries, 'allMounted' | 'mounted'>;
  readonly subPaths: Pick<SubPathMounts, 'prepare'>;
  readonly supportsRecursiveReadOnly: (pod: Pod) => boolean;
}

/** Determines mounts, devices and supplemental groups that containers of a pod get from the pod's ready volumes. */
export class ContainerVolumes {
  readonly #components: ContainerVolumesComponents;

  constructor(components: ContainerVolumesComponents) {
    this.#components = components;
  }

  /** Implements `VolumeManager.containerMounts`. */
  async mounts(
    pod: Pod,
    container: Container,
    environment: readonly MountVariable[],
    signal: AbortSignal,
  ): Promise<readonly Mount[]> {
    const { entries, supportsRecursiveReadOnly } = this.#components;
    const { uid: podUid } = pod.metadata;
    const volumes = entries.allMounted(podUid);
    const subPaths = new Map<number, SubPathPlace>();
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
      const path = subPathOf(mount, environment);
      if (path === '') continue;
      const volume = mountedVolume(container, mount, volumes);
      if (volume.isImage) {
        subPaths.set(index, { path });
        continue;
      }
      const { directoryName } = volume.resolved;
      const part = { podUid, container: container.name, volumeName: mount.name, directoryName, volume, index, path };
      subPaths.set(index, { path, hostPath: await this.#components.subPaths.prepare(part, signal) });
    }
    return containerMounts(container, volumes, supportsRecursiveReadOnly(pod), subPaths);
  }

  /** Implements `VolumeManager.containerDevices`. */
  devices({ metadata }: Pod, container: Pick<Container, 'name' | 'volumeDevices'>): readonly Device[] {
    return containerDevices(container, this.#components.entries.allMounted(metadata.uid));
  }

  /** Implements `VolumeManager.extraSupplementalGroups`. */
  supplementalGroups({ metadata, spec }: Pod): readonly number[] {
    const own = spec.securityContext?.supplementalGroups ?? [];
    const ready = [...this.#components.entries.allMounted(metadata.uid).values()];
    const asked = ready.map(({ resolved: { persistent } }) => persistent && volumeGid(persistent));
    return [...new Set(asked.filter((gid) => gid !== undefined))].filter((gid) => !own.includes(gid));
  }

  /** Implements `VolumeManager.volumePath`. */
  path({ metadata }: Pod, volumeName: string): string | undefined {
    return this.#components.entries.mounted(metadata.uid, volumeName)?.hostPath || undefined;
  }
}
