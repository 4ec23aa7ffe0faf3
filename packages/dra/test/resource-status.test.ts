import { describe, expect, it } from 'vitest';
import type { ClaimInfo } from '../src/claim-info.ts';
import { chooseService } from '../src/driver-services.ts';
import { dynamicResource } from '../src/dynamic-resources.ts';
import { resourcesStatus } from '../src/resource-status.ts';
import { containerOf, DRIVER, infoOf, podOf, preparedOf } from './builders.ts';

describe('resourcesStatus', () => {
  const pod = podOf(
    '1',
    {
      resourceClaims: [
        { name: 'gpu', resourceClaimName: 'shared' },
        { name: 'nic', resourceClaimTemplateName: 'nics' },
      ],
    },
    { resourceClaimStatuses: [{ name: 'nic', resourceClaimName: 'nic-x' }] },
  );
  const claims: Readonly<Record<string, ClaimInfo>> = {
    shared: infoOf('shared', {
      [DRIVER]: [preparedOf('b', { requestNames: ['r'] }), preparedOf('a', { requestNames: ['r'], cdiDeviceIds: [] })],
    }),
    'nic-x': infoOf('nic-x', { [DRIVER]: [preparedOf('n', { requestNames: ['q'] })] }),
  };
  const sources = {
    claim: (name: string) => claims[name],
    health: (_driver: string, { device }: { readonly device: string }) =>
      device === 'b' ? { health: 'Unhealthy' as const, message: 'hot' } : { health: 'Healthy' as const, message: '' },
    withMessages: true,
  };
  const B = { resourceID: 'example.com/gpu=b', health: 'Unhealthy', message: 'hot' };
  const A = { resourceID: `${DRIVER}/node/a`, health: 'Healthy' };
  const N = { resourceID: 'example.com/gpu=n', health: 'Healthy' };

  it.each([
    ['a whole claim', [{ name: 'gpu' }], [{ name: 'claim:gpu', resources: [B, A] }]],
    ['a request', [{ name: 'gpu', request: 'r' }], [{ name: 'claim:gpu/r', resources: [B, A] }]],
    ['a request without devices', [{ name: 'gpu', request: 'x' }], []],
    [
      'several claims',
      [{ name: 'nic', request: 'q' }, { name: 'gpu' }],
      [
        { name: 'claim:gpu', resources: [B, A] },
        { name: 'claim:nic/q', resources: [N] },
      ],
    ],
    ['no claims', [], []],
  ])('resourcesStatus of a container that uses %s returns the health of its devices', (_, uses, expected) => {
    expect(resourcesStatus(pod, containerOf('main', uses), sources)).toEqual(expected);
  });

  it('resourcesStatus returns nothing for a claim that was not created or not prepared', () => {
    const early = { ...pod, status: {} };
    expect(resourcesStatus(early, containerOf('main', [{ name: 'nic' }]), sources)).toEqual([]);
    const none = { ...sources, claim: () => undefined };
    expect(resourcesStatus(pod, containerOf('main', [{ name: 'gpu' }]), none)).toEqual([]);
  });

  it('resourcesStatus omits messages when the gate ResourceHealthStatusMessage is off', () => {
    const statuses = resourcesStatus(pod, containerOf('main', [{ name: 'gpu' }]), { ...sources, withMessages: false });
    expect(statuses[0]?.resources?.[0]).toEqual({ resourceID: 'example.com/gpu=b', health: 'Unhealthy' });
  });
});

describe('dynamicResource', () => {
  it('dynamicResource returns each device with its own CDI names', () => {
    const info = infoOf('c', { [DRIVER]: [preparedOf('a'), preparedOf('b', { shareId: 's', cdiDeviceIds: [] })] });
    expect(dynamicResource(info)).toEqual({
      ...{ claimName: 'c', claimNamespace: 'default' },
      claimResources: [
        { cdiDevices: [{ name: 'example.com/gpu=a' }], driverName: DRIVER, poolName: 'node', deviceName: 'a' },
        { cdiDevices: [], driverName: DRIVER, poolName: 'node', deviceName: 'b', shareId: 's' },
      ],
    });
  });
});

describe('chooseService', () => {
  const invalid = `invalid supported gRPC versions of DRA driver plugin ${DRIVER} at endpoint /e: `;

  it.each([
    [['v1.DRAPlugin'], { service: 'v1.DRAPlugin' }],
    [['v1alpha1.DRAResourceHealth', 'v1beta1.DRAPlugin', 'v1.DRAPlugin'], { service: 'v1beta1.DRAPlugin' }],
    [[], { problem: `${invalid}empty list of supported gRPC services (aka supported versions)` }],
    [
      ['v1alpha4.Node'],
      {
        problem: `${invalid}none of services supported by the plugin (["v1alpha4.Node"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])`,
      },
    ],
  ])('chooseService of the services %j returns %j', (offered, expected) => {
    expect(chooseService(DRIVER, '/e', offered)).toEqual(expected);
  });

  it.each(['', 'under_score.example.com', '../x', 'gpu..example.com', '\u212Apu.example.com', `${'x'.repeat(64)}`])(
    'W3: chooseService rejects the driver name %j',
    (driver) => {
      expect(chooseService(driver, '/e', ['v1.DRAPlugin'])).toHaveProperty('problem');
    },
  );

  it('chooseService accepts a driver name with capital letters, as the API server does', () => {
    expect(chooseService('GPU.Example.com', '/e', ['v1.DRAPlugin'])).toEqual({ service: 'v1.DRAPlugin' });
  });
});
