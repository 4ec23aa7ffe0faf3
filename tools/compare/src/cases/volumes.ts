import type { PodSecurityContext, Volume, VolumeMount } from '@node-agent/pod-spec';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { ABSENT_IMAGE, type Case, one, shell } from './case.ts';

const mounted = (name: string, volume: Omit<Volume, 'name'>, mount: Partial<VolumeMount> = {}): Case =>
  one(name, { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }, { volumes: [{ name: 'v', ...volume }] });

const owned = (name: string, securityContext: PodSecurityContext): Case =>
  one(
    name,
    { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
    { securityContext, volumes: [{ name: 'v', emptyDir: {} }] },
  );

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
  mounted('sub-path', { emptyDir: {} }, { subPath: 'a/b' }),
  mounted('sub-path-of-config-map', { configMap: { name: 'here' } }, { subPath: 'k' }),
  mounted('sub-path-upwards', { configMap: { name: 'here' } }, { subPath: 'absent' }),
  one(
    'sub-path-of-variable',
    {
      env: [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(NAME)/x' }],
    },
    { volumes: [{ name: 'v', emptyDir: {} }] },
  ),
  one(
    'sub-path-of-no-variable',
    { volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(NOPE)/x' }] },
    { volumes: [{ name: 'v', emptyDir: {} }] },
  ),
  owned('fs-group', { fsGroup: 4321 }),
  owned('fs-group-on-root-mismatch', { fsGroup: 4321, fsGroupChangePolicy: 'OnRootMismatch' }),
  mounted('image-volume', { image: { reference: PAUSE_IMAGE, pullPolicy: 'IfNotPresent' } }),
  mounted(
    'image-volume-sub-path',
    { image: { reference: PAUSE_IMAGE, pullPolicy: 'IfNotPresent' } },
    { subPath: 'bin' },
  ),
  mounted('image-volume-absent', { image: { reference: ABSENT_IMAGE } }),
  mounted('image-volume-never', { image: { reference: ABSENT_IMAGE, pullPolicy: 'Never' } }),
  mounted('read-only', { emptyDir: {} }, { readOnly: true, recursiveReadOnly: 'IfPossible' }),
];
