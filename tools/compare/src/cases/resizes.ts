import { type Case, one, runs, shell } from './case.ts';

type Quantities = Readonly<Record<string, string>>;

const resources = (requests: Quantities, limits?: Quantities) =>
  ({ resources: { requests, ...(limits && { limits }) } }) as const;
const to = (change: object): Pick<Case, 'later'> => ({
  later: [
    'patch',
    '--subresource=resize',
    `--patch=${JSON.stringify({ spec: { containers: [{ name: 'main', resources: change }] } })}`,
    'pod',
  ],
});
const small = { cpu: '50m', memory: '16Mi' };
const ofPod = (change: object): Pick<Case, 'later'> => ({
  later: ['patch', '--subresource=resize', `--patch=${JSON.stringify({ spec: { resources: change } })}`, 'pod'],
});
const restartsForMemory = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] as const;
const restarts = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] as const;

/** In-place resizes of running pods. */
export const resizes: readonly Case[] = [
  { ...one('resize-cpu', resources(small)), ...to({ requests: { cpu: '80m' } }) },
  { ...one('resize-cpu-less', resources(small)), ...to({ requests: { cpu: '20m' } }) },
  { ...one('resize-memory', resources(small)), ...to({ requests: { memory: '24Mi' } }) },
  {
    ...one('resize-limits', resources(small, { cpu: '100m', memory: '32Mi' })),
    ...to({ limits: { cpu: '150m', memory: '48Mi' } }),
  },
  {
    ...one('resize-guaranteed', resources(small, small)),
    ...to({ requests: { cpu: '60m' }, limits: { cpu: '60m' } }),
  },
  { ...one('resize-restarts', { ...resources(small), resizePolicy: restarts }), ...to({ requests: { cpu: '70m' } }) },
  { ...one('resize-waits', resources(small)), ...to({ requests: { cpu: '1950m' } }) },
  {
    ...one('resize-both', resources(small, { cpu: '100m', memory: '32Mi' })),
    ...to({ requests: { cpu: '60m', memory: '20Mi' }, limits: { cpu: '90m', memory: '40Mi' } }),
  },
  {
    ...one('resize-limit-less', resources(small, { memory: '64Mi' })),
    ...to({ limits: { memory: '48Mi' } }),
  },
  {
    ...one('resize-restarts-for-memory', { ...resources(small, { memory: '32Mi' }), resizePolicy: restartsForMemory }),
    ...to({ limits: { memory: '48Mi' } }),
  },
  {
    name: 'resize-as-a-whole',
    spec: { resources: { requests: small, limits: { cpu: '100m', memory: '64Mi' } }, containers: [runs()] },
    ...ofPod({ requests: { cpu: '30m' }, limits: { cpu: '80m', memory: '96Mi' } }),
  },
  {
    name: 'resize-crashing',
    spec: { containers: [shell('sleep 1; exit 7', resources(small))] },
    loops: ['main'],
    ...to({ requests: { cpu: '20m' } }),
  },
  { ...one('resize-same', resources(small)), ...to({ requests: small }) },
  {
    name: 'resize-one-of-two',
    spec: { containers: [runs(resources(small)), runs({ name: 'b', ...resources(small) })] },
    ...to({ requests: { cpu: '90m' } }),
  },
];
