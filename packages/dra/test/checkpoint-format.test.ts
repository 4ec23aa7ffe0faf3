import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCheckpoint, encodeCheckpoint, type StoredClaim } from '../src/checkpoint-format.ts';

/** Checkpoints that Go wrote with the structures of `pkg/kubelet/cm/dra/state`. */
const NIL =
  '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":null}","Checksum":4010664294}';
const EMPTY =
  '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":[]}","Checksum":2361995144}';
const FULL =
  '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":[{\\"ClaimUID\\":\\"uid-1\\",\\"ClaimName\\":\\"claim\\\\u003c1\\\\u003e\\",\\"Namespace\\":\\"default\\",\\"PodUIDs\\":{\\"pod-a\\":{},\\"pod-b\\":{}},\\"DriverState\\":{\\"a.example.com\\":{\\"Devices\\":null},\\"gpu.example.com\\":{\\"Devices\\":[{\\"PoolName\\":\\"node\\\\u00261\\",\\"DeviceName\\":\\"gpu-0\\",\\"ShareID\\":null,\\"RequestNames\\":[\\"req\\"],\\"CDIDeviceIDs\\":[\\"vendor.com/gpu=0\\"]},{\\"PoolName\\":\\"p\\",\\"DeviceName\\":\\"d é\\",\\"ShareID\\":\\"share-1\\",\\"RequestNames\\":null,\\"CDIDeviceIDs\\":null}]}}},{\\"ClaimUID\\":\\"uid-2\\",\\"ClaimName\\":\\"z\\",\\"Namespace\\":\\"other\\",\\"PodUIDs\\":{},\\"DriverState\\":{}}]}","Checksum":4287137310}';

describe('checkpoint format', () => {
  it('K1: a DRA checkpoint that Go wrote can be read', () => {
    expect(decodeCheckpoint(NIL)).toEqual([]);
    expect(decodeCheckpoint(FULL)).toEqual([
      {
        ...{ uid: 'uid-1', name: 'claim<1>', namespace: 'default' },
        podUids: new Set(['pod-a', 'pod-b']),
        drivers: new Map([
          ['a.example.com', []],
          [
            'gpu.example.com',
            [
              { pool: 'node&1', device: 'gpu-0', requestNames: ['req'], cdiDeviceIds: ['vendor.com/gpu=0'] },
              { pool: 'p', device: 'd é', shareId: 'share-1', requestNames: [], cdiDeviceIds: [] },
            ],
          ],
        ]),
      },
      { uid: 'uid-2', name: 'z', namespace: 'other', podUids: new Set(), drivers: new Map() },
    ]);
  });

  it.each([EMPTY, FULL])(
    'K1: a DRA checkpoint that is decoded and encoded has the same bytes as the one that Go wrote: %#',
    (text) => {
      expect(encodeCheckpoint(decodeCheckpoint(text))).toBe(text);
    },
  );

  it('a written DRA checkpoint is read back unchanged', () => {
    const text = fc.string({ unit: 'grapheme' });
    const texts = fc.array(text, { maxLength: 3 });
    const device = fc.record(
      { pool: text, device: text, requestNames: texts, cdiDeviceIds: texts, shareId: text },
      { requiredKeys: ['pool', 'device', 'requestNames', 'cdiDeviceIds'] },
    );
    const drivers = fc.array(fc.tuple(text, fc.array(device, { maxLength: 3 })), { maxLength: 3 });
    const claim = fc.record({
      ...{ uid: text, name: text, namespace: fc.constant('default') },
      podUids: texts.map((uids) => new Set(uids)),
      drivers: drivers.map((all) => new Map(all)),
    });
    const claims = fc.uniqueArray(claim, { maxLength: 4, selector: ({ name }) => name });
    fc.assert(
      fc.property(claims, (written) => {
        const byName = (a: StoredClaim, b: StoredClaim): number =>
          Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
        expect(decodeCheckpoint(encodeCheckpoint(written))).toEqual(written.toSorted(byName));
      }),
    );
  });

  it.each([
    ['', 'Unexpected end of JSON input'],
    ['[]', 'it must be an object'],
    ['{"Checksum":0}', 'Data must be a string'],
    ['{"Data":"{}","Checksum":1}', 'Checksum is 1, must be 2745614147'],
    [sealed('[]'), 'Data must be an object'],
    [sealed('{"ClaimInfoStateList":{}}'), 'ClaimInfoStateList must be a list'],
    [sealed('{"ClaimInfoStateList":[{}]}'), 'ClaimInfoStateList[0].ClaimUID must be a string'],
    [
      sealed(
        '{"ClaimInfoStateList":[{"ClaimUID":"u","ClaimName":"c","Namespace":"n","DriverState":{"d":{"Devices":[7]}}}]}',
      ),
      'ClaimInfoStateList[0].DriverState["d"].Devices[0] must be an object',
    ],
  ])('W3: the invalid DRA checkpoint %j is rejected with the error: %s', (text, message) => {
    expect(() => decodeCheckpoint(text)).toThrow(message);
  });
});

function sealed(data: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(data)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return JSON.stringify({ Data: data, Checksum: (crc ^ 0xffffffff) >>> 0 });
}
