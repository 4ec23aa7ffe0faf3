import type { CsiVolumeSource, InTreeType } from './in-tree-type.ts';

const DRIVER = 'file.csi.azure.com';
const RESOURCE_GROUP = 'kubernetes.io/azure-file-resource-group';
const DEFAULT_NAMESPACE = 'default';

/** Translates shares of Azure Files. The secret with the account's key is in the pod's or the PVC's namespace. */
export const azureFile: InTreeType = {
  field: 'azureFile',
  inline({ name, azureFile: source }, podNamespace) {
    if (source === undefined) return undefined;
    const share = { ...source, namespace: podNamespace || DEFAULT_NAMESPACE, volumeName: name, resourceGroup: '' };
    const csi = translate(share);
    return { name: csi.volumeHandle, csi, accessMode: 'ReadWriteMany' };
  },
  persistent({ metadata, spec }) {
    const source = spec?.azureFile;
    if (source === undefined) return undefined;
    const namespace = source.secretNamespace ?? spec?.claimRef?.namespace ?? '';
    if (namespace === '') throw new Error('could not find a secret namespace in PersistentVolumeSource or ClaimRef');
    const resourceGroup = metadata.annotations?.[RESOURCE_GROUP] ?? '';
    return translate({ ...source, namespace, volumeName: metadata.name ?? '', resourceGroup });
  },
};

interface Share {
  readonly shareName: string;
  readonly secretName: string;
  readonly readOnly?: boolean;
  readonly namespace: string;
  readonly volumeName: string;
  readonly resourceGroup: string;
}

function translate({
  shareName,
  secretName,
  readOnly = false,
  namespace,
  volumeName,
  resourceGroup,
}: Share): CsiVolumeSource {
  // The secret's name usually contains the storage account. If the name does not contain the account, the whole name is
  // used as the account.
  const account = /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
  return {
    ...{ driver: DRIVER, readOnly, volumeAttributes: { sharename: shareName } },
    volumeHandle: [resourceGroup, account, shareName, volumeName, namespace].join('#'),
    nodeStageSecretRef: { name: secretName, namespace },
  };
}
