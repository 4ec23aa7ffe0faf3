export {
  type CsiFault,
  type CsiNodeCall,
  FakeCsiDriver,
  type FakeCsiDriverOptions,
  type ReceivedCall,
} from './fake/fake-csi-driver.ts';
export type { FakeVolumes, PublishedVolume } from './fake/fake-volumes.ts';
