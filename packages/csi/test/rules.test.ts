import type { CsiNodeCapabilities } from '@node-agent/contracts';
import type { GrpcCode } from '@node-agent/grpc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { supportedAccessMode } from '../src/client/access-mode.ts';
import { capabilitiesOf, nodeInfoOf, volumeStatsOf } from '../src/client/responses.ts';
import { publicText } from '../src/client/secrets.ts';
import { messages } from '../src/generated/codec.ts';
import { csiAccessMode, isFinalCode } from '../src/index.ts';
import { registrationVersion } from '../src/registry/registration-rule.ts';
import { compareVersions, highestSupportedVersion, parseVersion } from '../src/registry/version.ts';

describe('isFinalCode', () => {
  it.each<[GrpcCode, boolean]>([
    ['CANCELLED', false],
    ['UNKNOWN', true],
    ['INVALID_ARGUMENT', true],
    ['DEADLINE_EXCEEDED', false],
    ['NOT_FOUND', true],
    ['ALREADY_EXISTS', true],
    ['PERMISSION_DENIED', true],
    ['RESOURCE_EXHAUSTED', false],
    ['FAILED_PRECONDITION', true],
    ['ABORTED', false],
    ['OUT_OF_RANGE', true],
    ['UNIMPLEMENTED', true],
    ['INTERNAL', true],
    ['UNAVAILABLE', false],
    ['DATA_LOSS', true],
    ['UNAUTHENTICATED', true],
  ])('isFinalCode returns for %s: %s', (code, isFinal) => {
    expect(isFinalCode(code)).toBe(isFinal);
  });
});

describe('csiAccessMode', () => {
  it.each([
    ['ReadWriteOnce', false, 'SINGLE_NODE_WRITER'],
    ['ReadWriteOnce', true, 'SINGLE_NODE_MULTI_WRITER'],
    ['ReadWriteOncePod', false, 'SINGLE_NODE_WRITER'],
    ['ReadWriteOncePod', true, 'SINGLE_NODE_SINGLE_WRITER'],
    ['ReadOnlyMany', false, 'MULTI_NODE_READER_ONLY'],
    ['ReadOnlyMany', true, 'MULTI_NODE_READER_ONLY'],
    ['ReadWriteMany', false, 'MULTI_NODE_MULTI_WRITER'],
    ['ReadWriteMany', true, 'MULTI_NODE_MULTI_WRITER'],
  ] as const)('csiAccessMode of %s with SINGLE_NODE_MULTI_WRITER %s is %s', (mode, singleNodeMultiWriter, expected) => {
    expect(csiAccessMode(mode, { singleNodeMultiWriter })).toBe(expected);
  });

  it('csiAccessMode never changes an access mode that every driver knows', () => {
    for (const singleNodeMultiWriter of [false, true]) {
      expect(supportedAccessMode('SINGLE_NODE_READER_ONLY', { singleNodeMultiWriter })).toBe('SINGLE_NODE_READER_ONLY');
      expect(supportedAccessMode('SINGLE_NODE_WRITER', { singleNodeMultiWriter })).toBe('SINGLE_NODE_WRITER');
    }
  });
});

describe('versions of CSI drivers', () => {
  it.each([
    ['1.0.0', [1, 0, 0]],
    ['v1.10', [1, 10]],
    [' 1.2.3-rc1', [1, 2, 3]],
    ['1.2.', [1, 2]],
    ['1', 'illegal version string "1"'],
    ['', 'could not parse "" as version'],
    ['latest', 'could not parse "latest" as version'],
    ['1.02', 'illegal zero-prefixed version component in "1.02"'],
    [`1.${'9'.repeat(60)}`, `illegal version string "1.${'9'.repeat(60)}"`],
  ])('the CSI version %j is parsed as %j', (text, expected) => {
    expect(parseVersion(text)).toEqual(expected);
  });

  it('a long CSI version is parsed in linear time', () => {
    const text = `${'1.'.repeat(200_000)}x`;
    const parsed = parseVersion(text);
    expect(Array.isArray(parsed) && parsed.length).toBe(200_000);
  });

  it.each([
    [['1.0.0'], [1, 0, 0]],
    [
      ['1.0.0', '1.2.0', '1.1.0'],
      [1, 2, 0],
    ],
    [
      ['0.3.0', '1.0.0', '2.0.0'],
      [1, 0, 0],
    ],
    [
      ['nonsense', '1.1.0'],
      [1, 1, 0],
    ],
    [['0.2.0', '0.3.0'], 'highest supported version reported is 0.3.0, must be v1.x'],
    [['2.0.0'], 'could not find a highest supported version: none is below 2'],
    [['nonsense'], 'could not find a highest supported version: could not parse "nonsense" as version'],
  ])('of the CSI versions %j, %j is the highest supported one', (texts, expected) => {
    expect(highestSupportedVersion(texts)).toEqual(expected);
  });

  it('CSI versions are ordered by number, and trailing zeros do not count', () => {
    expect(compareVersions([1, 9], [1, 10])).toBeLessThan(0);
    expect(compareVersions([1, 0], [1, 0, 0])).toBe(0);
    expect(compareVersions([1, 0, 1], [1])).toBeGreaterThan(0);
  });
});

describe('rule for the registration of CSI drivers', () => {
  const version = (name: string, versions: readonly string[], registered?: readonly number[]): unknown =>
    registrationVersion({ step: 'ValidatePlugin', name, versions }, registered);

  it('a CSI driver registers under its highest 1.x version, unless a driver of the same or a higher version is registered', () => {
    expect(version('a.example.com', ['1.0.0', '1.1.0'])).toEqual([1, 1, 0]);
    expect(version('a.example.com', ['1.1.0'], [1, 0, 0])).toEqual([1, 1, 0]);
    const refused =
      'kubernetes.io/csi: ValidatePlugin for CSI driver "a.example.com" failed. ' +
      'Another driver with the same name is already registered with a higher supported version: "1.1.0"';
    expect(version('a.example.com', ['1.1.0'], [1, 1, 0])).toBe(refused);
    expect(version('a.example.com', ['1.0.0'], [1, 1, 0])).toBe(refused);
  });

  it('a CSI driver without a supported version is refused', () => {
    expect(version('a.example.com', [])).toMatch(/failed\. Plugin returned an empty list for supported versions$/);
    expect(version('a.example.com', ['0.3.0'])).toMatch(/failed\. None of the versions specified \["0.3.0"\] are sup/);
  });

  it.each([
    ['', false],
    ['Upper.Example.com', true],
    ['a', true],
    ['../../etc', false],
    ['a/b', false],
    ['a..b', false],
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    ['a\nb', false],
  ])('a CSI driver with the name %j may register: %s', (name, allowed) => {
    expect(Array.isArray(version(name, ['1.0.0']))).toBe(allowed);
  });

  it('the reason why a CSI driver is refused is short, even if its name and versions are long', () => {
    const long = 'x'.repeat(1_000_000);
    expect(String(version(long, [long])).length).toBeLessThan(500);
    expect(String(version('a', Array(1000).fill(long))).length).toBeLessThan(1500);
  });
});

describe('publicText', () => {
  it('publicText removes the values of secrets, the longest first', () => {
    const secrets = { user: 'admin', password: 'admin-s3cret', pin: '12' };
    expect(publicText('login admin with admin-s3cret pin 12 failed', secrets)).toBe(
      'login ***stripped*** with ***stripped*** pin 12 failed',
    );
  });

  it('publicText returns no value of a secret, whatever the text', () => {
    const secret = fc.string({ minLength: 4, maxLength: 12 }).filter((text) => !'***stripped***...'.includes(text));
    fc.assert(
      fc.property(secret, fc.array(fc.string({ maxLength: 8 })), (value, parts) => {
        expect(publicText(`[${parts.join(value)}]`, { value }).includes(value)).toBe(false);
      }),
    );
  });

  it('publicText cuts long texts to 2 KiB', () => {
    expect(publicText('x'.repeat(1_000_000), {})).toHaveLength(2048 + 3);
  });
});

describe('responses of CSI drivers', () => {
  const info = (more: Parameters<typeof messages.NodeGetInfoResponse.create>[0]): unknown =>
    nodeInfoOf(messages.NodeGetInfoResponse.create({ nodeId: 'node-1', ...more }));

  it('the node info of a CSI driver is read from its response', () => {
    const topology = { 'example.com/zone': 'z1', rack: '' };
    expect(info({ maxVolumesPerNode: 5n, accessibleTopology: { segments: topology } })).toEqual({
      ...{ nodeId: 'node-1', maxVolumes: 5, topology },
    });
  });

  it.each([
    [0n, 0],
    [-1n, 0],
    [-(2n ** 63n), 0],
    [2n ** 31n - 1n, 2 ** 31 - 1],
    [2n ** 31n, 2 ** 31 - 1],
    [2n ** 63n - 1n, 2 ** 31 - 1],
  ])("a CSI driver's limit of %s volumes is reported as %s", (maxVolumesPerNode, maxVolumes) => {
    expect(info({ maxVolumesPerNode })).toMatchObject({ maxVolumes });
  });

  it.each<[Parameters<typeof info>[0], RegExp]>([
    [{ nodeId: '' }, /driverNodeID must not be empty$/],
    [{ nodeId: 'é'.repeat(129) }, /^node ID has 258 bytes: must be no more than 256 bytes$/],
    [{ accessibleTopology: { segments: { 'a b': 'x' } } }, /^topology "a b": name part must consist of/],
    [{ accessibleTopology: { segments: { a: 'x'.repeat(64) } } }, /^topology "a": must be no more than 63 bytes$/],
    [{ accessibleTopology: { segments: { ['x'.repeat(100_000)]: '' } } }, /^topology "x{100}\.\.\."/],
    [
      { accessibleTopology: { segments: Object.fromEntries([...Array(65).keys()].map((i) => [`k${i}`, ''])) } },
      /^topology has 65 keys: at most 64 are allowed$/,
    ],
  ])('the node info %j of a CSI driver is rejected', (response, reason) => {
    expect(info(response)).toMatch(reason);
  });

  it('unknown and empty capabilities of a CSI driver are ignored', () => {
    const all = messages.NodeGetCapabilitiesResponse.create({
      capabilities: [{ rpc: { type: 1 } }, { rpc: { type: 99 } }, {}, { rpc: { type: 6 } }, { rpc: {} }],
    });
    const none = { volumeStats: false, expandVolume: false, volumeCondition: false, singleNodeMultiWriter: false };
    expect(capabilitiesOf(all.capabilities)).toEqual({ ...none, stageUnstage: true, volumeMountGroup: true });
  });

  const stats = (
    response: Parameters<typeof messages.NodeGetVolumeStatsResponse.create>[0],
    capabilities: Pick<CsiNodeCapabilities, 'volumeCondition'> = { volumeCondition: false },
  ): unknown => volumeStatsOf(messages.NodeGetVolumeStatsResponse.create(response), capabilities);

  it('volume usage is read with exact numbers and the last entry of a unit, without negative numbers and unknown units', () => {
    const usage = [
      { unit: 1, total: 1n },
      { unit: 1, total: 2n ** 63n - 1n, used: -1n, available: 5n },
      { unit: 0, total: 7n },
      { unit: 9, total: 7n },
      { unit: 2, total: 3n, used: 1n, available: 2n },
    ];
    expect(stats({ usage })).toEqual({
      usage: [
        { unit: 'bytes', total: 2n ** 63n - 1n, available: 5n },
        { unit: 'inodes', total: 3n, used: 1n, available: 2n },
      ],
    });
  });

  it('the volume condition is read only from a driver that has the capability', () => {
    const response = { usage: [{ unit: 1 }], volumeCondition: { abnormal: true, message: 'x'.repeat(5000) } };
    expect(stats(response)).not.toHaveProperty('condition');
    const condition = { abnormal: true, message: 'x'.repeat(1024) };
    expect(stats(response, { volumeCondition: true })).toHaveProperty('condition', condition);
    expect(stats({}, { volumeCondition: true })).toEqual({ usage: [], condition: { abnormal: false, message: '' } });
  });

  it('a volume stats response with neither usage nor condition is rejected', () => {
    expect(stats({})).toBe('failed to get usage from response. usage is nil');
  });
});
