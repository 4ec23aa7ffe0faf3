import type { PodSecurityContext, PodSpec, Volume, VolumeMount } from '@node-agent/pod-spec';
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

const claimed = (
  name: string,
  claimName: string,
  spec: Partial<PodSpec> = {},
  mount: Partial<VolumeMount> = {},
): Case =>
  one(
    name,
    { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] },
    { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }], ...spec },
  );

/** Pod that mounts a subdirectory of a volume, given by a variable (`subPathExpr`). */
const expanded = (name: string, value: string): Case =>
  one(
    `sub-path-of-variable-${name}`,
    { env: [{ name: 'PART', value }], volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(PART)' }] },
    { volumes: [{ name: 'v', emptyDir: {} }] },
  );
const cpu = (path: string, divisor?: string) => ({
  path,
  resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', ...(divisor !== undefined && { divisor }) },
});

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

/** Volumes of all types and their mount options. */
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
  expanded('upwards', '../x'),
  expanded('from-root', '/x'),
  expanded('none', ''),
  mounted('read-only-whole', { emptyDir: {} }, { readOnly: true, recursiveReadOnly: 'Enabled' }),
  mounted('propagated-inwards', { emptyDir: {} }, { mountPropagation: 'HostToContainer' }),
  one(
    'propagated-both-ways',
    {
      securityContext: { privileged: true },
      volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
    },
    { volumes: [{ name: 'v', emptyDir: {} }] },
  ),
  mounted('host-path-device', { hostPath: { path: '/dev/null', type: 'CharDevice' } }),
  mounted('host-path-no-device', { hostPath: { path: '/etc', type: 'CharDevice' } }),
  mounted('host-path-no-file', { hostPath: { path: '/etc', type: 'File' } }),
  mounted('host-path-no-socket', { hostPath: { path: '/etc/hostname', type: 'Socket' } }),
  mounted('downward-resources', { downwardAPI: { items: [cpu('whole'), cpu('thousandths', '1m')] } }),
  mounted('downward-label-absent', {
    downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: "metadata.labels['none']" } }] },
  }),
  mounted('projected-absent', {
    projected: { sources: [{ secret: { name: 'absent' } }, { configMap: { name: 'absent-too' } }] },
  }),
  mounted('projected-of-all', {
    projected: {
      defaultMode: 0o440,
      sources: [
        { secret: { name: 'absent', optional: true } },
        { configMap: { name: 'here', items: [{ key: 'k', path: 'c/k', mode: 0o400 }] } },
        { downwardAPI: { items: [cpu('cpu', '1m'), { path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        { serviceAccountToken: { path: 'token' } },
      ],
    },
  }),
  {
    name: 'fs-group-of-all-kinds',
    spec: {
      securityContext: { fsGroup: 4321, runAsUser: 1000 },
      volumes: kinds,
      containers: [
        shell('sleep infinity', { volumeMounts: kinds.map(({ name }) => ({ name, mountPath: `/v/${name}` })) }),
      ],
    },
  },
  mounted('read-only', { emptyDir: {} }, { readOnly: true, recursiveReadOnly: 'IfPossible' }),
  claimed('claim-of-host-path', 'host-path'),
  claimed('claim-of-host-path-with-options', 'host-path-options'),
  // The claim `local` has its own volume: otherwise an event would depend on whether other pods have already mounted
  // the volume.
  claimed('claim-of-local', 'local', { securityContext: { fsGroup: 4321, supplementalGroups: [77] } }),
  claimed('claim-of-local-in-part', 'local-shared', {}, { subPath: 'a/b' }),
  claimed('claim-of-local-read-only', 'local-shared', {
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'local-shared', readOnly: true } }],
  }),
  claimed('claim-of-local-absent', 'local-absent'),
  claimed('claim-of-local-file', 'local-file'),
  claimed('claim-of-another-node', 'elsewhere'),
  claimed('claim-unbound', 'unbound'),
  claimed('claim-absent', 'absent'),
];
