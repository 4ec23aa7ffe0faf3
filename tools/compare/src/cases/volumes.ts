import type { Volume, VolumeMount } from '@node-agent/pod-spec';
import { type Case, one, shell } from './case.ts';

const mounted = (name: string, volume: Omit<Volume, 'name'>, mount: Partial<VolumeMount> = {}): Case =>
  one(name, { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }, { volumes: [{ name: 'v', ...volume }] });

const kinds: readonly Volume[] = [
  { name: 'e', emptyDir: {} },
  { name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
  { name: 'c', configMap: { name: 'here', defaultMode: 0o400, items: [{ key: 'k', path: 'a/b', mode: 0o440 }] } },
  { name: 's', secret: { secretName: 'here' } },
  { name: 'd', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  {
    name: 'p',
    projected: {
      sources: [
        { secret: { name: 'here' } },
        { configMap: { name: 'here', items: [{ key: 'k', path: 'other' }] } },
        { serviceAccountToken: { path: 'token', audience: 'x', expirationSeconds: 700 } },
      ],
    },
  },
  { name: 'o', configMap: { name: 'absent', optional: true } },
];

/** What pods mount. */
export const volumes: readonly Case[] = [
  {
    name: 'volumes',
    spec: {
      securityContext: { fsGroup: 1234, supplementalGroups: [77] },
      volumes: kinds,
      containers: [
        shell('sleep infinity', { volumeMounts: kinds.map(({ name }) => ({ name, mountPath: `/v/${name}` })) }),
      ],
    },
  },
  mounted('secret-absent', { secret: { secretName: 'absent' } }),
  mounted('config-map-absent', { configMap: { name: 'absent' } }),
  mounted('config-map-key-absent', { configMap: { name: 'here', items: [{ key: 'absent', path: 'p' }] } }),
  mounted('host-path-absent', { hostPath: { path: '/no/such/directory', type: 'Directory' } }),
  mounted('read-only', { emptyDir: {} }, { readOnly: true, recursiveReadOnly: 'IfPossible' }),
];
