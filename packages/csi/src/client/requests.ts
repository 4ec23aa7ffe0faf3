import type {
  CsiAccessMode,
  CsiExpandRequest,
  CsiPublishRequest,
  CsiStageRequest,
  CsiVolumeCapability,
} from '@node-agent/contracts';
import type { Init } from '@node-agent/grpc';
import type {
  NodeExpandVolumeRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  VolumeCapability,
} from '../generated/types.ts';
import { VolumeCapabilityAccessModeMode } from '../generated/types.ts';

/** Returns the capability on the wire, with the access mode that the driver knows. */
function wireCapability({ access }: CsiVolumeCapability, accessMode: CsiAccessMode): Init<VolumeCapability> {
  const mode = { accessMode: { mode: VolumeCapabilityAccessModeMode[accessMode] } };
  if (access.type === 'block') return { ...mode, block: {} };
  const { fsType, mountFlags, volumeMountGroup } = access;
  return { ...mode, mount: { fsType, mountFlags, volumeMountGroup } };
}

export function stageRequest(request: CsiStageRequest, accessMode: CsiAccessMode): Init<NodeStageVolumeRequest> {
  const { volumeId, publishContext, stagingTargetPath, capability, secrets, volumeContext } = request;
  const volumeCapability = wireCapability(capability, accessMode);
  return { volumeId, publishContext, stagingTargetPath, volumeCapability, secrets, volumeContext };
}

export function publishRequest(request: CsiPublishRequest, accessMode: CsiAccessMode): Init<NodePublishVolumeRequest> {
  const { volumeId, publishContext, stagingTargetPath, targetPath, readOnly, secrets, volumeContext } = request;
  const volumeCapability = wireCapability(request.capability, accessMode);
  return {
    ...{ volumeId, publishContext, stagingTargetPath, targetPath, volumeCapability, secrets, volumeContext },
    readonly: readOnly,
  };
}

export function expandRequest(request: CsiExpandRequest, accessMode: CsiAccessMode): Init<NodeExpandVolumeRequest> {
  const { volumeId, volumePath, stagingTargetPath, requiredBytes, capability, secrets } = request;
  return {
    ...{ volumeId, volumePath, stagingTargetPath, secrets },
    capacityRange: { requiredBytes },
    volumeCapability: wireCapability(capability, accessMode),
  };
}

/** Returns the name of the first required value that is empty, in upstream's words; `undefined` if all are set. */
export function missingValue(values: Readonly<Record<string, string>>): string | undefined {
  const [name] = Object.entries(values).find(([, value]) => value === '') ?? [];
  return name === undefined ? undefined : `missing ${name}`;
}
