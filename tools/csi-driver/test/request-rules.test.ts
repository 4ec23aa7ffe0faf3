import { describe, expect, test } from 'vitest';
import { refusal } from '../src/rules/refusal.ts';
import { type RequestFields, requestProblem } from '../src/rules/requests.ts';
import { capabilityOf } from '../src/services/wire.ts';
import { mountCapability } from './values.ts';

const capability = mountCapability();
const long = 'x'.repeat(129);

describe('requestProblem', () => {
  test.each<readonly [string, RequestFields]>([
    ['CreateVolume', { name: 'a', capabilities: [capability] }],
    ['DeleteVolume', { volumeId: 'v' }],
    ['ListVolumes', { maxEntries: 0 }],
    ['NodeStageVolume', { volumeId: 'v', stagingTargetPath: '/s', capability }],
    ['NodePublishVolume', { volumeId: 'v', targetPath: '/t', stagingTargetPath: '', capability }],
    // volume_path is compared only, so it may have any form.
    ['NodeGetVolumeStats', { volumeId: 'v', volumePath: 'some/path' }],
    ['Probe', {}],
  ])('requestProblem accepts a well-formed request of %s', (rpc, fields) => {
    expect(requestProblem(rpc, fields)).toBeUndefined();
  });

  test.each<readonly [string, RequestFields, string]>([
    ['CreateVolume', { name: '', capabilities: [capability] }, 'name is required'],
    ['CreateVolume', { name: 'a', capabilities: [] }, 'volume_capabilities is required'],
    ['DeleteVolume', { volumeId: '' }, 'volume_id is required'],
    ['ControllerPublishVolume', { volumeId: 'v', nodeId: '', capability }, 'node_id is required'],
    ['CreateSnapshot', { sourceVolumeId: '', name: 'a' }, 'source_volume_id is required'],
    ['DeleteSnapshot', { snapshotId: '' }, 'snapshot_id is required'],
    ['NodeStageVolume', { volumeId: 'v', stagingTargetPath: '/s' }, 'volume_capability is required'],
    ['NodeStageVolume', { volumeId: 'v', stagingTargetPath: '', capability }, 'staging_target_path is required'],
    ['NodePublishVolume', { volumeId: 'v', targetPath: '', capability }, 'target_path is required'],
    ['NodeGetVolumeStats', { volumeId: 'v', volumePath: '' }, 'volume_path is required'],
    ['DeleteVolume', { volumeId: long }, 'volume_id must have at most 128 bytes'],
    ['CreateVolume', { name: long, capabilities: [capability] }, 'name must have at most 128 bytes'],
    ['NodeUnpublishVolume', { volumeId: 'v', targetPath: 't' }, 'target_path must be an absolute path without ..'],
    [
      'NodeUnstageVolume',
      { volumeId: 'v', stagingTargetPath: '/a/../b' },
      'staging_target_path must be an absolute path without ..',
    ],
    ['ListVolumes', { maxEntries: -1 }, 'max_entries must not be negative'],
    [
      'NodeStageVolume',
      { volumeId: 'v', stagingTargetPath: '/s', capability: refusal('INVALID_ARGUMENT', 'wrong') },
      'wrong',
    ],
  ])('requestProblem rejects a request of %s with INVALID_ARGUMENT: %j', (rpc, fields, details) => {
    expect(requestProblem(rpc, fields)).toEqual({ code: 'INVALID_ARGUMENT', details: `${rpc}: ${details}` });
  });
});

describe('capabilityOf', () => {
  const mode = { mode: 1 as const };
  const mount = { fsType: 'ext4', mountFlags: ['ro'], volumeMountGroup: '' };

  test('capabilityOf converts a mount and a block capability', () => {
    expect(capabilityOf({ mount, block: null, accessMode: mode })).toEqual(
      mountCapability('ext4', 'SINGLE_NODE_WRITER', ['ro']),
    );
    expect(capabilityOf({ mount: null, block: {}, accessMode: { mode: 5 } })).toEqual({
      access: { type: 'block' },
      accessMode: 'MULTI_NODE_MULTI_WRITER',
    });
  });

  test.each([
    [{ mount, block: null, accessMode: null }],
    [{ mount, block: null, accessMode: { mode: 0 as const } }],
    [{ mount, block: null, accessMode: { mode: 99 } }],
    [{ mount: null, block: null, accessMode: mode }],
  ])('capabilityOf rejects an incomplete capability: %j', (wire) => {
    expect(capabilityOf(wire)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
