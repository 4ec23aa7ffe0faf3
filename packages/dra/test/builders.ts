import type { Container, Pod } from '@node-agent/pod-spec';
import type { ClaimInfo, PreparedDevice } from '../src/claim-info.ts';
import type { AllocatedDevice, ResourceClaim } from '../src/resource-claim.ts';

export const DRIVER = 'gpu.example.com';
export const GATES = { extendedResources: true, workloadClaims: false };

type Claims = NonNullable<NonNullable<Container['resources']>['claims']>;

export function containerOf(name: string, claims: Claims = []): Container {
  return { name, image: 'x', resources: { claims } };
}

/** Returns a pod with one container that uses all claims of the pod. */
export function podOf(uid: string, spec: Partial<Pod['spec']> = {}, status: Partial<Pod['status']> = {}): Pod {
  const claims = (spec.resourceClaims ?? []).map(({ name }) => ({ name }));
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: { containers: [containerOf('main', claims)], ...spec },
    status: { phase: 'Pending', ...status } as NonNullable<Pod['status']>,
  };
}

/** Returns a pod that refers to one claim by the claim's name. */
export function podWithClaim(uid: string, claimName: string): Pod {
  return podOf(uid, { resourceClaims: [{ name: 'gpu', resourceClaimName: claimName }] });
}

export function deviceOf(device: string, more: Partial<AllocatedDevice> = {}): AllocatedDevice {
  return { request: 'req', driver: DRIVER, pool: 'node', device, ...more };
}

export function claimOf(
  name: string,
  devices: readonly AllocatedDevice[] | undefined,
  podUids: readonly string[],
  metadata: Partial<ResourceClaim['metadata']> = {},
): ResourceClaim {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata },
    status: {
      ...(devices && { allocation: { devices: { results: devices } } }),
      reservedFor: podUids.map((uid) => ({ resource: 'pods', name: `pod-${uid}`, uid })),
    },
  };
}

export function preparedOf(device: string, more: Partial<PreparedDevice> = {}): PreparedDevice {
  return { pool: 'node', device, requestNames: ['req'], cdiDeviceIds: [`example.com/gpu=${device}`], ...more };
}

export function infoOf(
  name: string,
  drivers: Readonly<Record<string, readonly PreparedDevice[]>>,
  more: Partial<ClaimInfo> = {},
): ClaimInfo {
  return {
    ...{ uid: `uid-${name}`, name, namespace: 'default', allocated: undefined },
    ...{ podUids: new Set(['a']), heldBy: new Set(Object.keys(drivers)), preparedBy: new Set(Object.keys(drivers)) },
    drivers: new Map(Object.entries(drivers)),
    ...more,
  };
}
