import type { Volume } from '@node-agent/pod-spec';
import type { PersistentVolumeData } from '../claims/claim-source.ts';

/** Source of a persistent CSI volume. */
export type CsiVolumeSource = NonNullable<NonNullable<PersistentVolumeData['spec']>['csi']>;

/** Field of a pod's volume, and of a persistent volume's spec, that holds the source of a migrated in-tree type. */
type InTreeField =
  | 'awsElasticBlockStore'
  | 'azureDisk'
  | 'azureFile'
  | 'cinder'
  | 'gcePersistentDisk'
  | 'portworxVolume'
  | 'vsphereVolume';

/** CSI form of a volume that a pod declares inline. */
interface InlineForm {
  /**
   * Name of the persistent volume. The name must be unique for each disk, because pods that use a disk share one volume
   * of this name.
   */
  readonly name: string;
  readonly csi: CsiVolumeSource;
  readonly accessMode: string;
}

/** Labels with which a CSI driver names the zones and regions of its volumes. */
export interface TopologyKeys {
  readonly zone: string;
  /** Label for the region. Default: the label of the Kubernetes API. */
  readonly region?: string;
}

/**
 * Translation of one in-tree volume type to its CSI driver (`InTreePlugin` of `k8s.io/csi-translation-lib/plugins`). The
 * functions return `undefined` for volumes of other types, and throw an Error with the reason if the source is invalid.
 */
export interface InTreeType {
  readonly field: InTreeField;
  /** @param namespace namespace of the pod */
  inline(volume: Volume, namespace: string): InlineForm | undefined;
  persistent(volume: PersistentVolumeData): CsiVolumeSource | undefined;
  /** Labels of the driver. If absent, the node affinity of persistent volumes is not changed. */
  readonly topology?: TopologyKeys;
  /** Returns the access modes that the driver supports. If this method is absent, access modes are not changed. */
  accessModes?(modes: readonly string[]): readonly string[];
}
