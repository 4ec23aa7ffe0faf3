import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messages } from '../src/generated/codec.ts';
import { type HeldGrant, PodDevices, reusableDevices } from '../src/pod-devices.ts';
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

  it('returns the held devices and resources of exactly the current allocations, in any order of changes', () => {
    const grant = fc.record({
      podUid: fc.constantFrom('u', 'v', 'u\u00e9'),
      container: fc.constantFrom('a', 'ab', 'b'),
      resource: fc.constantFrom(GPU, 'example.com/fpga'),
      devices: fc
        .dictionary(fc.constantFrom('0', '1', '-1'), fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }))
        .map((byNode) => new Map(Object.entries(byNode).map(([node, ids]) => [Number(node), ids]))),
    });
    const removal = fc.record({ removed: fc.constantFrom('u', 'v', 'u\u00e9') });
    fc.assert(
      fc.property(fc.array(fc.oneof(grant, removal), { maxLength: 20 }), (changes) => {
        const devices = new PodDevices();
        const expected = new Map<string, Omit<HeldGrant, 'response'>>();
        for (const change of changes) {
          if ('removed' in change) {
            devices.remove(change.removed);
            for (const [key, { podUid }] of expected) if (podUid === change.removed) expected.delete(key);
          } else {
            devices.set({ ...change, response });
            expected.set(`${change.podUid}\0${change.container}\0${change.resource}`, change);
          }
          const held = new Map<string, Set<string>>();
          for (const { resource, devices: byNode } of expected.values()) {
            held.set(resource, new Set([...(held.get(resource) ?? []), ...[...byNode.values()].flat()]));
          }
          expect(devices.held()).toEqual(held);
          expect(devices.resources()).toEqual(new Set(held.keys()));
          const sorted = [...expected].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => ({ ...one, response }));
          expect(devices.all()).toEqual(sorted);
        }
      }),
    );
  });

  it('reads the devices of the other pods neither for held devices nor for resources', () => {
    let reads = 0;
    class CountedMap<K, V> extends Map<K, V> {
      override values(): MapIterator<V> {
        reads += 1;
        return super.values();
      }
    }
    const devices = new PodDevices();
    for (const podUid of ['u', 'v', 'w']) {
      devices.set({ podUid, container: 'c', resource: GPU, devices: new CountedMap([[0, [podUid]]]), response });
    }
    reads = 0;
    devices.remove('u');
    devices.set({ podUid: 'x', container: 'c', resource: GPU, devices: new Map([[0, ['x']]]), response });
    expect([...(devices.held().get(GPU) ?? [])].sort()).toEqual(['v', 'w', 'x']);
    // Only the devices of the removed pod were read.
    expect(reads).toBe(1);
  });
});
