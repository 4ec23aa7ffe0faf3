import type { EnvVar } from '@node-agent/pod-spec';
import { type Case, one, runs, shell } from './case.ts';

const field = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const resource = (name: string, of: string, divisor?: string): EnvVar => ({
  name,
  valueFrom: { resourceFieldRef: { resource: of, ...(divisor !== undefined && { divisor }) } },
});
/**
 * Environment variables with resources of the container (`resourceFieldRef`), each with its resource and divisor.
 * Quotients are rounded up to whole numbers.
 */
const resources: readonly (readonly [name: string, of: string, divisor?: string])[] = [
  ['A', 'requests.cpu'],
  ['B', 'requests.cpu', '1m'],
  ['C', 'limits.cpu', '1m'],
  ['D', 'requests.memory', '1Ki'],
  ['E', 'limits.memory', '1M'],
  ['F', 'limits.memory', '1Gi'],
  ['G', 'requests.ephemeral-storage', '1Mi'],
  ['H', 'limits.ephemeral-storage'],
];
const fromConfigMap = (name: string, key: string, optional = false): EnvVar => ({
  name: 'C',
  valueFrom: { configMapKeyRef: { name, key, optional } },
});
const fromFile = (key: string, optional = false): EnvVar => ({
  name: key,
  valueFrom: { fileKeyRef: { volumeName: 'v', path: 'env', key, optional } },
});
const fromSecret = (name: string, key: string): EnvVar => ({ name: 'S', valueFrom: { secretKeyRef: { name, key } } });

/** Environment variables, host names, host aliases and DNS. */
export const environment: readonly Case[] = [
  one('env', {
    env: [
      { name: 'A', value: 'x' },
      { name: 'B', value: '$(A)-$(NOPE)-$$(A)' },
      fromConfigMap('here', 'k'),
      fromConfigMap('absent', 'k', true),
      fromSecret('here', 'k'),
      field('NAME', 'metadata.name'),
      field('LABEL', "metadata.labels['app']"),
      field('NOTE', "metadata.annotations['note']"),
      field('ACCOUNT', 'spec.serviceAccountName'),
      resource('CPU', 'limits.cpu'),
      resource('CPU_REQUEST', 'requests.cpu', '1m'),
      resource('MEMORY', 'limits.memory', '1Mi'),
    ],
    envFrom: [{ configMapRef: { name: 'here' }, prefix: 'P_' }, { secretRef: { name: 'here' } }],
    args: ['$(A)', '$(NOPE)', '$$(A)'],
    resources: { requests: { cpu: '150m', memory: '20Mi' }, limits: { memory: '64Mi' } },
  }),
  one('env-of-status', {
    env: [field('IP', 'status.podIP'), field('HOST', 'status.hostIP'), field('NODE', 'spec.nodeName')],
  }),
  one('env-config-map-absent', { env: [fromConfigMap('absent', 'k')] }),
  one('env-config-map-key-absent', { env: [fromConfigMap('here', 'absent')] }),
  one('env-secret-absent', { env: [fromSecret('absent', 'k')] }),
  one('env-secret-key-absent', { env: [fromSecret('here', 'absent')] }),
  one('env-from-config-map-absent', { envFrom: [{ configMapRef: { name: 'absent' } }] }),
  one('env-from-secret-absent', { envFrom: [{ secretRef: { name: 'absent' } }] }),
  one('env-of-resources', {
    env: resources.map((of) => resource(...of)),
    resources: {
      requests: { cpu: '11m', memory: '20000Ki', 'ephemeral-storage': '1500Ki' },
      limits: { cpu: '1100m', memory: '100M', 'ephemeral-storage': '10Mi' },
    },
  }),
  {
    name: 'env-of-file',
    spec: {
      volumes: [{ name: 'v', emptyDir: {} }],
      initContainers: [
        shell('echo "A=\'from a file\'" >/v/env', {
          name: 'i1',
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        }),
      ],
      containers: [runs({ env: [fromFile('A'), fromFile('NOT_THERE', true)] })],
    },
  },
  {
    name: 'env-of-file-absent',
    spec: { volumes: [{ name: 'v', emptyDir: {} }], containers: [runs({ env: [fromFile('A')] })] },
  },
  one('env-from-absent-optional', {
    envFrom: [{ configMapRef: { name: 'absent', optional: true } }, { secretRef: { name: 'absent', optional: true } }],
  }),
  one('no-service-links', {}, { automountServiceAccountToken: false, enableServiceLinks: false }),
  one('host-name', {}, { hostname: 'hh', subdomain: 'ss' }),
  one('host-name-qualified', {}, { hostname: 'hh', subdomain: 'ss', setHostnameAsFQDN: true }),
  one('host-name-too-long', {}, { hostname: 'h'.repeat(50), subdomain: 's', setHostnameAsFQDN: true }),
  one('host-name-override', {}, { hostnameOverride: 'over.ride.example' }),
  one('host-aliases', {}, { hostAliases: [{ ip: '192.0.2.3', hostnames: ['a', 'b'] }] }),
  one(
    'host-aliases-two',
    {},
    {
      hostAliases: [
        { ip: '192.0.2.3', hostnames: ['a'] },
        { ip: '2001:db8::1', hostnames: ['b'] },
      ],
    },
  ),
  one('host-aliases-of-host-network', {}, { hostNetwork: true, hostAliases: [{ ip: '192.0.2.3', hostnames: ['a'] }] }),
  one('host-network', {}, { hostNetwork: true }),
  one('host-network-dns', {}, { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }),
  one(
    'dns-too-much',
    {},
    { dnsConfig: { nameservers: ['192.0.2.1', '192.0.2.2', '192.0.2.3'], searches: ['a.b', 'svc.cluster.local'] } },
  ),
  one('dns-default', {}, { dnsPolicy: 'Default' }),
  one(
    'dns-none',
    {},
    {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['192.0.2.9'], searches: ['x.y'], options: [{ name: 'ndots', value: '3' }] },
    },
  ),
];
