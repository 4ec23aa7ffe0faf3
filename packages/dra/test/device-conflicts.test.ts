import { describe, expect, it } from 'vitest';
import type { ClaimInfo, PreparedDevice } from '../src/claim-info.ts';
import { deviceConflict, restoredDevices, unknownHolders } from '../src/device-conflicts.ts';
import type { AllocatedDevice } from '../src/resource-claim.ts';
import { DRIVER, deviceOf, infoOf, preparedOf } from './builders.ts';

const wanting = (...allocated: readonly AllocatedDevice[]) => ({ namespace: 'default', name: 'new', allocated });

function conflictOf(wanted: AllocatedDevice, holder: ClaimInfo): string | undefined {
  return deviceConflict(wanting(wanted), [holder])?.device;
}

describe('N11: a device that another claim holds', () => {
  const held = (...allocated: readonly AllocatedDevice[]): ClaimInfo => infoOf('old', {}, { allocated });
  const restored = (...devices: readonly PreparedDevice[]): ClaimInfo => infoOf('old', { [DRIVER]: devices });

  it.each<readonly [string, AllocatedDevice, ClaimInfo, string | undefined]>([
    ['conflicts', deviceOf('gpu-0'), held(deviceOf('gpu-1'), deviceOf('gpu-0')), `${DRIVER}/node/gpu-0`],
    ['does not conflict if the devices differ', deviceOf('gpu-0'), held(deviceOf('gpu-1')), undefined],
    ['does not conflict if the pools differ', deviceOf('gpu-0'), held(deviceOf('gpu-0', { pool: 'x' })), undefined],
    ['does not conflict if the drivers differ', deviceOf('gpu-0'), held(deviceOf('gpu-0', { driver: 'x' })), undefined],
    [
      'does not conflict with administration of the device',
      deviceOf('gpu-0', { adminAccess: true }),
      held(deviceOf('gpu-0')),
      undefined,
    ],
    [
      'does not conflict if the holder administers it',
      deviceOf('gpu-0'),
      held(deviceOf('gpu-0', { adminAccess: true })),
      undefined,
    ],
    [
      'does not conflict if both claims have shares',
      deviceOf('gpu-0', { shareID: 's1' }),
      held(deviceOf('gpu-0', { shareID: 's2' })),
      undefined,
    ],
    [
      'conflicts if both claims have the same share',
      deviceOf('gpu-0', { shareID: 's1' }),
      held(deviceOf('gpu-0', { shareID: 's1' })),
      `${DRIVER}/node/gpu-0`,
    ],
    [
      'conflicts if only one claim has a share',
      deviceOf('gpu-0', { shareID: 's1' }),
      held(deviceOf('gpu-0')),
      `${DRIVER}/node/gpu-0`,
    ],
    [
      'conflicts after a restart if a driver listed it',
      deviceOf('gpu-0'),
      restored(preparedOf('gpu-0')),
      `${DRIVER}/node/gpu-0`,
    ],
    [
      'does not conflict after a restart if both have shares',
      deviceOf('gpu-0', { shareID: 's1' }),
      restored(preparedOf('gpu-0', { shareId: 's2' })),
      undefined,
    ],
  ])('N11: a device that is requested while another claim holds it %s', (_, wanted, holder, expected) => {
    expect(conflictOf(wanted, holder)).toBe(expected);
  });

  it('N11: a device does not conflict with its own claim', () => {
    expect(conflictOf(deviceOf('gpu-0'), infoOf('new', { [DRIVER]: [preparedOf('gpu-0')] }))).toBeUndefined();
  });
});

describe('N11: claims of the checkpoint', () => {
  const names = (infos: readonly ClaimInfo[]): readonly string[] => infos.map(({ name }) => name);
  const others = [
    infoOf('listed', { [DRIVER]: [preparedOf('gpu-1')] }),
    infoOf('interrupted', { 'nic.example.com': [], [DRIVER]: [] }),
    infoOf('read', { [DRIVER]: [] }, { allocated: [] }),
    infoOf('other-driver', { 'nic.example.com': [preparedOf('nic-0')] }),
    infoOf('new', { [DRIVER]: [] }),
  ];

  it.each<readonly [string, readonly AllocatedDevice[], readonly string[]]>([
    ['a device', [deviceOf('gpu-0')], ['listed', 'interrupted']],
    ['admin access to a device', [deviceOf('gpu-0', { adminAccess: true })], []],
    ['no device', [], []],
  ])('N11: a claim for %s may conflict with the unread claims of its drivers: $2', (_, allocated, expected) => {
    expect(names(unknownHolders(wanting(...allocated), others))).toEqual(expected);
  });

  it('N11: a claim of the checkpoint holds its allocated devices and those that its drivers listed', () => {
    const info = infoOf('old', { [DRIVER]: [preparedOf('gpu-0'), preparedOf('gpu-1', { shareId: 's' })] });
    const admin = deviceOf('gpu-0', { adminAccess: true });
    expect(restoredDevices([admin, deviceOf('gpu-2')], info)).toEqual([
      admin,
      deviceOf('gpu-2'),
      { driver: DRIVER, pool: 'node', device: 'gpu-1', shareID: 's' },
    ]);
  });
});
