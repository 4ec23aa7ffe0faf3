import type { DeviceManager } from '@node-agent/device-manager';
import type { DraManager } from '@node-agent/dra';
import type { PodRuntimeComponents } from '@node-agent/runtime';

type Grants = NonNullable<PodRuntimeComponents['grants']>;
type Devices = Pick<DeviceManager, 'containerDevices'>;
type Claims = Pick<DraManager, 'cdiDevices'>;

/**
 * Joins what the device manager and the manager of ResourceClaims give to containers. The CDI devices of claims come
 * first (`GetResources` in `pkg/kubelet/cm/container_manager_linux.go`); a device that both give is named once.
 */
export function containerGrants(devices: Devices | undefined, claims: Claims | undefined): Grants | undefined {
  if (devices === undefined && claims === undefined) return undefined;
  return {
    async options(pod, container, signal) {
      const claimed = (await claims?.cdiDevices(pod, container)) ?? [];
      const own = (await devices?.containerDevices(pod, container, signal)) ?? NOTHING;
      return { ...own, cdiDevices: [...new Set([...claimed, ...own.cdiDevices])] };
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
