import { describe, expect, it } from 'vitest';
import { checkAnswers, type PrepareAnswer, preparedDevices } from '../src/driver-answers.ts';

const CLAIMS = [
  { uid: 'u1', name: 'c1', namespace: 'default' },
  { uid: 'u2', name: 'c2', namespace: 'default' },
];
const DEVICE = { requestNames: ['r'], poolName: 'p', deviceName: 'd', cdiDeviceIds: ['v.com/c=d'], shareId: '' };
const GOOD: PrepareAnswer = { devices: [DEVICE], error: '' };

describe('preparedDevices', () => {
  it('preparedDevices returns the devices of each claim', () => {
    const shared = { ...DEVICE, shareId: 's' };
    const devices = preparedDevices(CLAIMS, { u1: GOOD, u2: { devices: [shared], error: '' } });
    const prepared = { pool: 'p', device: 'd', requestNames: ['r'], cdiDeviceIds: ['v.com/c=d'] };
    expect([...devices]).toEqual([
      ['u1', [prepared]],
      ['u2', [{ ...prepared, shareId: 's' }]],
    ]);
  });

  it.each<readonly [string, Readonly<Record<string, PrepareAnswer | null>>, string]>([
    [
      'a failure of one claim',
      { u1: GOOD, u2: { devices: [], error: 'no power' } },
      'NodePrepareResources failed for ResourceClaim c2: no power',
    ],
    [
      'a result for an unknown claim',
      { u1: GOOD, u2: GOOD, u3: GOOD },
      'NodePrepareResources returned result for unknown claim UID u3',
    ],
    ['a missing result', { u1: GOOD }, 'NodePrepareResources skipped 1 ResourceClaims'],
    [
      'more devices than the limit',
      { u1: GOOD, u2: { devices: Array.from({ length: 1025 }, () => DEVICE), error: '' } },
      'NodePrepareResources returned too much for ResourceClaim c2: 1025 devices, at most 1024 are accepted',
    ],
    [
      'more text than the limit',
      { u1: GOOD, u2: { devices: [{ ...DEVICE, cdiDeviceIds: ['x'.repeat(256 * 1024)] }], error: '' } },
      'NodePrepareResources returned too much for ResourceClaim c2: 262152 characters of names, at most 262144 are accepted',
    ],
    [
      'a longer error than the limit',
      { u1: { devices: [], error: 'x'.repeat(2000) }, u2: GOOD },
      `NodePrepareResources failed for ResourceClaim c1: ${'x'.repeat(1024)}...`,
    ],
  ])('W6: preparedDevices rejects %s: $2', (_, answers, message) => {
    expect(() => preparedDevices(CLAIMS, answers)).toThrow(expect.objectContaining({ code: 'DriverFailed', message }));
  });

  it('preparedDevices does not read results from the prototype of an object', () => {
    const claims = [{ uid: 'constructor', name: 'c', namespace: 'default' }];
    expect(() => preparedDevices(claims, {})).toThrow('NodePrepareResources skipped 1 ResourceClaims');
  });
});

describe('checkAnswers', () => {
  it('checkAnswers accepts a result without content for an unprepared claim', () => {
    expect(() => checkAnswers('NodeUnprepareResources', CLAIMS, { u1: null, u2: { error: '' } })).not.toThrow();
  });

  it('checkAnswers throws if the result of one claim is an error', () => {
    const message = 'NodeUnprepareResources failed for ResourceClaim c1: busy';
    expect(() => checkAnswers('NodeUnprepareResources', CLAIMS, { u1: { error: 'busy' }, u2: null })).toThrow(message);
  });
});
