import { type Service, service } from '@node-agent/grpc';
import { registrationRpcs } from './generated/services.ts';

/** What a plugin says of itself where it is found by its socket. */
export interface FoundPlugin {
  /** `DevicePlugin`, `CSIPlugin`, `DRAPlugin`. */
  readonly type: string;
  /** Of a device plugin: its resource. */
  readonly name: string;
  readonly versions: readonly string[];
  /** Where it serves what it is for; the socket that it was found by where absent. */
  readonly endpoint?: string;
  /** Told whether it was taken, or why not. */
  readonly onStatus?: (error: string | undefined) => void;
}

/** The service by which a kubelet learns what it has found (`pluginregistration/v1`), for plugins of tests. */
export function foundPlugin({ type, name, versions, endpoint = '', onStatus }: FoundPlugin): Service {
  return service(registrationRpcs, {
    getInfo: async () => ({ type, name, endpoint, supportedVersions: versions }),
    notifyRegistrationStatus: async ({ pluginRegistered, error }) => {
      onStatus?.(pluginRegistered ? undefined : error);
      return {};
    },
  });
}
