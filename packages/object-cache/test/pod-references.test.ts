import { expect, test } from 'vitest';
import { configMapNames, secretNames } from '../src/pod-references.ts';
import { pod } from './fixtures.ts';

const env = (name: string) => [
  { name: 'A', valueFrom: { secretKeyRef: { name: `${name}-s`, key: 'k' } } },
  { name: 'B', valueFrom: { configMapKeyRef: { name: `${name}-c`, key: 'k' } } },
  { name: 'C', value: 'plain' },
];

test.each([
  [
    'imagePullSecrets, except those without a name',
    { imagePullSecrets: [{ name: 'pull' }, { name: '' }, {}] },
    ['pull'],
    [],
  ],
  [
    'containers of each type',
    {
      initContainers: [{ name: 'i', env: env('init') }],
      containers: [{ name: 'm', env: env('main'), envFrom: [{ secretRef: { name: 'all' } }, { configMapRef: {} }] }],
      ephemeralContainers: [{ name: 'e', env: env('eph') }],
    },
    ['init-s', 'all', 'main-s', 'eph-s'],
    ['init-c', 'main-c', 'eph-c'],
  ],
  [
    'volumes',
    {
      volumes: [
        { name: 'v1', secret: { secretName: 'plain' } },
        { name: 'v2', configMap: { name: 'plain' } },
        {
          name: 'v3',
          projected: {
            sources: [{ secret: { name: 'part' } }, { configMap: { name: 'part' } }, { downwardAPI: { items: [] } }],
          },
        },
        { name: 'v4', emptyDir: {} },
      ],
    },
    ['plain', 'part'],
    ['plain', 'part'],
  ],
  [
    'volumes of in-tree plugins with secretRef',
    {
      volumes: [
        { name: 'a', azureFile: { secretName: 'azure', shareName: 's' } },
        { name: 'b', cephfs: { monitors: [], secretRef: { name: 'ceph' } } },
        { name: 'c', cinder: { volumeID: 'v', secretRef: { name: 'cinder' } } },
        { name: 'd', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } },
        { name: 'e', flexVolume: { driver: 'd', secretRef: { name: 'flex' } } },
        { name: 'f', iscsi: { iqn: 'q', lun: 0, targetPortal: 't', secretRef: { name: 'iscsi' } } },
        { name: 'g', rbd: { image: 'i', monitors: [], secretRef: { name: 'rbd' } } },
        { name: 'h', scaleIO: { gateway: 'g', system: 's', secretRef: { name: 'scale' } } },
        { name: 'i', storageos: { secretRef: { name: 'storage' } } },
      ],
    },
    ['azure', 'ceph', 'cinder', 'csi', 'flex', 'iscsi', 'rbd', 'scale', 'storage'],
    [],
  ],
])(
  'secretNames and configMapNames find the Secrets and ConfigMaps of a pod: %s',
  (_what, spec, secrets, configMaps) => {
    expect([...secretNames(pod('web', spec))].sort()).toEqual([...secrets].sort());
    expect([...configMapNames(pod('web', spec))].sort()).toEqual([...configMaps].sort());
  },
);
