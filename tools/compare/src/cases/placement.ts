import { type Case, one, runs } from './case.ts';

const requests = (of: Readonly<Record<string, string>>) => ({ resources: { requests: of } });

/** Whether the node takes a pod, and what of it. */
export const placement: readonly Case[] = [
  one('guaranteed', { resources: { limits: { cpu: '200m', memory: '32Mi' } } }),
  {
    name: 'burstable',
    spec: {
      containers: [runs(requests({ cpu: '10m' })), runs({ name: 'b', resources: { limits: { cpu: '500m' } } })],
    },
  },
  one('too-much-cpu', requests({ cpu: '1000' })),
  one('too-much-memory', requests({ memory: '100Ti' })),
  one('selector', {}, { nodeSelector: { none: 'here' } }),
  one('ports', {
    ports: [
      { containerPort: 80, name: 'http' },
      { containerPort: 53, protocol: 'UDP' },
    ],
  }),
  one('windows', {}, { os: { name: 'windows' } }),
  one('tolerant', {}, { tolerations: [{ operator: 'Exists' }] }),
];
