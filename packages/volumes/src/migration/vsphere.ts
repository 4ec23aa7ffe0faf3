import type { Volume } from '@node-agent/pod-spec';
import type { CsiVolumeSource, InTreeType } from './in-tree-type.ts';

const DRIVER = 'csi.vsphere.vmware.com';

type Source = NonNullable<Volume['vsphereVolume']>;

/** Translates virtual disks of vSphere. */
export const vsphere: InTreeType = {
  field: 'vsphereVolume',
  topology: { zone: 'topology.csi.vmware.com/zone', region: 'topology.csi.vmware.com/region' },
  inline({ vsphereVolume: source }) {
    return source && { name: `${DRIVER}-${source.volumePath}`, csi: translate(source), accessMode: 'ReadWriteOnce' };
  },
  persistent({ spec }) {
    return spec?.vsphereVolume && translate(spec.vsphereVolume);
  },
};

function translate({ volumePath: volumeHandle, fsType = '', storagePolicyName }: Source): CsiVolumeSource {
  const volumeAttributes: Record<string, string> = storagePolicyName ? { storagepolicyname: storagePolicyName } : {};
  return { driver: DRIVER, volumeHandle, fsType, volumeAttributes };
}
