import { describe, expect, it } from 'vitest';
import type { ClaimInfo, PreparedDevice } from '../src/claim-info.ts';
import { deviceConflicts } from '../src/device-conflicts.ts';
import type { AllocatedDevice } from '../src/resource-claim.ts';
import { DRIVER, deviceOf, infoOf, preparedOf } from './builders.ts';

function conflictsOf(wanted: readonly AllocatedDevice[], holder: ClaimInfo): readonly string[] {
  const conflicts = deviceConflicts({ namespace: 'default', name: 'new' }, wanted, [holder]);
  return conflicts.map(({ device, isCertain }) => `${device}${isCertain ? '' : '?'}`);
}

describe('N11: a device that another claim holds', () => {
  const held = (...allocated: readonly AllocatedDevice[]): ClaimInfo => infoOf('old', {}, { allocated });
  const restored = (...devices: readonly PreparedDevice[]): ClaimInfo => infoOf('old', { [DRIVER]: devices });

  it.each<readonly [string, AllocatedDevice, ClaimInfo, readonly string[]]>([
    ['conflicts', deviceOf('gpu-0'), held(deviceOf('gpu-1'), deviceOf('gpu-0')), [`${DRIVER}/node/gpu-0`]],
    ['does not conflict if the devices differ', deviceOf('gpu-0'), held(deviceOf('gpu-1')), []],
    ['does not conflict if the pools differ', deviceOf('gpu-0'), held(deviceOf('gpu-0', { pool: 'x' })), []],
    ['does not conflict if the drivers differ', deviceOf('gpu-0'), held(deviceOf('gpu-0', { driver: 'x' })), []],
    [
      'does not conflict with administration of the device',
      deviceOf('gpu-0', { adminAccess: true }),
      held(deviceOf('gpu-0')),
      [],
    ],
    [
      'does not conflict if the holder administers it',
      deviceOf('gpu-0'),
      held(deviceOf('gpu-0', { adminAccess: true })),
      [],
    ],
    [
      'does not conflict if both claims have shares',
      deviceOf('gpu-0', { shareID: 's1' }),
      held(deviceOf('gpu-0', { shareID: 's2' })),
      [],
    ],
    [
      'conflicts if both claims have the same share',
      deviceOf('gpu-0', { shareID: 's1' }),
      held(deviceOf('gpu-0', { shareID: 's1' })),
      [`${DRIVER}/node/gpu-0`],
    ],
    [
      'conflicts if only one claim has a share',
      deviceOf('gpu-0', { shareID: 's1' }),
      held(deviceOf('gpu-0')),
      [`${DRIVER}/node/gpu-0`],
    ],
    [
      'conflicts without certainty after a restart',
      deviceOf('gpu-0'),
      restored(preparedOf('gpu-0')),
      [`${DRIVER}/node/gpu-0?`],
    ],
    [
      'does not conflict after a restart if both have shares',
      deviceOf('gpu-0', { shareID: 's1' }),
      restored(preparedOf('gpu-0', { shareId: 's2' })),
      [],
    ],
  ])('N11: a device that is requested while another claim holds it %s', (_, wanted, holder, expected) => {
    expect(conflictsOf([wanted], holder)).toEqual(expected);
  });

  it('N11: a device does not conflict with its own claim', () => {
    expect(conflictsOf([deviceOf('gpu-0')], infoOf('new', { [DRIVER]: [preparedOf('gpu-0')] }))).toEqual([]);
  });
});
