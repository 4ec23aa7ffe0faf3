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

const [RESIZES, INIT_RESIZES] = ['InPlacePodLevelResourcesVerticalScaling', 'InPlacePodVerticalScalingInitContainers'];
const asking = (cpu: string) => ({ resources: { requests: { cpu } } });
const begun = (cpu: string, restartPolicy?: string): Pod =>
  makePod(
    'p',
    {},
    { initContainers: [{ name: 'i', image: 'x', ...asking(cpu), ...(restartPolicy && { restartPolicy }) }] },
  );
const entire = (cpu: string): Pod => makePod('p', {}, asking(cpu));

test.each([
  ['nothing', entire('1'), entire('1000m'), [], ''],
  ['resources of the pod as a whole', entire('1'), entire('2'), [], RESIZES],
  ['resources of a pod that had none as a whole', makePod('p'), entire('2'), [INIT_RESIZES], RESIZES],
  ['what is declared', entire('1'), entire('2'), [RESIZES], ''],
  ['what nobody is asked for, as nothing is declared at all', entire('1'), entire('2'), undefined, ''],
  ['an init container', begun('1'), begun('2'), [RESIZES], INIT_RESIZES],
  ['an init container that stays as it is', begun('1'), begun('1'), [], ''],
  ['an init container that may be resized here', begun('1'), begun('2'), [INIT_RESIZES], ''],
  ['an init container that is not there any more', begun('1'), makePod('p'), [], ''],
  ['a sidecar', begun('1', 'Always'), begun('2', 'Always'), [], ''],
  [
    'both',
    begun('1'),
    { ...begun('2'), spec: { ...begun('2').spec, ...asking('2') } },
    [],
    `${RESIZES}, ${INIT_RESIZES}`,
  ],
  ['what it could not have come with', makePod('p'), restarting, [], ''],
])('a change of %s', (_, before, pod, declared, missing) => {
  expect(podFeaturesHandler({ ...(declared && { declared: declared as string[] }) }).updated(before, pod)).toEqual(
    missing === ''
      ? undefined
      : {
          reason: 'FailedNodeDeclaredFeaturesCheck',
          message: `Pod requires node features that are not available: ${missing}`,
        },
  );
});
