import { describe, expect, it } from 'vitest';
import { messages } from '../src/generated/codec.ts';
import { PodDevices, reusableDevices } from '../src/pod-devices.ts';
import { containerOf, GPU, podOf } from './builders.ts';

const response = messages.ContainerAllocateResponse.create({});

function holding(held: Readonly<Record<string, readonly string[]>>): PodDevices {
  const devices = new PodDevices();
  for (const [container, ids] of Object.entries(held)) {
    devices.set({ podUid: 'u', container, resource: GPU, devices: new Map([[-1, ids]]), response });
  }
  return devices;
}

describe('reusableDevices', () => {
  const sidecar = { ...containerOf('side'), restartPolicy: 'Always' as const };
  const pod = podOf(
    'u',
    [containerOf('one'), containerOf('two')],
    [containerOf('init1'), sidecar, containerOf('init2')],
  );

  it.each<[string, Readonly<Record<string, readonly string[]>>, readonly string[]]>([
    ['one', {}, []],
    ['one', { init1: ['a'], init2: ['b'] }, ['a', 'b']],
    ['one', { init1: ['a'], side: ['s'], init2: ['b'] }, ['a', 'b']],
    ['two', { init1: ['a'], init2: ['b'], one: ['a'] }, ['b']],
    ['init2', { init1: ['a'] }, ['a']],
    ['init2', { init1: ['a'], side: ['a'] }, []],
    ['init1', { init1: ['a'], init2: ['b'] }, []],
    ['side', { init1: ['a', 'b'] }, ['a', 'b']],
  ])('reusableDevices of container %s with held devices %j: %j', (container, held, reusable) => {
    expect([...reusableDevices(pod, container, GPU, holding(held))].sort()).toEqual(reusable);
  });

  it('C4: never returns devices that a sidecar or another main container holds', () => {
    const held = holding({ init1: ['a'], side: ['a'], one: ['b'] });
    expect([...reusableDevices(pod, 'two', GPU, held)]).toEqual([]);
  });
});

describe('PodDevices', () => {
  it('distinguishes a container that holds an empty list of devices from one that holds none', () => {
    const devices = holding({ one: [] });
    expect(devices.devices('u', 'one', GPU)?.size).toBe(0);
    expect(devices.devices('u', 'two', GPU)).toBeUndefined();
  });

  it('returns the containers that hold the devices of one resource', () => {
    const devices = holding({ one: ['a'] });
    devices.set({
      podUid: 'v',
      container: 'c',
      resource: 'example.com/fpga',
      devices: new Map([[-1, ['a']]]),
      response,
    });
    expect(devices.holdersOf(GPU, new Set(['a']))).toEqual(['u']);
    expect(devices.held()).toEqual(
      new Map([
        [GPU, new Set(['a'])],
        ['example.com/fpga', new Set(['a'])],
      ]),
    );
    devices.remove('u');
    expect(devices.uids()).toEqual(['v']);
  });
});
