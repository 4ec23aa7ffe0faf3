import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Node, NodeStatus } from '../src/node.ts';
import { hasNodeChanged, nodePatch } from '../src/node-patch.ts';
import { applyPatch } from './fake-api.ts';

const READY = {
  type: 'Ready',
  status: 'True',
  lastHeartbeatTime: '1',
  lastTransitionTime: '1',
  reason: 'R',
  message: 'M',
};
const DISK = { ...READY, type: 'DiskPressure', status: 'False' };

function node(status: NodeStatus, metadata: Node['metadata'] = {}): Node {
  return { metadata: { name: 'n1', uid: 'u1', ...metadata }, status };
}

describe('the patch of a node', () => {
  test('a node patch contains only the UID and the changed fields', () => {
    const before = node({ capacity: { cpu: '1', memory: '1Gi' }, phase: 'x', conditions: [DISK, READY] });
    const after = node({
      capacity: { cpu: '2', memory: '1Gi' },
      phase: 'x',
      conditions: [DISK, { ...READY, status: 'False', message: 'down' }],
    });
    expect(nodePatch(before, after)).toEqual({
      metadata: { uid: 'u1' },
      status: {
        capacity: { cpu: '2' },
        '$setElementOrder/conditions': [{ type: 'DiskPressure' }, { type: 'Ready' }],
        conditions: [{ type: 'Ready', status: 'False', message: 'down' }],
      },
    });
  });

  test('there is no patch for an unchanged node, even if a field is absent on one side and empty on the other', () => {
    expect(nodePatch(node({ images: [], phase: '' }), node({}))).toBeUndefined();
    expect(nodePatch(node({}), node({ volumesInUse: [], features: {} }))).toBeUndefined();
  });

  test('a node patch sets removed fields to null', () => {
    const before = node({ capacity: { cpu: '1', 'example.com/x': '1' } }, { annotations: { a: '1', b: '2' } });
    const after = node({ capacity: { cpu: '1' } }, { annotations: { b: '2' } });
    expect(nodePatch(before, after)).toEqual({
      metadata: { uid: 'u1', annotations: { a: null } },
      status: { capacity: { 'example.com/x': null } },
    });
  });

  test('a node patch keeps a label with an empty value', () => {
    expect(nodePatch(node({}), node({}, { labels: { 'node-role.kubernetes.io/worker': '' } }))).toEqual({
      metadata: { uid: 'u1', labels: { 'node-role.kubernetes.io/worker': '' } },
    });
  });

  test('a node patch replaces the address list as a whole', () => {
    const one = [{ type: 'InternalIP', address: '10.0.0.1' }];
    const two = [...one, { type: 'InternalIP', address: 'fd00::1' }];
    expect(nodePatch(node({ addresses: two }), node({ addresses: one }))).toMatchObject({
      status: { addresses: [...one, { $patch: 'replace' }] },
    });
    expect(nodePatch(node({}), node({ addresses: two }))).toMatchObject({ status: { addresses: two } });
  });

  test('a node patch leaves conditions of other writers unchanged, including concurrently added ones', () => {
    const foreign = { type: 'GpuHealthy', status: 'True', lastHeartbeatTime: '9' };
    const before = node({ conditions: [READY] });
    const patch = nodePatch(before, node({ conditions: [{ ...READY, lastHeartbeatTime: '2' }] }));
    const meanwhile = { ...before, status: { conditions: [foreign, READY] } };
    expect(applyPatch(meanwhile, { ...patch }).status).toEqual({
      conditions: [foreign, { ...READY, lastHeartbeatTime: '2' }],
    });
  });

  test('a patch turns any node status into any other, except that it never removes conditions', () => {
    const text = fc.constantFrom('', '1', '2', '1Gi', '1024Mi');
    const amount = fc.constantFrom('1', '2', '1Gi', '1024Mi');
    const status = fc.record(
      {
        phase: text,
        capacity: fc.dictionary(fc.constantFrom('cpu', 'memory', 'x'), amount),
        volumesInUse: fc.array(fc.constantFrom('a', 'b')),
        addresses: fc.array(fc.record({ type: fc.constantFrom('InternalIP', 'Hostname'), address: text })),
        images: fc.array(fc.record({ names: fc.array(text), sizeBytes: fc.nat(2) })),
        conditions: fc.uniqueArray(fc.record({ type: fc.constantFrom('A', 'B', 'C'), status: text, message: text }), {
          selector: ({ type }) => type,
        }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(status, status, (from, to) => {
        const kept = (from.conditions ?? []).filter(({ type }) => !(to.conditions ?? []).some((c) => c.type === type));
        const wanted = node({ ...to, conditions: [...kept, ...(to.conditions ?? [])] });
        const before = node(from);
        const after = applyPatch({ ...before }, { ...nodePatch(before, wanted) }) as unknown as Node;
        expect(nodePatch(after, wanted)).toBeUndefined();
      }),
    );
  });
});

test('a node patch omits the UID if it is unknown, and contains only the differences', () => {
  const named = { metadata: { name: 'n1' } };
  expect(nodePatch(named, named)).toBeUndefined();
  const labelled = { metadata: { name: 'n1', labels: { a: 'b' } } };
  expect(nodePatch(named, labelled)).toStrictEqual({ metadata: { labels: { a: 'b' } } });
  expect(nodePatch(named, { ...named, status: { phase: 'x' } })).toStrictEqual({ status: { phase: 'x' } });
});

test('a patch of existing conditions contains $setElementOrder, so that a new condition gets its position', () => {
  const conditions = [READY, DISK];
  expect(nodePatch(node({ conditions: [READY] }), node({ conditions }))).toMatchObject({
    status: { conditions: [DISK], '$setElementOrder/conditions': [{ type: READY.type }, { type: DISK.type }] },
  });
  expect(nodePatch(node({}), node({ conditions }))).not.toHaveProperty(['status', '$setElementOrder/conditions']);
});

test('a node patch contains a string that became empty, because some fields may not be omitted', () => {
  const info = {
    machineID: '',
    systemUUID: '',
    bootID: 'b',
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
  };
  const nodeInfo = { ...info, kubeletVersion: '', operatingSystem: '', architecture: '', kubeProxyVersion: 'v1' };
  const patch = nodePatch(node({ nodeInfo }), node({ nodeInfo: { ...nodeInfo, kubeProxyVersion: '' } }));
  expect(patch).toMatchObject({ status: { nodeInfo: { kubeProxyVersion: '' } } });
});

describe('detection of node changes', () => {
  test.each([
    ['ignores another heartbeat time', { conditions: [{ ...READY, lastHeartbeatTime: '2' }] }, false],
    ['ignores another notation of a quantity', { conditions: [READY], capacity: { memory: '1024Mi' } }, false],
    ['reports another transition time of a condition', { conditions: [{ ...READY, lastTransitionTime: '2' }] }, true],
    ['reports another message of a condition', { conditions: [{ ...READY, message: 'x' }] }, true],
    ['reports a new condition', { conditions: [READY, DISK] }, true],
    ['reports another amount of a resource', { conditions: [READY], capacity: { memory: '2Gi' } }, true],
  ])('hasNodeChanged ignores or reports: %s', (_name, status, changed) => {
    const before = node({ conditions: [READY], capacity: { memory: '1Gi' } });
    const after = node({ capacity: { memory: '1Gi' }, ...status });
    expect(hasNodeChanged(before, after)).toBe(changed);
  });

  test('hasNodeChanged reports a changed label', () => {
    expect(hasNodeChanged(node({}), node({}, { labels: { a: '' } }))).toBe(true);
  });
});
