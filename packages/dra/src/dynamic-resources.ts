import { type ClaimInfo, devicesOfRequest } from './claim-info.ts';

/** Devices of a container from one claim, as the pod resources API shows them. */
export interface DynamicResource {
  readonly claimName: string;
  readonly claimNamespace: string;
  readonly claimResources: readonly {
    readonly cdiDevices: readonly { readonly name: string }[];
    readonly driverName: string;
    readonly poolName: string;
    readonly deviceName: string;
    readonly shareId?: string;
  }[];
}

/**
 * Returns all devices of a claim (`GetDynamicResources` in `pkg/kubelet/cm/container_manager_linux.go`). Each device is
 * returned with its own CDI names. Difference: upstream also returns the CDI names of the driver's preceding devices.
 */
export function dynamicResource(info: ClaimInfo): DynamicResource {
  const claimResources = devicesOfRequest(info, '').map(([driverName, { pool, device, shareId, cdiDeviceIds }]) => ({
    cdiDevices: cdiDeviceIds.map((id) => ({ name: id })),
    ...{ driverName, poolName: pool, deviceName: device },
    ...(shareId !== undefined && { shareId }),
  }));
  return { claimName: info.name, claimNamespace: info.namespace, claimResources };
}
