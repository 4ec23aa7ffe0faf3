import { type Case, EXTENDED, one, runs, shell } from './case.ts';

const requests = (of: Readonly<Record<string, string>>) => ({ resources: { requests: of } });
/** Returns resources with equal request and limit, as extended resources require. */
const extended = (resource: string, count: number) => {
  const amount = { [resource]: `${count}` };
  return { resources: { requests: amount, limits: amount } };
};
const critical = { priorityClassName: 'system-node-critical' };
interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}
const attracted = (name: string, terms: readonly (readonly Requirement[])[]): Case =>
  one(
    name,
    {},
    {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
          },
        },
      },
    },
  );
const HERE: Requirement = { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] };
const NOWHERE: Requirement = { key: 'none', operator: 'Exists' };

/** Admission of pods by the kubelet, and the resources of admitted pods. */
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
  { ...one('label-of-another-system'), labels: { 'kubernetes.io/os': 'windows' } },
  attracted('affinity', [[NOWHERE], [HERE]]),
  attracted('affinity-elsewhere', [[HERE, NOWHERE]]),
  one('too-much-disk', requests({ 'ephemeral-storage': '1Ei' })),
  one('too-much-of-little', extended(EXTENDED.rare, 2)),
  // The kubelet ignores extended resources that the node does not have; the scheduler accounts for them.
  one('of-what-nobody-has', { resources: { limits: { 'example.com/none': '1' } } }),
  // Both pods request the scarce resource, so the critical pod preempts the pod with the lower priority.
  {
    name: 'preempted',
    spec: { containers: [shell('trap "exit 1" TERM; sleep infinity & wait', extended(EXTENDED.scarce, 2))] },
  },
  { ...one('critical', extended(EXTENDED.scarce, 1), critical), isLate: true },
  one('critical-too-much', extended(EXTENDED.rare, 2), critical),
  { ...one('host-port', { ports: [{ containerPort: 80, hostPort: 18_080 }] }) },
  { ...one('host-port-taken', { ports: [{ containerPort: 81, hostPort: 18_080 }] }), isLate: true },
  {
    name: 'as-a-whole',
    spec: {
      resources: { requests: { cpu: '20m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
      containers: [runs(requests({ cpu: '10m' })), runs({ name: 'b', resources: { limits: { memory: '32Mi' } } })],
    },
  },
  {
    name: 'as-a-whole-guaranteed',
    spec: { resources: { limits: { cpu: '20m', memory: '32Mi' } }, containers: [runs()] },
  },
  one('tolerant', {}, { tolerations: [{ operator: 'Exists' }] }),
];
