import type { CSINode } from '@node-agent/pod-spec/api';
import { describe, expect, it } from 'vitest';
import { isOwnedBy, newCsiNode, withDriver, withMigratedPlugins, withoutDriver } from '../src/node-info/csi-node.ts';
import { patchForDriver, patchWithoutDriver, topologyCollision } from '../src/node-info/node-metadata.ts';

const MIGRATED =
  'kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,' +
  'kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume';
const KEY = 'storage.alpha.kubernetes.io/migrated-plugins';
const NODE_ID = 'csi.volume.kubernetes.io/nodeid';
const info = { nodeId: 'id-1', maxVolumes: 0, topology: {} };

const fresh = newCsiNode('node-1', 'uid-1');
const withAnnotation = (value: string | undefined): CSINode => ({
  ...fresh,
  metadata: { ...fresh.metadata, annotations: { kept: 'yes', ...(value !== undefined && { [KEY]: value }) } },
});

describe('content of CSINode', () => {
  it('a new CSINode has the Node as owner, the migrated volume types and no drivers', () => {
    expect(fresh).toEqual({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: {
        name: 'node-1',
        annotations: { [KEY]: MIGRATED },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'uid-1' }],
      },
      spec: { drivers: [] },
    });
  });

  it.each([
    ['the node itself', { kind: 'Node', name: 'node-1', uid: 'uid-1' }, true],
    ['a deleted node of the same name', { kind: 'Node', name: 'node-1', uid: 'uid-0' }, false],
    ['another node', { kind: 'Node', name: 'node-2', uid: 'uid-1' }, false],
    ['an object that is not a Node', { kind: 'Pod', name: 'node-1', uid: 'uid-1' }, false],
  ])('isOwnedBy returns $2 for a CSINode that belongs to %s', (_, owner, owned) => {
    const metadata = { ...fresh.metadata, ownerReferences: [{ apiVersion: 'v1', ...owner }] };
    expect(isOwnedBy({ ...fresh, metadata }, 'node-1', 'uid-1')).toBe(owned);
    expect(isOwnedBy({ ...fresh, metadata: { name: 'node-1' } }, 'node-1', 'uid-1')).toBe(false);
  });

  it.each([
    [undefined, MIGRATED],
    ['', MIGRATED],
    ['kubernetes.io/gce-pd', MIGRATED],
    [`${MIGRATED},kubernetes.io/rbd`, MIGRATED],
    [MIGRATED.split(',').reverse().join(), undefined],
  ])(
    'withMigratedPlugins changes the annotation of migrated types from %j to %j (undefined: no change)',
    (value, expected) => {
      const changed = withMigratedPlugins(withAnnotation(value));
      expect(changed?.metadata.annotations).toEqual(expected && { kept: 'yes', [KEY]: expected });
    },
  );

  it('CSINode lists a driver with its volume limit and its sorted topology keys', () => {
    const changed = withDriver(fresh, 'a', { nodeId: 'id', maxVolumes: 5, topology: { z: '1', b: '2' } });
    const driver = { name: 'a', nodeID: 'id', topologyKeys: ['b', 'z'], allocatable: { count: 5 } };
    expect(changed?.spec.drivers).toEqual([driver]);
  });

  it.each<[string, Partial<typeof info>, boolean]>([
    ['nothing changed', {}, false],
    ['the node ID changed', { nodeId: 'other' }, true],
    ['the volume limit changed', { maxVolumes: 4 }, true],
    ['the volume limit was removed', { maxVolumes: 0 }, true],
    ['a topology key was added', { topology: { a: '1', b: '2' } }, true],
    ['the topology key changed', { topology: { b: '1' } }, true],
    ['the topology key was removed', { topology: {} }, true],
    ['only the value of a topology key changed', { topology: { a: '9' } }, false],
  ])('withDriver returns a changed CSINode ($2) if %s', (_, more, changes) => {
    const before = { nodeId: 'id', maxVolumes: 3, topology: { a: '1' } };
    const present = withDriver(fresh, 'a', before) ?? fresh;
    expect(withDriver(present, 'a', { ...before, ...more }) !== undefined).toBe(changes);
  });

  it('CSINode is read with null for empty lists, as the API server returns them', () => {
    const empty = { ...fresh, spec: { drivers: null } } as unknown as CSINode;
    expect(withoutDriver(empty, 'a')).toBeUndefined();
    expect(withDriver(empty, 'a', info)?.spec.drivers).toEqual([{ name: 'a', nodeID: 'id-1', topologyKeys: [] }]);
    const present = { ...fresh, spec: { drivers: [{ name: 'a', nodeID: 'id-1', topologyKeys: null }] } };
    expect(withDriver(present as unknown as CSINode, 'a', info)).toBeUndefined();
  });

  it('a changed driver is appended to CSINode, and other drivers are kept', () => {
    const two = withDriver(withDriver(fresh, 'a', info) ?? fresh, 'b', info) ?? fresh;
    const changed = withDriver(two, 'a', { ...info, nodeId: 'new' });
    expect(changed?.spec.drivers.map(({ name, nodeID }) => [name, nodeID])).toEqual([
      ['b', 'id-1'],
      ['a', 'new'],
    ]);
    expect(withoutDriver(two, 'a')?.spec.drivers.map(({ name }) => name)).toEqual(['b']);
    expect(withoutDriver(two, 'c')).toBeUndefined();
  });

  it('an annotation that was removed from CSINode is written with the next driver', () => {
    const changed = withDriver(withAnnotation(undefined), 'a', info);
    expect(changed?.metadata.annotations).toEqual({ kept: 'yes', [KEY]: MIGRATED });
  });
});

describe('annotation and labels of the Node', () => {
  it('the Node gets the node ID and the topology labels of a CSI driver, and keeps the node IDs of other drivers', () => {
    const node = { annotations: { [NODE_ID]: '{"z":"1"}' }, labels: { same: 'x', own: 'y' } };
    expect(patchForDriver(node, 'a', { ...info, topology: { same: 'x', zone: 'z1' } })).toEqual({
      annotations: { [NODE_ID]: '{"a":"id-1","z":"1"}' },
      labels: { zone: 'z1' },
    });
  });

  it('the Node is not changed if it has the node ID and topology of the CSI driver', () => {
    const node = { annotations: { [NODE_ID]: '{"a":"id-1"}' }, labels: { zone: 'z1' } };
    expect(patchForDriver(node, 'a', { ...info, topology: { zone: 'z1' } })).toBeUndefined();
  });

  it('the Node loses the node ID of a deregistered CSI driver, and the annotation with the last driver', () => {
    const node = { annotations: { [NODE_ID]: '{"a":"1","b":"2"}' } };
    expect(patchWithoutDriver(node, 'a')).toEqual({ annotations: { [NODE_ID]: '{"b":"2"}' } });
    expect(patchWithoutDriver({ annotations: { [NODE_ID]: '{"a":"1"}' } }, 'a')).toEqual({
      annotations: { [NODE_ID]: null },
    });
    expect(patchWithoutDriver(node, 'c')).toBeUndefined();
    expect(patchWithoutDriver({}, 'a')).toBeUndefined();
  });

  it.each(['nonsense', '[]', '"x"', '{"a":1}'])(
    'a Node with the invalid annotation %j is not changed, and the error names the annotation',
    (value) => {
      const node = { annotations: { [NODE_ID]: value } };
      expect(() => patchForDriver(node, 'a', info)).toThrow(`failed to parse node's "${NODE_ID}" annotation value`);
    },
  );

  it('an annotation null counts as empty, and a driver called __proto__ is an ordinary entry', () => {
    const ids = patchForDriver({ annotations: { [NODE_ID]: 'null' } }, '__proto__', info)?.annotations?.[NODE_ID];
    expect(ids).toBe('{"__proto__":"id-1"}');
  });

  it('a different value of a topology label on the Node is a collision', () => {
    const node = { labels: { zone: 'z1' } };
    expect(topologyCollision(node, { ...info, topology: { rack: 'r', zone: 'z2' } })).toBe(
      'detected topology value collision: driver reported "zone":"z2" but existing label is "zone":"z1"',
    );
    expect(topologyCollision(node, { ...info, topology: { rack: 'r', zone: 'z1' } })).toBeUndefined();
  });

  it('a topology key named like a property of Object.prototype becomes a label and causes no collision', () => {
    const node = { labels: { zone: 'z1' } };
    const topology = { constructor: 'a', toString: 'b' };
    expect(topologyCollision(node, { ...info, topology })).toBeUndefined();
    expect(patchForDriver(node, 'a', { ...info, topology })?.labels).toEqual(topology);
  });
});
