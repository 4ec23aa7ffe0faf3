import type { Volume } from '@node-agent/pod-spec';
import type { PersistentVolumeData } from '../claims/claim-source.ts';
import type { CsiVolumeSource, InTreeType } from './in-tree-type.ts';
import { BETA_ZONE, ZONE, zonesOf } from './topology.ts';

const DRIVER = 'pd.csi.storage.gke.io';
/** Placeholder in the volume handle for a project or zone that the volume does not name. */
const UNSPECIFIED = 'UNSPECIFIED';

type Source = NonNullable<Volume['gcePersistentDisk']>;

/** Translates persistent disks of Google's cloud. */
export const gcePd: InTreeType = {
  field: 'gcePersistentDisk',
  topology: { zone: 'topology.gke.io/zone' },
  inline({ gcePersistentDisk: source }) {
    if (source === undefined) return undefined;
    const csi = translate(source, `zones/${UNSPECIFIED}`);
    const accessMode = source.readOnly ? 'ReadOnlyMany' : 'ReadWriteOnce';
    return { name: `${DRIVER}-${source.pdName}`, csi, accessMode };
  },
  persistent(volume) {
    const source = volume.spec?.gcePersistentDisk;
    return source && translate(source, placeOf(volume));
  },
  /**
   * Returns one access mode that a disk can have, because the driver, unlike the in-tree plugin, refuses other modes.
   */
  accessModes(modes) {
    const isReadOnly = modes.includes('ReadOnlyMany');
    const isWritten = modes.includes('ReadWriteOnce') || modes.includes('ReadWriteMany');
    return [isReadOnly && !isWritten ? 'ReadOnlyMany' : 'ReadWriteOnce'];
  },
};

function translate({ pdName, readOnly = false, fsType = '', partition = 0 }: Source, place: string): CsiVolumeSource {
  const volumeHandle = `projects/${UNSPECIFIED}/${place}/disks/${pdName}`;
  const volumeAttributes = { partition: partition === 0 ? '' : `${partition}` };
  return { driver: DRIVER, volumeHandle, readOnly, fsType, volumeAttributes };
}

/** Returns the zone of a disk or, if its labels name several zones, their region. @throws Error */
function placeOf({ metadata: { labels = {} } }: PersistentVolumeData): string {
  const zones = zonesOf(labels[BETA_ZONE] || labels[ZONE] || '');
  if (zones.length > 1) return `regions/${regionOf(zones)}`;
  return `zones/${zones[0] || UNSPECIFIED}`;
}

/** Returns the region of zones whose names have the form `LOCALE-REGION-ZONE`. @throws Error */
function regionOf(zones: readonly string[]): string {
  const failed = 'failed to get region from zones';
  const regions = zones.map((zone) => {
    const parts = zone.split('-');
    if (parts.length === 3) return `${parts[0]}-${parts[1]}`;
    throw new Error(`${failed}: zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`);
  });
  const [region = '', ...others] = new Set(regions);
  if (others.length === 0) return region;
  throw new Error(`${failed}: multiple or no regions gotten from zones, got: ${[region, ...others].join(' ')}`);
}
