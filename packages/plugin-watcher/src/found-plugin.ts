import { type Service, service } from '@node-agent/grpc';
import { registrationRpcs } from './generated/services.ts';

/** Description of a fake plugin that is found by its socket. */
export interface FoundPlugin {
  /** Plugin type: `DevicePlugin`, `CSIPlugin`, `DRAPlugin`. */
  readonly type: string;
  /** Plugin name; for a device plugin, its resource. */
  readonly name: string;
  readonly versions: readonly string[];
  /** Socket of the plugin's service. Default: the socket at which it was found. */
  readonly endpoint?: string;
  /** Called with the registration result: the error, or `undefined` on success. */
  readonly onStatus?: (error: string | undefined) => void;
}

/** Returns the registration service of a plugin (`pluginregistration/v1`), for tests. */
export function foundPlugin({ type, name, versions, endpoint = '', onStatus }: FoundPlugin): Service {
  return service(registrationRpcs, {
    getInfo: async () => ({ type, name, endpoint, supportedVersions: versions }),
    notifyRegistrationStatus: async ({ pluginRegistered, error }) => {
      onStatus?.(pluginRegistered ? undefined : error);
      return {};
    },
  });
}
