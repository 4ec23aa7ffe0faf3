export {
  type CsiFault,
  type CsiNodeCall,
  FakeCsiDriver,
  type FakeCsiDriverOptions,
  type ReceivedCall,
} from './fake/fake-csi-driver.ts';
export type { FakeVolumes, PublishedVolume } from './fake/fake-volumes.ts';
export type {
  CapacityRange,
  NodeExpandVolumeRequest,
  NodeGetVolumeStatsRequest,
  NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
  VolumeCapability,
  VolumeCapabilityAccessMode,
  VolumeCapabilityAccessModeMode,
  VolumeCapabilityBlockVolume,
  VolumeCapabilityMountVolume,
  VolumeCondition,
  VolumeUsage,
  VolumeUsageUnit,
} from './generated/types.ts';
