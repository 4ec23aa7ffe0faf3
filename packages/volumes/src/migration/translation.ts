import type { Volume } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { PersistentVolumeData } from '../claims/claim-source.ts';
import { VolumeError } from '../errors.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';
import { awsEbs } from './aws-ebs.ts';
import { azureDisk } from './azure-disk.ts';
import { azureFile } from './azure-file.ts';
import { cinder } from './cinder.ts';
import { gcePd } from './gce-pd.ts';
import type { InTreeType } from './in-tree-type.ts';
import { portworx } from './portworx.ts';
import { csiAffinity } from './topology.ts';
import { vsphere } from './vsphere.ts';

/** In-tree types whose migration cannot be turned off (`IsMigrationEnabledForPlugin` of `pkg/volume/csimigration`). */
const TYPES: readonly InTreeType[] = [awsEbs, azureDisk, azureFile, cinder, gcePd, portworx, vsphere];

/**
 * Returns a persistent volume of an in-tree type in its CSI form; other persistent volumes are returned unchanged
 * (`TranslateInTreePVToCSI`). @throws VolumeError `InvalidSource`
 */
export function csiForm(volume: PersistentVolumeData): PersistentVolumeData {
  return translated(() => {
    for (const { field, persistent, topology, accessModes } of TYPES) {
      const csi = persistent(volume);
      if (csi === undefined) continue;
      const { [field]: _source, nodeAffinity: _affinity, ...spec } = volume.spec ?? {};
      const affinity = topology === undefined ? volume.spec?.nodeAffinity : csiAffinity(volume, topology);
      return {
        ...volume,
        spec: {
          ...{ ...spec, csi },
          ...(affinity && { nodeAffinity: affinity }),
          ...(accessModes && spec.accessModes && { accessModes: accessModes(spec.accessModes) }),
        },
      };
    }
    return volume;
  });
}

/**
 * Returns the spec of a volume without a PVC: a volume of an in-tree type as a persistent CSI volume
 * (`TranslateInTreeInlineVolumeToCSI`), which several pods may share. @param namespace namespace of the pod. @throws
 * VolumeError `InvalidSource`
 */
export function inlineSpec(volume: Volume, namespace: string): VolumeSpec {
  return translated(() => {
    for (const { inline } of TYPES) {
      const form = inline(volume, namespace);
      if (form === undefined) continue;
      const { name, csi, accessMode } = form;
      const spec = { csi, accessModes: [accessMode], volumeMode: 'Filesystem' };
      return { volume, persistent: { metadata: { name }, spec }, isMigrated: true };
    }
    return { volume };
  });
}

function translated<T>(translate: () => T): T {
  try {
    return translate();
  } catch (error) {
    const why = `failed to translate in-tree pv to CSI: ${errorText(error)}`;
    throw new VolumeError('InvalidSource', why, error);
  }
}
