export {
  type CsiFault,
  type CsiNodeCall,
  FakeCsiDriver,
  type FakeCsiDriverOptions,
  type ReceivedCall,
} from './fake/fake-csi-driver.ts';
export type { DriverVolumes, PublishedVolume } from './fake/fake-volumes.ts';
export type { NodeGetVolumeStatsResponse, VolumeCondition, VolumeUsage, VolumeUsageUnit } from './generated/types.ts';
