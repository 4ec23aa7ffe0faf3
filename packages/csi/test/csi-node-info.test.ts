import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { captureLogger, type LogLine } from '@node-agent/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CsiError, CsiNodeInfo } from '../src/index.ts';
import { newCsiNode } from '../src/node-info/csi-node.ts';
import { MemoryApi } from './memory-api.ts';

const NODE_ID = 'csi.volume.kubernetes.io/nodeid';
const info = { nodeId: 'id-1', maxVolumes: 3, topology: { 'example.com/zone': 'z1' } };
const never = new AbortController().signal;

let clock: FakeClock;
let api: MemoryApi;
let csiNodeInfo: CsiNodeInfo;
let problems: (string | undefined)[];
let lines: readonly LogLine[];
let stop: AbortController;
let running: Promise<void> | undefined;

beforeEach(() => {
  clock = new FakeClock();
  api = new MemoryApi();
  problems = [];
  const captured = captureLogger();
  lines = captured.lines;
  stop = new AbortController();
  running = undefined;
  const onProblemChanged = (): void => void problems.push(csiNodeInfo.problem);
  const components = { clock, random: seededRandom(1), logger: captured.logger, api, onProblemChanged };
  csiNodeInfo = new CsiNodeInfo(components, { nodeName: 'node-1' });
});

afterEach(async () => {
  stop.abort();
  await running;
  expect(clock.pendingTimers).toBe(0);
});

function start(): void {
  running = csiNodeInfo.start(stop.signal);
}

const fail = (): never => {
  throw new Error('server is away');
};

describe('CSINode and the readiness of the node', () => {
  it('the node is not ready until CSINode has the annotation of migrated volume types', async () => {
    expect(csiNodeInfo.problem).toBe('CSINode is not yet initialized');
    start();
    await clock.settle();
    expect(csiNodeInfo.problem).toBeUndefined();
    expect(problems).toEqual([undefined]);
    expect(api.csiNode).toEqual({
      ...newCsiNode('node-1', 'uid-1'),
      metadata: { ...newCsiNode('node-1', 'uid-1').metadata, resourceVersion: '1' },
    });
  });

  it('before the API server responds, the node is not ready and CSINode is read once a second', async () => {
    api.before = fail;
    start();
    await clock.advance(3_500);
    expect(api.calls).toEqual(Array(4).fill('getCsiNode'));
    expect(problems).toEqual([]);
    api.before = () => {};
    await clock.advance(500);
    expect(csiNodeInfo.problem).toBeUndefined();
  });

  it('the CSINode is created as soon as the Node exists', async () => {
    api.before = (call) => (call === 'getNode' ? fail() : undefined);
    start();
    await clock.advance(2_500);
    expect(problems).toEqual([]);
    expect(lines.filter(({ level }) => level !== 'debug')).toEqual([]);
    api.before = () => {};
    csiNodeInfo.writeAnew();
    await clock.settle();
    expect(csiNodeInfo.problem).toBeUndefined();
  });

  it('the node shows why CSINode cannot be written, and the write is retried with a back-off', async () => {
    api.before = (call) => (call === 'createCsiNode' ? fail() : undefined);
    start();
    await clock.advance(400);
    expect(csiNodeInfo.problem).toBe('failed to initialize CSINode: server is away');
    expect(api.count('createCsiNode')).toBe(4);
    await clock.advance(1_000);
    expect(api.count('createCsiNode')).toBe(8);
    api.before = () => {};
    await clock.advance(2_000);
    expect(csiNodeInfo.problem).toBeUndefined();
  });

  it('the annotation is added to an existing CSINode, and its drivers are kept', async () => {
    const before = newCsiNode('node-1', 'uid-1');
    const driver = { name: 'a', nodeID: '1', topologyKeys: [] };
    api.csiNode = { ...before, metadata: { ...before.metadata, annotations: {} }, spec: { drivers: [driver] } };
    start();
    await clock.settle();
    expect(api.csiNode.metadata.annotations).toEqual(before.metadata.annotations);
    expect(api.drivers).toEqual(['a']);
  });

  it('the CSINode of a deleted Node with the same name is replaced', async () => {
    api.csiNode = { ...newCsiNode('node-1', 'uid-0'), spec: { drivers: [{ name: 'a', nodeID: '1' }] } };
    start();
    await clock.advance(20);
    expect(api.calls.slice(-4)).toEqual(['getNode', 'getCsiNode', 'getNode', 'createCsiNode']);
    expect(api.count('deleteCsiNode')).toBe(1);
    expect(api.csiNode).toMatchObject({ spec: { drivers: [] }, metadata: { ownerReferences: [{ uid: 'uid-1' }] } });
    expect(csiNodeInfo.problem).toBeUndefined();
  });
});

describe('reports of CSI drivers in CSINode and Node', () => {
  it("a registered CSI driver is listed in CSINode and in the Node's annotation and labels", async () => {
    await csiNodeInfo.install('a', info, never);
    expect(api.csiNode?.spec.drivers).toEqual([
      { name: 'a', nodeID: 'id-1', topologyKeys: ['example.com/zone'], allocatable: { count: 3 } },
    ]);
    expect(api.node.annotations).toEqual({ [NODE_ID]: '{"a":"id-1"}' });
    expect(api.node.labels).toEqual(info.topology);
  });

  it('a CSI driver that is already listed causes no write', async () => {
    await csiNodeInfo.install('a', info, never);
    api.calls.length = 0;
    await csiNodeInfo.install('a', info, never);
    expect(api.calls).toEqual(['getNode', 'getCsiNode']);
  });

  it('writes of CSINode that conflict with another client are retried after 10, 50 and 250 ms', async () => {
    start();
    await clock.settle();
    const atMs: number[] = [];
    api.before = (call) => {
      if (call !== 'updateCsiNode') return;
      atMs.push(clock.monotonic());
      if (atMs.length < 4) api.touch();
    };
    const installing = csiNodeInfo.install('a', info, never);
    await clock.advance(400);
    await installing;
    const pauses = atMs.slice(1).map((ms, i) => ms - (atMs[i] ?? 0));
    for (const [i, least] of [10, 50, 250].entries()) {
      expect(pauses[i]).toBeGreaterThanOrEqual(least);
      expect(pauses[i]).toBeLessThanOrEqual(least * 1.1);
    }
    expect(api.drivers).toEqual(['a']);
  });

  it('a CSI driver registers while the API server is unreachable, and is listed in CSINode when the server is back', async () => {
    start();
    await clock.settle();
    api.before = fail;
    const installing = csiNodeInfo.install('a', info, never);
    await clock.advance(400);
    await installing;
    expect(lines).toMatchObject([{ level: 'error', fields: { driver: 'a', retryMs: 500 } }]);
    await clock.advance(10_000);
    api.before = () => {};
    await clock.advance(20_000);
    expect(api.drivers).toEqual(['a']);
    expect(api.node.labels).toEqual(info.topology);
    expect(csiNodeInfo.problem).toBeUndefined();
    api.calls.length = 0;
    await clock.advance(3_600_000);
    expect(api.calls).toEqual([]);
  });

  it("a CSI driver whose topology contradicts the Node's labels is rejected immediately", async () => {
    api.node = { uid: 'uid-1', labels: { 'example.com/zone': 'z2' } };
    const failure: unknown = await csiNodeInfo.install('a', info, never).catch((error: unknown) => error);
    expect(CsiError.is(failure) && failure.code).toBe('Rejected');
    expect(String(failure)).toBe(
      'CsiError: error updating Node object with CSI driver node info: detected topology value collision: ' +
        'driver reported "example.com/zone":"z1" but existing label is "example.com/zone":"z2"',
    );
    expect(api.calls).toEqual(['getNode']);
    expect(api.node.labels).toEqual({ 'example.com/zone': 'z2' });
  });

  it('a deregistered CSI driver is removed from CSINode when the API server responds', async () => {
    start();
    await csiNodeInfo.install('a', info, never);
    await csiNodeInfo.install('b', { ...info, nodeId: 'id-b' }, never);
    api.before = fail;
    csiNodeInfo.set('a', undefined);
    await clock.advance(1_000);
    expect(api.drivers).toEqual(['a', 'b']);
    api.before = () => {};
    await clock.advance(2_000);
    expect(api.drivers).toEqual(['b']);
    expect(api.node.annotations).toEqual({ [NODE_ID]: '{"b":"id-b"}' });
    expect(api.node.labels).toEqual(info.topology);
  });

  it('a CSI driver that registers again before its removal was written stays in CSINode', async () => {
    start();
    await csiNodeInfo.install('a', info, never);
    api.before = fail;
    csiNodeInfo.set('a', undefined);
    await clock.advance(100);
    const installing = csiNodeInfo.install('a', { ...info, maxVolumes: 9 }, never);
    await clock.advance(1_000);
    await installing;
    api.before = () => {};
    await clock.advance(10_000);
    expect(api.csiNode?.spec.drivers).toMatchObject([{ name: 'a', allocatable: { count: 9 } }]);
  });

  it('a changed volume limit of a CSI driver takes one read and one write of CSINode', async () => {
    start();
    await csiNodeInfo.install('a', info, never);
    await clock.settle();
    api.calls.length = 0;
    await csiNodeInfo.update('a', { ...info, maxVolumes: 7 }, never);
    expect(api.calls).toEqual(['getCsiNode', 'updateCsiNode']);
    expect(api.csiNode?.spec.drivers).toMatchObject([{ allocatable: { count: 7 } }]);
    api.calls.length = 0;
    await csiNodeInfo.update('gone', info, never);
    expect(api.calls).toEqual([]);
  });

  it('a CSI driver in back-off delays no other driver', async () => {
    start();
    await clock.settle();
    api.node = { ...api.node, annotations: { [NODE_ID]: 'nonsense' } };
    const installing = csiNodeInfo.install('a', info, never);
    await clock.advance(400);
    await installing;
    await clock.advance(60_000);
    const tries = api.count('getNode');
    csiNodeInfo.set('b', info);
    await clock.settle();
    expect(api.count('getNode')).toBe(tries + 1);
    api.node = { ...api.node, annotations: {} };
    await clock.advance(122_000);
    expect(api.drivers?.toSorted()).toEqual(['a', 'b']);
  });
});

it('CSINode, annotation and labels are written again after the Node was deleted and created', async () => {
  start();
  await csiNodeInfo.install('a', info, never);
  await clock.settle();
  api.node = { uid: 'uid-2' };
  api.csiNode = undefined;
  csiNodeInfo.writeAnew();
  await clock.settle();
  expect(api.csiNode).toMatchObject({ metadata: { ownerReferences: [{ uid: 'uid-2' }] } });
  expect(api.drivers).toEqual(['a']);
  expect(api.node.labels).toEqual(info.topology);
  expect(csiNodeInfo.problem).toBeUndefined();
});

it('a node that was ready stays ready while the API server is unreachable', async () => {
  start();
  await clock.settle();
  api.before = fail;
  csiNodeInfo.writeAnew();
  await clock.advance(5_000);
  expect(csiNodeInfo.problem).toBeUndefined();
});

it('CsiNodeInfo stops while a request to the API server is in progress', async () => {
  api.before = () =>
    new Promise((_, reject) => stop.signal.addEventListener('abort', () => reject(stop.signal.reason)));
  start();
  await clock.settle();
  stop.abort();
  await running;
});
