import type { PodSpec, Volume, VolumeMount } from '@node-agent/pod-spec';
import { type DriverKey, driverName } from '../csi/drivers.ts';
import { type Case, one, SIDE } from './case.ts';

const GROUP = { securityContext: { fsGroup: 4321 } };
const finalizers = ['example.com/compared'];
const DELETED = { finalizers, later: ['delete', '--wait=false', 'pod'] };

/** Returns a pod that mounts a volume. */
function mounting(
  name: string,
  volume: Omit<Volume, 'name'>,
  spec: Partial<PodSpec> = {},
  mount: Partial<VolumeMount> = {},
): Case {
  const volumeMounts = [{ name: 'v', mountPath: '/v', ...mount }];
  return one(name, { volumeMounts }, { volumes: [{ name: 'v', ...volume }], ...spec });
}

/** Returns a pod that mounts a claim. @param name name of the pod; by default the name of the claim */
function claiming(
  claimName: string,
  spec: Partial<PodSpec> = {},
  mount: Partial<VolumeMount> = {},
  name = claimName,
): Case {
  return mounting(name, { persistentVolumeClaim: { claimName } }, spec, mount);
}

/** Returns a pod that uses the claim of the same name as a block device. */
function mapping(claimName: string): Case {
  const volumeDevices = [{ name: 'v', devicePath: '/dev/compared' }];
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName } }];
  return one(claimName, { volumeDevices }, { volumes });
}

function inline(name: string, key: DriverKey | 'unknown', csi: object = {}, spec: Partial<PodSpec> = {}): Case {
  const driver = key === 'unknown' ? 'unknown.compare.example.com' : driverName(key);
  return mounting(name, { csi: { driver, ...csi } }, spec);
}

const template = (claim: string): Omit<Volume, 'name'> => ({
  ephemeral: {
    volumeClaimTemplate: {
      spec: {
        accessModes: ['ReadWriteOnce'],
        ...{ storageClassName: '', volumeName: `${SIDE}-${claim}` },
        resources: { requests: { storage: '16Mi' } },
      },
    },
  },
});

/** CSI volumes of all kinds. The CSI drivers run only if at least one of these cases runs. */
export const csi: readonly Case[] = [
  claiming('csi-directory', GROUP),
  claiming('csi-ext4', GROUP),
  claiming('csi-mismatch', { securityContext: { fsGroup: 4321, fsGroupChangePolicy: 'OnRootMismatch' } }),
  claiming('csi-read-only', GROUP),
  claiming('csi-read-only-mount', GROUP, { readOnly: true, recursiveReadOnly: 'Enabled' }),
  claiming('csi-read-only-claim', {
    ...GROUP,
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'csi-read-only-claim', readOnly: true } }],
  }),
  claiming('csi-sub-path', GROUP, { subPath: 'folder/new' }),
  claiming('csi-shared', GROUP),
  { ...claiming('csi-shared', GROUP, {}, 'csi-shared-later'), isLate: true },
  claiming('csi-once'),
  { ...claiming('csi-once', {}, {}, 'csi-once-later'), isLate: true },
  claiming('csi-stage-fails'),
  claiming('csi-publish-fails'),
  claiming('csi-stage-uncertain'),
  { ...claiming('csi-unpublish-fails-deleted'), ...DELETED },
  { ...claiming('csi-unstage-fails-deleted'), ...DELETED },
  { ...claiming('csi-stage-fails-deleted'), ...DELETED, neverStarts: true },
  { ...claiming('csi-stage-uncertain-deleted'), ...DELETED, neverStarts: true },
  { ...claiming('csi-publish-uncertain-deleted'), ...DELETED, neverStarts: true },
  claiming('csi-grows', GROUP),
  { ...claiming('csi-deleted', GROUP), ...DELETED },
  mounting('csi-ephemeral', template('csi-ephemeral-v'), GROUP),
  mounting('csi-of-nobody', template('csi-of-nobody-v')),
  claiming('csi-plain-directory', GROUP),
  claiming('csi-plain-ext4', GROUP),
  claiming('csi-plain-shared', GROUP),
  mapping('csi-block'),
  mapping('csi-block-read-only'),
  claiming('csi-block-mounted'),
  mapping('csi-mounted-as-block'),
  { ...mapping('csi-block-deleted'), ...DELETED },
  mapping('csi-block-fails'),
  claiming('csi-unstaged', GROUP),
  claiming('csi-unstaged-ext4', GROUP),
  mapping('csi-unstaged-block'),
  claiming('csi-attached', GROUP),
  claiming('csi-attached-ext4', GROUP),
  mapping('csi-attached-block'),
  claiming('csi-not-attached'),
  claiming('csi-absent'),
  inline('csi-inline', 'files', { volumeAttributes: { size: '1Mi', colour: 'blue' } }, GROUP),
  inline('csi-inline-read-only', 'files', { readOnly: true, nodePublishSecretRef: { name: 'here' } }, GROUP),
  inline('csi-inline-ext4', 'files', { fsType: 'ext4', volumeAttributes: { size: '8Mi' } }, GROUP),
  inline('csi-inline-secret-absent', 'files', { nodePublishSecretRef: { name: 'absent' } }),
  { ...inline('csi-inline-deleted', 'files'), ...DELETED },
  inline('csi-inline-refused', 'plain'),
  inline('csi-inline-absent', 'absent'),
  inline('csi-inline-unknown', 'unknown'),
];
