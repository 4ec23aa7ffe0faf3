import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseDevices, type DeviceDemand, fillChoice } from '../src/choose-devices.ts';

const set = (...ids: readonly string[]): ReadonlySet<string> => new Set(ids);
const demand = (fields: Partial<DeviceDemand> = {}): DeviceDemand => ({
  ...{ podUid: 'u', container: 'c', resource: 'example.com/gpu', required: 1 },
  ...{ granted: undefined, healthy: set('a', 'b'), inUse: set(), reusable: set() },
  ...fields,
});

describe('chooseDevices', () => {
  it.each<[string, Partial<DeviceDemand>, string]>([
    [
      'a resource that no plugin registered',
      { healthy: undefined },
      'cannot allocate unregistered device example.com/gpu',
    ],
    [
      'a resource without a healthy device',
      { healthy: set() },
      'no healthy devices present; cannot allocate unhealthy devices example.com/gpu',
    ],
    [
      'a granted device that is unhealthy',
      { granted: set('z') },
      'previously allocated devices are no longer healthy; cannot allocate unhealthy devices example.com/gpu',
    ],
    [
      'granted devices with an unhealthy one among them',
      { required: 2, granted: set('a', 'z') },
      'previously allocated devices are no longer healthy; cannot allocate unhealthy devices example.com/gpu',
    ],
    [
      'a request for another number of devices than was granted',
      { granted: set('a', 'b') },
      'pod "u" container "c" changed request for resource "example.com/gpu" from 2 to 1',
    ],
    [
      'a request for more devices than are free',
      { required: 2, inUse: set('a') },
      'requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1',
    ],
    [
      'a request for more devices than are free and reusable',
      { required: 3, inUse: set('a', 'b'), reusable: set('a') },
      'requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 0',
    ],
  ])("chooseDevices refuses %s with upstream's message", (_what, fields, message) => {
    expect(chooseDevices(demand(fields))).toMatchObject({ kind: 'refused', message });
  });

  it('chooseDevices reports a shortage only if other containers hold devices that could be released', () => {
    expect(chooseDevices(demand({ required: 2, inUse: set('a') }))).toMatchObject({ short: true });
    expect(chooseDevices(demand({ required: 3 }))).toMatchObject({ short: false });
  });

  it('chooseDevices keeps devices that were already granted to the container', () => {
    expect(chooseDevices(demand({ granted: set('b'), inUse: set('b') }))).toEqual({ kind: 'granted' });
  });

  it('chooseDevices takes reusable devices of init containers first', () => {
    const choice = chooseDevices(demand({ required: 2, inUse: set('b'), reusable: set('b') }));
    expect(choice).toEqual({ kind: 'open', taken: ['b'], needed: 1, available: ['a'] });
  });

  it('chooseDevices takes only as many reusable devices as required, in the order of their names', () => {
    const choice = chooseDevices(demand({ inUse: set('a', 'b'), reusable: set('b', 'a') }));
    expect(choice).toEqual({ kind: 'open', taken: ['a'], needed: 0, available: [] });
  });

  it("offers the free devices in sorted order, independent of the order of the plugin's list", () => {
    expect(chooseDevices(demand({ healthy: set('c', 'a', 'b') }))).toMatchObject({ available: ['a', 'b', 'c'] });
  });

  it('N1: chooses no device twice and no unhealthy or held device, whatever the plugin prefers', () => {
    const ids = fc.uniqueArray(fc.constantFrom(...'abcdefgh'));
    fc.assert(
      fc.property(ids, ids, ids, fc.nat(6), (well, held, preferred, required) => {
        const choice = chooseDevices(demand({ healthy: set(...well), inUse: set(...held), required }));
        if (choice.kind !== 'open') return;
        const given = [...choice.taken, ...fillChoice(choice.needed, choice.available, preferred)];
        expect(new Set(given).size).toBe(required);
        expect(given.length).toBe(required);
        for (const id of given) expect(well.includes(id) && !held.includes(id)).toBe(true);
      }),
    );
  });

  it("fillChoice takes the plugin's preferred devices that are free, then fills up in order", () => {
    expect(fillChoice(2, ['a', 'b', 'c'], ['c', 'zz'])).toEqual(['c', 'a']);
  });
});
