import type { Handlers } from '@node-agent/grpc';
import type { identityRpcs } from '../generated/services.ts';
import { PluginCapabilityServiceType, PluginCapabilityVolumeExpansionType } from '../generated/types.ts';
import type { DriverOptions } from '../options/driver-options.ts';

/** Version of the driver that `GetPluginInfo` reports. */
export const DRIVER_VERSION = '1.0.0';

/** Returns the handlers of the Identity service. */
export function identityHandlers(options: DriverOptions): Handlers<typeof identityRpcs> {
  const { CONTROLLER_SERVICE, VOLUME_ACCESSIBILITY_CONSTRAINTS, GROUP_CONTROLLER_SERVICE } =
    PluginCapabilityServiceType;
  const services = [
    CONTROLLER_SERVICE,
    GROUP_CONTROLLER_SERVICE,
    ...(options.hasTopology ? [VOLUME_ACCESSIBILITY_CONSTRAINTS] : []),
  ];
  const expands = options.expandsOnController || options.expandsOnNode;
  return {
    getPluginInfo: async () => ({ name: options.driverName, vendorVersion: DRIVER_VERSION }),
    getPluginCapabilities: async () => ({
      capabilities: [
        ...services.map((type) => ({ service: { type } })),
        ...(expands ? [{ volumeExpansion: { type: PluginCapabilityVolumeExpansionType.ONLINE } }] : []),
      ],
    }),
    probe: async () => ({ ready: { value: true } }),
  };
}
