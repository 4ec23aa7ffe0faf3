import type { Volume } from '@node-agent/pod-spec';
import type { CsiVolumeSource, InTreeType } from './in-tree-type.ts';

const DRIVER = 'ebs.csi.aws.com';

type Source = NonNullable<Volume['awsElasticBlockStore']>;

/** Translates disks of Amazon EBS. */
export const awsEbs: InTreeType = {
  field: 'awsElasticBlockStore',
  topology: { zone: `topology.${DRIVER}/zone` },
  inline({ awsElasticBlockStore: source }) {
    const csi = source && translate(source);
    return csi && { name: `${DRIVER}-${csi.volumeHandle}`, csi, accessMode: 'ReadWriteOnce' };
  },
  persistent({ spec }) {
    return spec?.awsElasticBlockStore && translate(spec.awsElasticBlockStore);
  },
};

function translate({ volumeID, readOnly = false, fsType = '', partition = 0 }: Source): CsiVolumeSource {
  const volumeHandle = diskId(volumeID);
  return { driver: DRIVER, volumeHandle, readOnly, fsType, volumeAttributes: { partition: `${partition}` } };
}

/** Returns the disk ID in a volume ID of the form `aws://ZONE/ID` or `ID`. @throws Error */
function diskId(text: string): string {
  if (!text.startsWith('aws://')) return text;
  const [path = ''] = text.slice('aws://'.length).split(/[?#]/);
  const slash = path.indexOf('/');
  const id = slash < 0 ? '' : path.slice(slash).replace(/^\/+|\/+$/g, '');
  if (/^vol-[^/]*$/.test(id)) return id;
  throw new Error(`failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (${text})`);
}
