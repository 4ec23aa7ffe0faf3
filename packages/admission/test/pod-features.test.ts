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
  ['a pod that needs no feature', makePod('p'), { podLevelResources: false, declared: [] }, 'admitted'],
  ['pod-level resources', whole, {}, 'admitted'],
  [
    'pod-level resources while their gate is off',
    whole,
    { podLevelResources: false },
    'PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled',
  ],
  ['a pod that needs a feature, on a node without declared features', restarting, {}, 'admitted'],
  [
    'a pod that needs a declared feature',
    restarting,
    { declared: ['RestartAllContainersOnContainerExits'] },
    'admitted',
  ],
  [
    'a pod that needs an undeclared feature',
    { ...restarting, spec: { ...restarting.spec, hostNetwork: true, hostUsers: false } },
    { declared: ['ExtendWebSocketsToKubelet'] },
    `PodFeatureUnsupported: Pod requires node features that are not available: ${both}`,
  ],
  [
    'an init container that needs an undeclared feature',
    makePod('p', {}, { initContainers: [{ name: 'i', image: 'x', restartPolicyRules: rules }] }),
    { declared: [] },
    'PodFeatureUnsupported: Pod requires node features that are not available: RestartAllContainersOnContainerExits',
  ],
  [
    'a pod in the host network without a user namespace',
    makePod('p', {}, { hostNetwork: true }),
    { declared: [] },
    'admitted',
  ],
  [
    'a pod with a user namespace and its own network',
    makePod('p', {}, { hostUsers: false }),
    { declared: [] },
    'admitted',
  ],
  ['a pod with restart rules that restart only the container', ruled('Restart'), { declared: [] }, 'admitted'],
  [
    'a pod with a user namespace in the host network, which the node declares',
    mapped,
    { declared: ['UserNamespacesHostNetworkSupport'] },
    'admitted',
  ],
])('podFeaturesHandler admission of %s: $3', (_, pod, options, expected) => {
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
  ['pod-level resources', entire('1'), entire('2'), [], RESIZES],
  ['pod-level resources that are new', makePod('p'), entire('2'), [INIT_RESIZES], RESIZES],
  ['pod-level resources, with the feature declared', entire('1'), entire('2'), [RESIZES], ''],
  ['pod-level resources, on a node without declared features', entire('1'), entire('2'), undefined, ''],
  ['an init container, with the feature undeclared', begun('1'), begun('2'), [RESIZES], INIT_RESIZES],
  ['no field of an init container', begun('1'), begun('1'), [], ''],
  ['an init container, with the feature declared', begun('1'), begun('2'), [INIT_RESIZES], ''],
  ['the list of init containers, by a removal', begun('1'), makePod('p'), [], ''],
  ['a sidecar', begun('1', 'Always'), begun('2', 'Always'), [], ''],
  [
    'pod-level resources and an init container',
    begun('1'),
    { ...begun('2'), spec: { ...begun('2').spec, ...asking('2') } },
    [],
    `${RESIZES}, ${INIT_RESIZES}`,
  ],
  ['a field that an update cannot change', makePod('p'), restarting, [], ''],
])(
  'the node features that podFeaturesHandler misses for an update that changes %s: "$4"',
  (_, before, pod, declared, missing) => {
    expect(podFeaturesHandler({ ...(declared && { declared: declared as string[] }) }).updated(before, pod)).toEqual(
      missing === ''
        ? undefined
        : {
            reason: 'FailedNodeDeclaredFeaturesCheck',
            message: `Pod requires node features that are not available: ${missing}`,
          },
    );
  },
);
