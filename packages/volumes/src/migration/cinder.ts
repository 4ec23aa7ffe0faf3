import type { CsiVolumeSource, InTreeType } from './in-tree-type.ts';

const DRIVER = 'cinder.csi.openstack.org';

interface Source {
  readonly volumeID: string;
  readonly readOnly?: boolean;
  readonly fsType?: string;
}

/** Translates disks of OpenStack Cinder. */
export const cinder: InTreeType = {
  field: 'cinder',
  topology: { zone: 'topology.cinder.csi.openstack.org/zone' },
  inline({ cinder: source }) {
    return source && { name: `${DRIVER}-${source.volumeID}`, csi: translate(source), accessMode: 'ReadWriteOnce' };
  },
  persistent({ spec }) {
    return spec?.cinder && translate(spec.cinder);
  },
};

function translate({ volumeID: volumeHandle, readOnly = false, fsType = '' }: Source): CsiVolumeSource {
  return { driver: DRIVER, volumeHandle, readOnly, fsType, volumeAttributes: {} };
}
