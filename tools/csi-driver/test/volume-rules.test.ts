import { describe, expect, test } from 'vitest';
import { groupOf, groupProblem } from '../src/rules/groups.ts';
import { pageOf } from '../src/rules/paging.ts';
import { isRefusal } from '../src/rules/refusal.ts';
import { planSnapshot, selectSnapshots } from '../src/rules/snapshots.ts';
import {
  attachProblem,
  copyProblem,
  mutableParametersProblem,
  type NewVolume,
  planExpansion,
  planVolume,
  usesOf,
} from '../src/rules/volumes.ts';
import { newInlineVolume } from '../src/services/inline-volume.ts';
import type { DriverState, VolumeRecord } from '../src/state/records.ts';
import { blockCapability, mountCapability, snapshotRecord, volumeRecord } from './values.ts';

const limits = { maxVolumeBytes: 1000, capacity: new Map<string, number>() };
const stateOf = (...volumes: readonly VolumeRecord[]): DriverState => ({
  nextSequence: 9,
  volumes,
  snapshots: [snapshotRecord()],
});
const wanted = (more: Partial<NewVolume> = {}): NewVolume => ({
  ...{ name: 'new', range: { requiredBytes: 100, limitBytes: 0 }, capabilities: [mountCapability()], parameters: {} },
  ...{ mutableParameters: {}, source: undefined },
  ...more,
});

describe('planVolume', () => {
  const plan = (state: DriverState, request: NewVolume) => {
    const planned = planVolume(state, request, limits);
    return isRefusal(planned) ? planned.code : planned;
  };

  test.each<readonly [string, Partial<NewVolume>, Partial<VolumeRecord>]>([
    ['a directory for a mount without a file system', {}, { backing: 'directory', fsType: '' }],
    ['a block device', { capabilities: [blockCapability()] }, { backing: 'block', fsType: '' }],
    [
      'an image for a file system',
      { capabilities: [mountCapability('xfs')] },
      { backing: 'file-system', fsType: 'xfs' },
    ],
    [
      'an image for the parameter fsType',
      { parameters: { fsType: 'ext4' } },
      { backing: 'file-system', fsType: 'ext4' },
    ],
    [
      'a copy as large as its source',
      { range: undefined, source: { type: 'snapshot', id: 's1' } },
      { sizeBytes: 1000 },
    ],
    ['a copy of a volume', { source: { type: 'volume', id: 'v1' } }, { source: { type: 'volume', id: 'v1' } }],
  ])('planVolume plans %s', (_, more, expected) => {
    expect(plan(stateOf(volumeRecord()), wanted(more))).toMatchObject({ isNew: true, volume: expected });
  });

  test('planVolume plans to grow a copy of a smaller file system', () => {
    const source = volumeRecord({ backing: 'file-system', fsType: 'ext4', isFormatted: true });
    const request = wanted({
      capabilities: [mountCapability('ext4')],
      range: { requiredBytes: 200, limitBytes: 0 },
      source: { type: 'volume', id: 'v1' },
    });
    expect(plan(stateOf(source), request)).toMatchObject({ volume: { isFormatted: true, mustGrow: true } });
    const same = { ...request, range: { requiredBytes: 100, limitBytes: 0 } };
    expect(plan(stateOf(source), same)).toMatchObject({ volume: { isFormatted: true, mustGrow: false } });
  });

  test.each<readonly [string, Partial<NewVolume>, string]>([
    ['both access types', { capabilities: [mountCapability(), blockCapability()] }, 'INVALID_ARGUMENT'],
    ['two file systems', { capabilities: [mountCapability('xfs'), mountCapability('ext4')] }, 'INVALID_ARGUMENT'],
    ['an unknown file system', { capabilities: [mountCapability('zfs')] }, 'INVALID_ARGUMENT'],
    ['a missing snapshot', { source: { type: 'snapshot', id: 's2' } }, 'NOT_FOUND'],
    ['a missing source volume', { source: { type: 'volume', id: 'v2' } }, 'NOT_FOUND'],
    [
      'a source of another type',
      { capabilities: [blockCapability()], source: { type: 'snapshot', id: 's1' } },
      'INVALID_ARGUMENT',
    ],
    [
      'a size below that of the source',
      { range: { requiredBytes: 99, limitBytes: 0 }, source: { type: 'snapshot', id: 's1' } },
      'OUT_OF_RANGE',
    ],
    [
      'a limit below the size of the source',
      { range: { requiredBytes: 0, limitBytes: 99 }, source: { type: 'snapshot', id: 's1' } },
      'OUT_OF_RANGE',
    ],
    ['a size above the maximum', { range: { requiredBytes: 1001, limitBytes: 0 } }, 'OUT_OF_RANGE'],
  ])('planVolume rejects %s', (_, more, code) => {
    expect(plan(stateOf(volumeRecord()), wanted(more))).toBe(code);
  });

  test.each<readonly [string, Partial<NewVolume>, 'repeated' | 'ALREADY_EXISTS']>([
    ['the same request', {}, 'repeated'],
    ['a smaller required size without a limit', { range: { requiredBytes: 1, limitBytes: 0 } }, 'repeated'],
    ['a larger required size', { range: { requiredBytes: 101, limitBytes: 0 } }, 'ALREADY_EXISTS'],
    ['a limit below the size', { range: { requiredBytes: 1, limitBytes: 99 } }, 'ALREADY_EXISTS'],
    ['another access type', { capabilities: [blockCapability()] }, 'ALREADY_EXISTS'],
    ['a file system', { capabilities: [mountCapability('ext4')] }, 'ALREADY_EXISTS'],
    ['other parameters', { parameters: { foo: 'bar' } }, 'ALREADY_EXISTS'],
    ['a content source', { source: { type: 'snapshot', id: 's1' } }, 'ALREADY_EXISTS'],
  ])('planVolume returns $2 for a request with an existing name and %s', (_, more, expected) => {
    const planned = plan(stateOf(volumeRecord({ name: 'new' })), wanted(more));
    if (expected === 'repeated') expect(planned).toMatchObject({ isNew: false, volume: { id: 'v1' } });
    else expect(planned).toBe(expected);
  });

  test('planVolume rejects a new volume above the capacity of its kind', () => {
    const scarce = { maxVolumeBytes: 1000, capacity: new Map([['k', 150]]) };
    const state = stateOf(volumeRecord({ kind: 'k' }));
    expect(planVolume(state, wanted(), scarce)).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    const small = wanted({ range: { requiredBytes: 50, limitBytes: 0 } });
    expect(planVolume(state, small, scarce)).toMatchObject({ volume: { kind: 'k', sizeBytes: 50 } });
  });
});

test.each<readonly [Partial<VolumeRecord>, string | undefined]>([
  [{ backing: 'directory' }, undefined],
  [{ backing: 'block' }, undefined],
  [{ backing: 'file-system' }, 'FAILED_PRECONDITION'],
])('copyProblem of a staged volume %j is %s', (more, code) => {
  const staged = [{ path: '/s', capability: mountCapability() }];
  expect(copyProblem(volumeRecord({ ...more, staged }))?.code).toBe(code);
  expect(copyProblem(volumeRecord(more))).toBeUndefined();
});

test('usesOf lists how a volume is used', () => {
  const capability = mountCapability();
  expect(usesOf(volumeRecord())).toBe('');
  const used = volumeRecord({
    attachment: { readOnly: false, capability },
    staged: [{ path: '/s', capability }],
    published: [{ path: '/t', readOnly: false, capability }],
  });
  expect(usesOf(used)).toBe('attached, staged at /s, published at /t');
});

test.each<readonly [number, number | string]>([
  [150, 150],
  [50, 100],
  [160, 'RESOURCE_EXHAUSTED'],
  [1001, 'OUT_OF_RANGE'],
])('planExpansion of a volume of 100 bytes to %d returns %s', (requiredBytes, expected) => {
  const volume = volumeRecord({ kind: 'k' });
  const scarce = { maxVolumeBytes: 1000, capacity: new Map([['k', 155]]) };
  const size = planExpansion(stateOf(volume), volume, { requiredBytes, limitBytes: 0 }, scarce);
  expect(isRefusal(size) ? size.code : size).toBe(expected);
});

describe('attachProblem', () => {
  const capability = mountCapability();
  const request = { nodeId: 'n1', readOnly: false, capability };
  const node = { nodeId: 'n1', attachLimit: 2, attachedCount: 1 };
  const attachment = { readOnly: false, capability };

  test.each<readonly [string, VolumeRecord, Partial<typeof request>, Partial<typeof node>, string | undefined]>([
    ['an unattached volume', volumeRecord(), {}, {}, undefined],
    ['another node', volumeRecord(), { nodeId: 'n2' }, {}, 'NOT_FOUND'],
    ['a block device for a directory', volumeRecord(), { capability: blockCapability() }, {}, 'INVALID_ARGUMENT'],
    ['a repetition', volumeRecord({ attachment }), {}, { attachedCount: 2 }, undefined],
    ['a repetition that is read-only', volumeRecord({ attachment }), { readOnly: true }, {}, 'ALREADY_EXISTS'],
    ['a volume above the limit', volumeRecord(), {}, { attachedCount: 2 }, 'RESOURCE_EXHAUSTED'],
    ['a volume without a limit', volumeRecord(), {}, { attachLimit: 0, attachedCount: 99 }, undefined],
  ])('attachProblem returns for %s: $4', (_, volume, more, limit, code) => {
    expect(attachProblem(volume, { ...request, ...more }, { ...node, ...limit })?.code).toBe(code);
  });
});

test.each<readonly [readonly string[], string | undefined]>([
  [[], undefined],
  [['a', 'b'], undefined],
  [['a'], 'INVALID_ARGUMENT'],
])('mutableParametersProblem with the accepted names %j returns %s', (names, code) => {
  expect(mutableParametersProblem({ a: '1', b: '2' }, names)?.code).toBe(code);
});

describe('rules for snapshots', () => {
  test.each<readonly [string, string, string, unknown]>([
    ['a new name', 'new', 'v1', undefined],
    ['an existing name and its volume', 'snap', 'v1', { id: 's1' }],
    ['an existing name and another volume', 'snap', 'v2', { code: 'ALREADY_EXISTS' }],
    ['a missing volume', 'new', 'v2', { code: 'NOT_FOUND' }],
  ])('planSnapshot returns for %s: $3', (_, name, volumeId, expected) => {
    const planned = planSnapshot(stateOf(volumeRecord()), name, volumeId);
    if (expected === undefined) expect(planned).toBeUndefined();
    else expect(planned).toMatchObject(expected as object);
  });

  const all = [snapshotRecord(), snapshotRecord({ id: 's2', sourceVolumeId: 'v2', groupId: 'g' })];

  test.each([
    ['', '', ['s1', 's2']],
    ['s2', '', ['s2']],
    ['', 'v1', ['s1']],
    ['s2', 'v1', []],
  ])('selectSnapshots with the ID %j and the volume %j returns %j', (snapshotId, sourceVolumeId, expected) => {
    expect(selectSnapshots(all, { snapshotId, sourceVolumeId }).map(({ id }) => id)).toEqual(expected);
  });

  test('groupProblem accepts a part of a group and rejects another volume', () => {
    expect(groupOf(all, 'g').map(({ id }) => id)).toEqual(['s2']);
    expect(groupProblem(groupOf(all, 'g'), ['v2', 'v3'])).toBeUndefined();
    expect(groupProblem(groupOf(all, 'g'), ['v3'])).toMatchObject({ code: 'ALREADY_EXISTS' });
  });
});

describe('pageOf', () => {
  const entries = [3, 1, 2, 5].map((sequence) => ({ sequence }));
  const numbers = (maxEntries: number, token: string) => {
    const page = pageOf(entries, maxEntries, token);
    return isRefusal(page) ? page.code : [page.entries.map(({ sequence }) => sequence), page.nextToken];
  };

  test.each<readonly [number, string, unknown]>([
    [0, '', [[1, 2, 3, 5], '']],
    [2, '', [[1, 2], '2']],
    [2, '2', [[3, 5], '']],
    [1, '3', [[5], '']],
    // The entry of the token was deleted in the meantime.
    [1, '4', [[5], '']],
    [0, 'x', 'ABORTED'],
    [0, '-1', 'ABORTED'],
  ])('pageOf with at most %d entries after the token %j returns %j', (maxEntries, token, expected) => {
    expect(numbers(maxEntries, token)).toEqual(expected);
  });
});

describe('newInlineVolume', () => {
  const ephemeral = { 'csi.storage.k8s.io/ephemeral': 'true' };
  const create = (volumeContext: Record<string, string>, capability = mountCapability()) =>
    newInlineVolume({ volumeId: 'csi-1', volumeContext }, capability, limits);

  test('newInlineVolume creates a directory and stores no entry that the kubelet added', () => {
    const context = { ...ephemeral, 'csi.storage.k8s.io/serviceAccount.tokens': 'secret', size: '500', foo: 'bar' };
    expect(create(context)).toMatchObject({
      ...{ id: 'csi-1', isEphemeral: true, backing: 'directory', sizeBytes: 500 },
      parameters: { size: '500', foo: 'bar' },
    });
    expect(JSON.stringify(create(context))).not.toContain('secret');
  });

  test.each([
    ['a volume that is not inline', {}, mountCapability(), 'NOT_FOUND'],
    ['a block device', ephemeral, blockCapability(), 'INVALID_ARGUMENT'],
    ['a wrong size', { ...ephemeral, size: 'big' }, mountCapability(), 'INVALID_ARGUMENT'],
    ['a size above the maximum', { ...ephemeral, size: '1Ki' }, mountCapability(), 'OUT_OF_RANGE'],
  ])('newInlineVolume rejects %s', (_, context, capability, code) => {
    expect(create(context as Record<string, string>, capability)).toMatchObject({ code });
  });
});
