import type { Volume } from '@node-agent/pod-spec';
import type { CsiVolumeSource, InTreeType } from './in-tree-type.ts';

const DRIVER = 'pxd.portworx.com';
const SECRET_NAME = 'openstorage.io/auth-secret-name';
const SECRET_NAMESPACE = 'openstorage.io/auth-secret-namespace';

type Source = NonNullable<Volume['portworxVolume']>;

/**
 * Translates volumes of Portworx. Annotations of a persistent volume name the secret that is used for all calls of the
 * driver.
 */
export const portworx: InTreeType = {
  field: 'portworxVolume',
  inline({ portworxVolume: source }) {
    if (source === undefined) return undefined;
    const accessMode = source.readOnly ? 'ReadOnlyMany' : 'ReadWriteOnce';
    return { name: `${DRIVER}-${source.volumeID}`, csi: translate(source), accessMode };
  },
  persistent({ metadata: { annotations = {} }, spec }) {
    if (spec?.portworxVolume === undefined) return undefined;
    const { [SECRET_NAME]: name, [SECRET_NAMESPACE]: namespace } = annotations;
    const csi = translate(spec.portworxVolume);
    if (name === undefined || namespace === undefined) return csi;
    const secret = { name, namespace };
    return {
      ...{ ...csi, controllerPublishSecretRef: secret, controllerExpandSecretRef: secret },
      ...{ nodeStageSecretRef: secret, nodePublishSecretRef: secret, nodeExpandSecretRef: secret },
    };
  },
};

function translate({ volumeID: volumeHandle, fsType = '' }: Source): CsiVolumeSource {
  return { driver: DRIVER, volumeHandle, fsType, volumeAttributes: {} };
}
