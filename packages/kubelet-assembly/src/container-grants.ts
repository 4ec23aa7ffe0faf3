import type { DeviceManager } from '@node-agent/device-manager';
import type { DraManager } from '@node-agent/dra';
import type { PodRuntimeComponents } from '@node-agent/runtime';
import type { VolumeManager } from '@node-agent/volumes';

type Grants = NonNullable<PodRuntimeComponents['grants']>;
type Devices = Pick<DeviceManager, 'containerDevices'>;
type Claims = Pick<DraManager, 'cdiDevices'>;
type Volumes = Pick<VolumeManager, 'containerDevices'>;

/**
 * Combines the devices, mounts and variables that containers get from the device manager, from ResourceClaims and from
 * block volumes. The CDI devices of claims come first (`GetResources` in `pkg/kubelet/cm/container_manager_linux.go`).
 * A CDI device of both the device manager and a ResourceClaim is named only once. The devices of block volumes come
 * last.
 */
export function containerGrants(volumes: Volumes, devices: Devices | undefined, claims: Claims | undefined): Grants {
  return {
    async options(pod, container, signal) {
      const claimed = (await claims?.cdiDevices(pod, container)) ?? [];
      const own = (await devices?.containerDevices(pod, container, signal)) ?? NOTHING;
      const blocks = volumes.containerDevices(pod, container);
      return {
        ...own,
        devices: [...own.devices, ...blocks],
        cdiDevices: [...new Set([...claimed, ...own.cdiDevices])],
      };
    },
  };
}

const NOTHING: Awaited<ReturnType<Grants['options']>> = {
  envs: [],
  mounts: [],
  devices: [],
  annotations: {},
  cdiDevices: [],
};
