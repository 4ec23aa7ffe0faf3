import { describe, expect, test } from 'vitest';
import { capabilityProblem, sameCapability } from '../src/rules/capabilities.ts';
import {
  isPlaceOf,
  type NodeRequest,
  type NodeRules,
  publishContextOf,
  publishProblem,
  stageProblem,
  unknownVolumeProblem,
  unstageProblem,
} from '../src/rules/node.ts';
import type { VolumeRecord } from '../src/state/records.ts';
import { blockCapability, mountCapability, volumeRecord } from './values.ts';

const capability = mountCapability();
const rules: NodeRules = { nodeId: 'n1', attaches: false, stages: true };
const attachment = { readOnly: false, capability };
const stagedAtS = { staged: [{ path: '/s', capability }] };
const request = (more: Partial<NodeRequest> = {}): NodeRequest => ({
  ...{ path: '/s', stagingPath: '/s', readOnly: false, capability, publishContext: {} },
  ...more,
});

describe('stageProblem', () => {
  test.each<readonly [string, Partial<VolumeRecord>, Partial<NodeRequest>, Partial<NodeRules>, string | undefined]>([
    ['a new volume', {}, {}, {}, undefined],
    ['a repetition', stagedAtS, {}, {}, undefined],
    ['another path', stagedAtS, { path: '/other' }, {}, 'FAILED_PRECONDITION'],
    [
      'another capability',
      stagedAtS,
      { capability: mountCapability('', 'MULTI_NODE_MULTI_WRITER') },
      {},
      'ALREADY_EXISTS',
    ],
    ['a block device for a directory', {}, { capability: blockCapability() }, {}, 'FAILED_PRECONDITION'],
    ['a file system for a directory', {}, { capability: mountCapability('xfs') }, {}, 'FAILED_PRECONDITION'],
    ['a volume that is not attached', {}, {}, { attaches: true }, 'FAILED_PRECONDITION'],
    ['an attached volume without its context', { attachment }, {}, { attaches: true }, 'INVALID_ARGUMENT'],
    [
      'an attached volume',
      { attachment },
      { publishContext: publishContextOf('v1', 'n1') },
      { attaches: true },
      undefined,
    ],
    [
      'the context of another node',
      { attachment },
      { publishContext: publishContextOf('v1', 'n2') },
      { attaches: true },
      'INVALID_ARGUMENT',
    ],
  ])('stageProblem returns for %s: $4', (_, volume, more, settings, code) => {
    expect(stageProblem(volumeRecord(volume), request(more), { ...rules, ...settings })?.code).toBe(code);
  });
});

describe('publishProblem', () => {
  const at = (path: string, more: object = {}) => ({ path, readOnly: false, capability, ...more });
  const single = mountCapability('', 'SINGLE_NODE_SINGLE_WRITER');

  test.each<readonly [string, Partial<VolumeRecord>, Partial<NodeRequest>, Partial<NodeRules>, string | undefined]>([
    ['a staged volume', stagedAtS, {}, {}, undefined],
    ['a volume that is not staged', {}, {}, {}, 'FAILED_PRECONDITION'],
    ['a request without a staging path', stagedAtS, { stagingPath: '' }, {}, 'FAILED_PRECONDITION'],
    ['a driver that does not stage', {}, { stagingPath: '' }, { stages: false }, undefined],
    ['an inline volume', { isEphemeral: true }, { stagingPath: '' }, { attaches: true }, undefined],
    ['a repetition', { ...stagedAtS, published: [at('/t')] }, {}, {}, undefined],
    ['the same path, read-only', { ...stagedAtS, published: [at('/t')] }, { readOnly: true }, {}, 'ALREADY_EXISTS'],
    ['a second path', { ...stagedAtS, published: [at('/u')] }, {}, {}, undefined],
    [
      'a second path for a volume of one pod',
      { ...stagedAtS, published: [at('/u', { capability: single })] },
      { capability: single },
      {},
      'FAILED_PRECONDITION',
    ],
    [
      'a repetition for a volume of one pod',
      { ...stagedAtS, published: [at('/t', { capability: single })] },
      { capability: single },
      {},
      undefined,
    ],
    ['a volume that is not attached', stagedAtS, {}, { attaches: true }, 'FAILED_PRECONDITION'],
  ])('publishProblem returns for %s: $4', (_, volume, more, settings, code) => {
    const place = request({ path: '/t', ...more });
    expect(publishProblem(volumeRecord(volume), place, { ...rules, ...settings })?.code).toBe(code);
  });
});

test('unstageProblem rejects a volume that is still published', () => {
  expect(unstageProblem(volumeRecord(stagedAtS))).toBeUndefined();
  const published = [{ path: '/t', readOnly: false, capability }];
  expect(unstageProblem(volumeRecord({ published }))).toMatchObject({ code: 'FAILED_PRECONDITION' });
});

test('unknownVolumeProblem accepts a repeated call for an unknown volume if its path no longer exists', () => {
  expect(unknownVolumeProblem('v9', '/t', false)).toBeUndefined();
  expect(unknownVolumeProblem('v9', '/t', true)).toMatchObject({ code: 'NOT_FOUND' });
});

test('isPlaceOf recognises staging and target paths', () => {
  const volume = volumeRecord({ ...stagedAtS, published: [{ path: '/t', readOnly: true, capability }] });
  expect(['/s', '/t', '/u'].map((path) => isPlaceOf(volume, path))).toEqual([true, true, false]);
});

test.each<readonly [Partial<VolumeRecord>, ReturnType<typeof mountCapability>, boolean]>([
  [{ backing: 'directory' }, mountCapability(), true],
  [{ backing: 'directory' }, blockCapability(), false],
  [{ backing: 'block' }, blockCapability(), true],
  [{ backing: 'block' }, mountCapability(), false],
  [{ backing: 'file-system', fsType: 'xfs' }, mountCapability(), true],
  [{ backing: 'file-system', fsType: 'xfs' }, mountCapability('xfs'), true],
  [{ backing: 'file-system', fsType: 'xfs' }, mountCapability('ext4'), false],
])('capabilityProblem of %j with %j: fits is %s', (volume, wanted, fits) => {
  expect(capabilityProblem(volumeRecord(volume), wanted) === undefined).toBe(fits);
});

test.each<readonly [ReturnType<typeof mountCapability>, ReturnType<typeof mountCapability>, boolean]>([
  [mountCapability(), mountCapability(), true],
  [blockCapability(), blockCapability(), true],
  [mountCapability(), blockCapability(), false],
  [mountCapability('xfs'), mountCapability('ext4'), false],
  [mountCapability('', 'SINGLE_NODE_WRITER', ['ro']), mountCapability(), false],
  [mountCapability('', 'SINGLE_NODE_WRITER'), mountCapability('', 'MULTI_NODE_MULTI_WRITER'), false],
])('sameCapability of %j and %j is %s', (one, other, expected) => {
  expect(sameCapability(one, other)).toBe(expected);
});
