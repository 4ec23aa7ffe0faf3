import type { Volume } from '@node-agent/pod-spec';
import type { CsiVolumeSource, InTreeType } from './in-tree-type.ts';

const DRIVER = 'disk.csi.azure.com';
const MANAGED = 'Managed';

type Source = NonNullable<Volume['azureDisk']>;

/** Translates managed disks of Azure to the CSI driver, which does not support unmanaged disks. */
export const azureDisk: InTreeType = {
  field: 'azureDisk',
  inline({ azureDisk: source }) {
    if (source === undefined) return undefined;
    return {
      name: source.diskURI,
      csi: translate(source, source.cachingMode || undefined),
      accessMode: 'ReadWriteOnce',
    };
  },
  persistent({ spec }) {
    return spec?.azureDisk && translate(spec.azureDisk, spec.azureDisk.cachingMode);
  },
};

/** Returns the CSI source of a managed disk. @throws Error if the disk is not managed */
function translate(
  { kind, diskURI, readOnly = false, fsType }: Source,
  cachingMode: string | undefined,
): CsiVolumeSource {
  if (kind !== undefined && kind.toLowerCase() !== MANAGED.toLowerCase()) {
    throw new Error(`kind(${kind}) is not supported in csi migration`);
  }
  return {
    ...{ driver: DRIVER, volumeHandle: diskURI, readOnly, fsType: fsType ?? '' },
    volumeAttributes: {
      kind: MANAGED,
      ...(cachingMode !== undefined && { cachingmode: cachingMode }),
      ...(fsType !== undefined && { fstype: fsType }),
    },
  };
}
