import type { AdmitHandler, AdmitResult } from '@node-agent/kubelet-core';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { nodeAdmitHandlers } from '../src/admit-handlers.ts';
import { makePod } from './node.ts';

type Settings = Parameters<typeof nodeAdmitHandlers>[0];
type Parts = Parameters<typeof nodeAdmitHandlers>[1];

const ADMITTED = { admit: true } as const;
const refusal = (reason: string): AdmitResult => ({ admit: false, reason, message: '' });

const parts: Parts = {
  volumes: { unsupported: () => [] },
  node: { forAdmission: () => ({ metadata: { name: 'n1' } }), refresh: async () => {} },
  preemption: { makeRoom: async () => undefined },
};

/** Calls the admit handlers for a pod in turn until one rejects the pod. Returns the rejection, or `admitted`. */
async function verdictOf(pod: Pod, settings: Settings = {}, more: Partial<Parts> = {}): Promise<string> {
  for (const handler of nodeAdmitHandlers(settings, { ...parts, ...more })) {
    const verdict = await handler.admit(pod, [], new AbortController().signal);
    if (!verdict.admit) return [verdict.reason, verdict.message].join(': ');
  }
  return 'admitted';
}

const main = { name: 'main', image: 'busybox' };
const probe = { exec: { command: ['true'] } };
const withSysctl = (name: string): Pod => makePod('web', { securityContext: { sysctls: [{ name, value: '1' }] } });
const confined = makePod('web', { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } });
const ofPodLevel = makePod('web', { resources: { limits: { memory: '1Gi' } } });
const claims = [{ name: 'gpu' }];

describe('admission by the built-in handlers', () => {
  test.each<[string, Pod, Settings, string]>([
    ['with a probe', makePod('web', { containers: [{ ...main, livenessProbe: probe }] }), {}, 'admitted'],
    ['with a hook', makePod('web', { containers: [{ ...main, lifecycle: { preStop: probe } }] }), {}, 'admitted'],
    [
      'with a resource claim',
      makePod('web', { resourceClaims: claims, containers: [{ ...main, resources: { claims } }] }),
      {},
      'UnsupportedFeature: this kubelet does not support spec.containers[0].resources.claims, spec.resourceClaims',
    ],
    [
      'with a user namespace, if the program provides no ID mappings',
      makePod('web', { hostUsers: false }),
      {},
      'UnsupportedFeature: this kubelet does not support spec.hostUsers=false',
    ],
    [
      'with a user namespace, if ID mappings are unavailable for a reason',
      makePod('web', { hostUsers: false }),
      { userNamespaces: { unavailable: 'for a reason' } },
      'admitted',
    ],
    ['with a sysctl of all kernels', withSysctl('net.ipv4.tcp_syncookies'), {}, 'admitted'],
    [
      'with a sysctl that is safe on newer kernels, if the kernel is not known',
      withSysctl('net.ipv4.tcp_rmem'),
      {},
      'SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted',
    ],
    [
      'with a sysctl that is safe on newer kernels, on a newer kernel',
      withSysctl('net.ipv4.tcp_rmem'),
      { admission: { sysctls: { kernelRelease: '6.1.0', allowedUnsafe: [] } } },
      'admitted',
    ],
    ['with AppArmor, which is enabled by default', confined, {}, 'admitted'],
    [
      'with AppArmor, if AppArmor is disabled on the host',
      confined,
      { admission: { appArmor: false } },
      'AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host',
    ],
    ['with pod-level resources', ofPodLevel, {}, 'admitted'],
    [
      'with pod-level resources, if their feature gate is disabled',
      ofPodLevel,
      { admission: { features: { podLevelResources: false } } },
      'PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled',
    ],
    [
      'that an admit handler of the program rejects',
      makePod('web'),
      { admitHandlers: [{ admit: () => refusal('Own') }] },
      'Own: ',
    ],
  ])('admission of a pod %s: $3', async (_name, pod, settings, expected) => {
    expect(await verdictOf(pod, settings)).toBe(expected);
  });

  test.each([
    [true, 'admitted'],
    [
      false,
      "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1",
    ],
  ])(
    'with the gate DRAExtendedResource %s, a pod whose ResourceClaim backs more devices than device plugins have: %s',
    async (extendedResources, expected) => {
      const amounts = { requests: { 'example.com/gpu': '2' } };
      const requestMappings = [{ containerName: 'main', resourceName: 'example.com/gpu', requestName: 'r' }];
      const status = { extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings } };
      const pod = { ...makePod('web', { containers: [{ ...main, resources: amounts }] }), status };
      const allocatable = { pods: '10', 'example.com/gpu': '1' };
      const node = {
        forAdmission: () => ({ metadata: { name: 'n1' }, status: { allocatable } }),
        refresh: async () => {},
      };
      expect(await verdictOf(pod, { resourceClaims: { extendedResources } }, { node, claims: {} })).toBe(expected);
    },
  );

  test('the rejection of a pod names each unsupported volume', async () => {
    const volumes = { unsupported: () => ['volume a: no', 'volume b: no'] };
    expect(await verdictOf(makePod('web'), {}, { volumes })).toBe('UnsupportedFeature: volume a: no; volume b: no');
  });

  test('a changed pod causes a warning if it now uses a feature that this node does not declare', () => {
    const handlers = nodeAdmitHandlers({ admission: { features: { declared: [] } } }, parts);
    const warnings = (pod: Pod): readonly string[] =>
      handlers.flatMap((handler) => handler.updated?.(makePod('web'), pod)?.reason ?? []);
    expect(warnings(ofPodLevel)).toEqual(['FailedNodeDeclaredFeaturesCheck']);
    expect(warnings(makePod('web'))).toEqual([]);
  });

  test('shutdown and eviction are checked first, and shutdown is checked again after all other admit handlers', async () => {
    const settings: Settings = {
      admission: { features: { podLevelResources: false }, appArmor: false },
      admitHandlers: [{ admit: () => refusal('Own') }],
    };
    const pod = makePod('web', {
      hostUsers: false,
      nodeSelector: { disk: 'fast' },
      securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }], ...confined.spec.securityContext },
      ...(ofPodLevel.spec.resources && { resources: ofPodLevel.spec.resources }),
    });
    let endsLate = 0;
    const refusing: Partial<Parts> = {
      shutdown: { admit: () => (endsLate++ === 0 ? ADMITTED : { admit: false, reason: 'NodeShutdown', message: '' }) },
      eviction: { admit: () => ({ admit: false, reason: 'Evicted', message: '' }) },
      volumes: { unsupported: () => ['volume'] },
      devices: { admit: () => refusal('Devices') },
    };
    const reasons: string[] = [];
    for (const handler of nodeAdmitHandlers(settings, { ...parts, ...refusing })) {
      const verdict = await handler.admit(pod, [], new AbortController().signal);
      reasons.push(verdict.admit ? 'admitted' : verdict.reason);
    }
    expect(reasons).toEqual([
      'admitted',
      'Evicted',
      'UnsupportedFeature',
      'UnsupportedFeature',
      'SysctlForbidden',
      'Devices',
      'NodeAffinity',
      'AppArmor',
      'PodLevelResourcesNotSupported',
      'Own',
      'NodeShutdown',
    ]);
  });

  test('a resize is checked only by admit handlers with a resize method: shutdown, eviction and volumes', () => {
    const refusing: Partial<Parts> = {
      shutdown: { admit: () => ({ admit: false, reason: 'NodeShutdown', message: '' }) },
      eviction: { admit: () => ({ admit: false, reason: 'Evicted', message: '' }) },
    };
    const verdicts = (handlers: readonly AdmitHandler[]): unknown[] =>
      handlers.flatMap((handler) => handler.resize?.(makePod('web'), []) ?? []);
    expect(verdicts(nodeAdmitHandlers({}, parts))).toEqual([ADMITTED]);
    expect(verdicts(nodeAdmitHandlers({}, { ...parts, ...refusing }))).toEqual([
      { admit: false, reason: 'NodeShutdown', message: '' },
      { admit: false, reason: 'Evicted', message: '' },
      ADMITTED,
    ]);
  });
});
