import type { CsiNodeCapabilities, CsiPublishRequest } from '@node-agent/contracts';
import type { Pod } from '@node-agent/pod-spec';
import type { CsiInputs } from './csi-inputs.ts';
import type { CsiDriverData } from './csi-objects.ts';
import type { CsiSource } from './csi-source.ts';
import { podInfo } from './driver-rule.ts';

/** A volume to publish, with its CSIDriver object and the driver's capabilities. */
export interface PublishedVolume {
  readonly pod: Pod;
  readonly source: CsiSource;
  readonly csiDriver: CsiDriverData | undefined;
  readonly can: CsiNodeCapabilities;
}

/**
 * Returns the part of a `NodePublishVolume` request that mounted and block volumes have in common. @param step operation,
 * for the error message of a missing secret. @throws VolumeError whose effect is `unchanged`
 */
export async function publishRequest(
  inputs: CsiInputs,
  { pod, source, csiDriver }: PublishedVolume,
  signal: AbortSignal,
  step?: string,
): Promise<
  Pick<CsiPublishRequest, 'volumeId' | 'publishContext' | 'readOnly' | 'secrets' | 'volumeContext' | 'isMigrated'>
> {
  const isPersistent = source.lifecycle === 'Persistent';
  return {
    volumeId: source.handle,
    publishContext: isPersistent ? await inputs.publishContext(source, csiDriver, signal) : {},
    readOnly: source.readOnly,
    secrets: await inputs.secrets(source.publishSecret, 'NodePublishSecretRef', signal, step),
    ...(source.isMigrated && { isMigrated: true }),
    volumeContext: { ...source.attributes, ...(csiDriver?.spec.podInfoOnMount && podInfo(pod, source)) },
  };
}
