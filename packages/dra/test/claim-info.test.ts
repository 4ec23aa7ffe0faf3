import { describe, expect, it } from 'vitest';
import { cdiDeviceIds, newClaimInfo, withDevices, withoutPod, withPod } from '../src/claim-info.ts';
import { claimOf, DRIVER, deviceOf, infoOf, preparedOf } from './builders.ts';

describe('CDI devices of a container', () => {
  const info = infoOf('c', {
    [DRIVER]: [preparedOf('gpu-0', { requestNames: ['big'] }), preparedOf('gpu-1', { requestNames: ['small/two'] })],
    'nic.example.com': [preparedOf('nic-0', { requestNames: [] }), preparedOf('bare', { cdiDeviceIds: [] })],
  });
  const [gpu0, gpu1, nic0] = ['gpu-0', 'gpu-1', 'nic-0'].map((name) => `example.com/gpu=${name}`);

  it.each([
    ['all devices for the whole claim', [''], [gpu0, gpu1, nic0]],
    ['the devices of a request, and devices for all requests', ['big'], [gpu0, nic0]],
    ['the devices of the subrequest that the scheduler chose from a prioritized list', ['small'], [gpu1, nic0]],
    ['each device once for several requests', ['small', 'big'], [gpu1, nic0, gpu0]],
    ['devices for all requests for an unknown request', ['none'], [nic0]],
    ['nothing for no request', [], []],
  ])('the CDI devices of a container are %s', (_, requests, expected) => {
    expect(cdiDeviceIds(info, requests)).toEqual(expected);
  });
});

describe('state of a claim', () => {
  it('the state of a new claim has each driver of the allocation, without devices', () => {
    const devices = [deviceOf('gpu-0'), deviceOf('gpu-1'), deviceOf('nic-0', { driver: 'nic.example.com' })];
    const info = newClaimInfo(claimOf('c', devices, ['a']));
    expect([...info.drivers]).toEqual([
      [DRIVER, []],
      ['nic.example.com', []],
    ]);
    expect(info).toMatchObject({ uid: 'uid-c', heldBy: new Set(), preparedBy: new Set(), allocated: devices });
  });

  it('devices that a driver prepares for a claim replace the devices of its earlier call', () => {
    const once = withDevices(infoOf('c', { [DRIVER]: [] }), DRIVER, [preparedOf('gpu-0')]);
    expect(withDevices(once, DRIVER, [preparedOf('gpu-1')]).drivers.get(DRIVER)).toEqual([preparedOf('gpu-1')]);
  });

  it('the state of a claim lists each pod once', () => {
    const info = infoOf('c', {});
    expect([...withPod(withPod(info, 'b'), 'b').podUids]).toEqual(['a', 'b']);
    expect([...withoutPod(withPod(info, 'b'), 'a').podUids]).toEqual(['b']);
    expect([...info.podUids]).toEqual(['a']);
  });
});
