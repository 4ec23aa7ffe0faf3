import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { podFeaturesHandler } from '../src/index.ts';
import { makePod } from './pods.ts';

const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }];
const restarting = makePod('p', {}, { containers: [{ name: 'c', image: 'x', restartPolicyRules: rules }] });
const ruled = (action: string): Pod =>
  makePod('p', {}, { containers: [{ name: 'c', image: 'x', restartPolicyRules: [{ ...rules[0], action }] }] } as never);
const mapped = makePod('p', {}, { hostNetwork: true, hostUsers: false });
const whole = makePod('p', {}, { resources: { requests: { cpu: '1' } } });
const both = 'RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport';

test.each([
  ['a pod that asks for nothing', makePod('p'), { podLevelResources: false, declared: [] }, 'admitted'],
  ['resources of the pod as a whole', whole, {}, 'admitted'],
  [
    'resources of the pod as a whole, with the gate off',
    whole,
    { podLevelResources: false },
    'PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled',
  ],
  ['a node that declares nothing', restarting, {}, 'admitted'],
  ['a feature that is declared', restarting, { declared: ['RestartAllContainersOnContainerExits'] }, 'admitted'],
  [
    'one that is not',
    { ...restarting, spec: { ...restarting.spec, hostNetwork: true, hostUsers: false } },
    { declared: ['ExtendWebSocketsToKubelet'] },
    `PodFeatureUnsupported: Pod requires node features that are not available: ${both}`,
  ],
  [
    'one that an init container asks for, and no other',
    makePod('p', {}, { initContainers: [{ name: 'i', image: 'x', restartPolicyRules: rules }] }),
    { declared: [] },
    'PodFeatureUnsupported: Pod requires node features that are not available: RestartAllContainersOnContainerExits',
  ],
  ['the host’s network, with the host’s IDs', makePod('p', {}, { hostNetwork: true }), { declared: [] }, 'admitted'],
  ['IDs of its own on a network of its own', makePod('p', {}, { hostUsers: false }), { declared: [] }, 'admitted'],
  ['rules that restart no more than the container', ruled('Restart'), { declared: [] }, 'admitted'],
  ['IDs of its own on the host’s network', mapped, { declared: ['UserNamespacesHostNetworkSupport'] }, 'admitted'],
])('%s', (_, pod, options, expected) => {
  const verdict = podFeaturesHandler(options).admit(pod);
  expect(verdict.admit ? 'admitted' : `${verdict.reason}: ${verdict.message}`).toBe(expected);
});
