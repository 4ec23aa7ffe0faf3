import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint, isLargerThan } from '../src/checkpoint-format.ts';

/**
 * Checkpoints written by Go with the structures of `pkg/kubelet/cm/devicemanager/checkpoint` and the checksum of
 * `k8s.io/apimachinery` 0.36.3.
 */
const EMPTY = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}';
const FULL =
  '{"Data":{"PodDeviceEntries":[{"PodUID":"0a1b","ContainerName":"c\\u003c1\\u003e","ResourceName":"example.com/gpu","DeviceIDs":{"-1":["d9"],"0":["a","b\\u0026é"],"10":["y"],"2":["x"]},"AllocResp":"ChT/"},{"PodUID":"0a1b","ContainerName":"c2","ResourceName":"example.com/gpu","DeviceIDs":{"-1":["d10"]},"AllocResp":""}],"RegisteredDevices":{"example.com/10":[],"example.com/9":["é\\u2028"],"example.com/gpu":["a","b\\u0026é","d10"]}},"Checksum":235611181}';

/** Checkpoints written by Go with every field nil that may be nil. Absent fields are read like nil fields. */
const NILS: readonly string[] = [
  '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":null},"Checksum":1944006890}',
  '{"Data":{},"Checksum":1944006890}',
  '{"Data":{"PodDeviceEntries":[{"PodUID":"","ContainerName":"","ResourceName":"","DeviceIDs":null,"AllocResp":null}],"RegisteredDevices":null},"Checksum":3345961093}',
  '{"Data":{"PodDeviceEntries":[{}]},"Checksum":3345961093}',
  '{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"","ResourceName":"","DeviceIDs":null,"AllocResp":null},{"PodUID":"v","ContainerName":"c","ResourceName":"r","DeviceIDs":{"-1":[],"0":null},"AllocResp":""}],"RegisteredDevices":{"a":[],"b":null}},"Checksum":2111913293}',
];

describe('checkpoint format', () => {
  it('K1: decodeCheckpoint reads every nil or absent field of a Go checkpoint as empty', () => {
    const none = { podUid: '', container: '', resource: '', devices: new Map(), response: Buffer.alloc(0) };
    const contents = NILS.map(decodeCheckpoint);
    expect(contents).toEqual([
      { entries: [], registered: new Map() },
      { entries: [], registered: new Map() },
      { entries: [none], registered: new Map() },
      { entries: [none], registered: new Map() },
      {
        entries: [
          { ...none, podUid: 'u' },
          {
            ...{ podUid: 'v', container: 'c', resource: 'r', response: Buffer.alloc(0) },
            devices: new Map([
              [-1, []],
              [0, []],
            ]),
          },
        ],
        registered: new Map([
          ['a', []],
          ['b', []],
        ]),
      },
    ]);
  });

  it.each([EMPTY, FULL])('K1: encodeCheckpoint writes the same bytes as Go: %s', (text) => {
    expect(encodeCheckpoint(decodeCheckpoint(text))).toBe(text);
  });

  it('decodeCheckpoint returns the content that encodeCheckpoint wrote', () => {
    const text = fc.string({ unit: 'grapheme' });
    const ids = fc.array(text, { maxLength: 3 });
    const entry = fc.record({
      ...{ podUid: text, container: text, resource: text },
      devices: fc.array(fc.tuple(fc.integer({ min: -1, max: 12 }), ids), { maxLength: 3 }).map((all) => new Map(all)),
      response: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
    });
    const registered = fc.array(fc.tuple(text, ids), { maxLength: 3 }).map((all) => new Map(all));
    fc.assert(
      fc.property(fc.record({ entries: fc.array(entry, { maxLength: 3 }), registered }), (content) => {
        const written = encodeCheckpoint(content);
        expect(decodeCheckpoint(written)).toEqual(content);
        // The estimate may exceed the exact size: it counts a comma after each list and each entry.
        const bytes = Buffer.byteLength(written);
        expect([isLargerThan(content, bytes - 1), isLargerThan(content, bytes + 50)]).toEqual([true, false]);
      }),
    );
  });

  const holder = {
    podUid: 'u',
    container: 'c',
    resource: 'example.com/gpu',
    devices: new Map(),
    response: Buffer.alloc(0),
  };
  const names = Array.from({ length: 1000 }, (_, index) => `gpu${index}`);
  it.each<[string, DeviceCheckpoint, number]>([
    ['an empty checkpoint', { entries: [], registered: new Map() }, 0],
    ['many devices', { entries: [], registered: new Map([['example.com/gpu', names]]) }, 20],
    ['many held devices', { entries: [{ ...holder, devices: new Map([[-1, names]]) }], registered: new Map() }, 20],
    ['a long Allocate response', { entries: [{ ...holder, response: Buffer.alloc(3001) }], registered: new Map() }, 20],
    ['many resources', { entries: [], registered: new Map(names.map((name) => [name, []])) }, 20],
    ['many containers', { entries: names.map((container) => ({ ...holder, container })), registered: new Map() }, 20],
  ])('K1: isLargerThan estimates the size of a checkpoint with a few spare bytes: %s', (_, content, spare) => {
    const written = Buffer.byteLength(encodeCheckpoint(content));
    expect([isLargerThan(content, written - 1), isLargerThan(content, written + spare)]).toEqual([true, false]);
  });

  it.each([
    ['', /JSON/],
    ['[]', /it must be an object/],
    ['{"Data":null,"Checksum":1}', /Data must be an object/],
    [EMPTY.replace('3467439661', '1'), /checksum is 3467439661, must be 1/],
    [FULL.replace('"d9"', '"d8"'), /checksum is/],
    [FULL.replace('"d9"', '9'), /DeviceIDs\["-1"\] must be a list of strings/],
    [FULL.replace('"-1":["d9"]', '"x":["d9"]'), /"x", must be a NUMA node/],
    ['{"Data":{"PodDeviceEntries":{}}}', /Data.PodDeviceEntries must be a list/],
    ['{"Data":{"PodDeviceEntries":[7]}}', /Data.PodDeviceEntries\[0\] must be an object/],
    ['{"Data":{"RegisteredDevices":{"a":"b"}}}', /Data.RegisteredDevices\["a"\] must be a list of strings/],
    [FULL.replace('"0a1b"', '7'), /PodDeviceEntries\[0\].PodUID must be a string/],
    [FULL.replace('"c2"', '7'), /PodDeviceEntries\[1\].ContainerName must be a string/],
    [FULL.replace('"ResourceName":"example.com/gpu"', '"ResourceName":[]'), /\[0\].ResourceName must be a string/],
    [FULL.replace('"AllocResp":""', '"AllocResp":0'), /\[1\].AllocResp must be a string/],
  ])('W3: decodeCheckpoint rejects content that no kubelet wrote: %s', (text, message) => {
    expect(() => decodeCheckpoint(text)).toThrow(message);
  });

  it('W3: decodeCheckpoint either reads arbitrary content or throws an error', () => {
    const data = fc.record({ PodDeviceEntries: fc.jsonValue(), RegisteredDevices: fc.jsonValue() });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.record({ Data: data, Checksum: fc.nat() }).map((one) => JSON.stringify(one)),
        ),
        (text) => {
          try {
            decodeCheckpoint(text);
          } catch (err) {
            expect(err).toBeInstanceOf(Error);
            expect(err).not.toBeInstanceOf(TypeError);
          }
        },
      ),
    );
  });
});
