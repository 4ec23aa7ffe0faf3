import { describe, expect, test } from 'vitest';
import { setCondition } from '../src/conditions.ts';
import { conditionOf, type Node } from '../src/node.ts';
import { nodeEvents, nodeReference } from '../src/node-events.ts';
import { setPressure } from '../src/pressure.ts';
import { type ReadinessFacts, setReady } from '../src/readiness.ts';

const T0 = Date.UTC(2026, 0, 1, 12, 0, 0, 987);
const T1 = T0 + 10_000;
const CAPACITY = { cpu: '1', memory: '1Gi', pods: '110', 'ephemeral-storage': '1Gi' };
const NODE: Node = { metadata: { name: 'n1' }, status: { capacity: CAPACITY } };
const CALM = { memory: false, disk: false, pid: false };
const WELL: ReadinessFacts = { runtimeErrors: [], networkErrors: [] };
const ISOLATED = { localStorageCapacityIsolation: true };

describe('a node condition', () => {
  const verdict = { type: 'Ready', status: 'True', reason: 'R', message: 'M' } as const;

  test('a new condition is appended with both times; conditions of other writers are unchanged', () => {
    const foreign = { type: 'GpuHealthy', status: 'True', extra: 'kept' };
    const after = setCondition({ ...NODE, status: { conditions: [foreign] } }, verdict, T0);
    expect(after.status?.conditions).toEqual([
      foreign,
      { ...verdict, lastHeartbeatTime: '2026-01-01T12:00:00Z', lastTransitionTime: '2026-01-01T12:00:00Z' },
    ]);
  });

  test('an unchanged condition updates only its heartbeat; a changed one also its transition time', () => {
    const first = setCondition(NODE, verdict, T0);
    const stayed = setCondition(first, { ...verdict, message: 'other' }, T1);
    expect(conditionOf(stayed, 'Ready')).toEqual({
      ...verdict,
      message: 'other',
      lastHeartbeatTime: '2026-01-01T12:00:10Z',
      lastTransitionTime: '2026-01-01T12:00:00Z',
    });
    const changed = setCondition(first, { ...verdict, status: 'False' }, T1);
    expect(conditionOf(changed, 'Ready')?.lastTransitionTime).toBe('2026-01-01T12:00:10Z');
  });

  test("condition times are the clock's time, even if the clock went back", () => {
    const after = setCondition(setCondition(NODE, verdict, T0), { ...verdict, status: 'False' }, T0 - 3_600_000);
    expect(conditionOf(after, 'Ready')?.lastTransitionTime).toBe('2026-01-01T11:00:00Z');
  });
});

describe('pressure conditions', () => {
  test.each([
    [
      'memory',
      'MemoryPressure',
      'KubeletHasInsufficientMemory',
      'kubelet has insufficient memory available',
      'NodeHasInsufficientMemory',
    ],
    ['disk', 'DiskPressure', 'KubeletHasDiskPressure', 'kubelet has disk pressure', 'NodeHasDiskPressure'],
    [
      'pid',
      'PIDPressure',
      'KubeletHasInsufficientPID',
      'kubelet has insufficient PID available',
      'NodeHasInsufficientPID',
    ],
  ])(
    'under %s pressure, the condition %s is True with the reason %s, and an event is emitted',
    (kind, type, reason, message, event) => {
      const calm = setPressure(NODE, CALM, T0);
      const short = setPressure(calm, { ...CALM, [kind]: true }, T1);
      expect(conditionOf(short, type)).toMatchObject({ status: 'True', reason, message });
      expect(nodeEvents('n1', calm, short)).toEqual([
        { type: 'Normal', reason: event, message: `Node n1 status is now: ${event}` },
      ]);
      const others = (short.status?.conditions ?? []).filter((condition) => condition.type !== type);
      expect(others.map(({ status }) => status)).toEqual(['False', 'False']);
    },
  );

  test('without pressure, a new node gets each pressure condition as False and one event for each', () => {
    const after = setPressure(NODE, CALM, T0);
    expect((after.status?.conditions ?? []).map(({ type, reason, message }) => [type, reason, message])).toEqual([
      ['MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    ]);
    expect(nodeEvents('n1', NODE, after).map(({ reason }) => reason)).toEqual([
      'NodeHasSufficientMemory',
      'NodeHasNoDiskPressure',
      'NodeHasSufficientPID',
    ]);
  });

  test('an unchanged pressure condition keeps the message that another writer set', () => {
    const theirs = { type: 'DiskPressure', status: 'False', reason: 'Custom', message: 'all is well' };
    const before: Node = { ...NODE, status: { conditions: [theirs, { type: 'PIDPressure', status: 'False' }] } };
    const after = setPressure(before, CALM, T1);
    expect(conditionOf(after, 'DiskPressure')).toMatchObject(theirs);
    expect(conditionOf(after, 'PIDPressure')).toMatchObject({ reason: '', message: '' });
    const short = setPressure(before, { ...CALM, disk: true }, T1);
    expect(conditionOf(short, 'DiskPressure')?.reason).toBe('KubeletHasDiskPressure');
  });

  test('a pressure condition that was Unknown because the kubelet was down is updated, with an event', () => {
    const unknown = { type: 'MemoryPressure', status: 'Unknown', reason: 'NodeStatusUnknown', message: 'gone' };
    const before: Node = { ...NODE, status: { conditions: [unknown] } };
    const after = setPressure(before, CALM, T1);
    expect(conditionOf(after, 'MemoryPressure')).toMatchObject({
      status: 'False',
      reason: 'KubeletHasSufficientMemory',
    });
    expect(nodeEvents('n1', before, after).map(({ reason }) => reason)).toContain('NodeHasSufficientMemory');
  });
});

describe('the Ready condition', () => {
  const down = 'container runtime is down';
  const pleg = 'PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s';
  const network =
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized';

  test.each<[string, Partial<ReadinessFacts>, string, string, string]>([
    ['there is no problem', {}, 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ['the runtime is down', { runtimeErrors: [down] }, 'False', 'KubeletNotReady', down],
    [
      'the runtime and PLEG are down',
      { runtimeErrors: [down, pleg] },
      'False',
      'KubeletNotReady',
      `[${down}, ${pleg}]`,
    ],
    ['the network is not ready', { networkErrors: [network] }, 'False', 'KubeletNotReady', network],
    [
      'everything is down',
      {
        runtimeErrors: [down],
        networkErrors: [network],
        storageErrors: ['CSI'],
        shutdownErrors: ['node is shutting down'],
      },
      'False',
      'KubeletNotReady',
      `[${down}, ${network}, CSI, node is shutting down]`,
    ],
    ['the same problem is reported twice', { runtimeErrors: [down, down] }, 'False', 'KubeletNotReady', down],
    [
      'there is only a warning',
      { warning: 'CPU hardcapping unsupported' },
      'True',
      'KubeletReady',
      'kubelet is posting ready status. WARNING: CPU hardcapping unsupported',
    ],
  ])('the Ready condition has the right status, reason and message if %s', (_name, facts, status, reason, message) => {
    const after = setReady(NODE, { ...WELL, ...facts }, ISOLATED, T0);
    expect(conditionOf(after, 'Ready')).toMatchObject({ status, reason, message });
  });

  test('a node is not ready if a resource that a scheduler needs is missing from the capacity', () => {
    const bare: Node = { metadata: { name: 'n1' }, status: { capacity: { cpu: '1', pods: '1' } } };
    const message = (node: Node) => conditionOf(node, 'Ready')?.message;
    expect(message(setReady(bare, WELL, ISOLATED, T0))).toBe(
      'missing node capacity for resources: memory, ephemeral-storage',
    );
    expect(message(setReady(bare, WELL, { localStorageCapacityIsolation: false }, T0))).toBe(
      'missing node capacity for resources: memory',
    );
  });

  test.each([
    [WELL, { ...WELL, runtimeErrors: [down] }, ['NodeNotReady']],
    [{ ...WELL, runtimeErrors: [down] }, WELL, ['NodeReady']],
    [WELL, WELL, []],
  ])('a change of the Ready condition emits the event NodeReady or NodeNotReady', (before, after, reasons) => {
    const first = setReady(NODE, before, ISOLATED, T0);
    const events = nodeEvents('n1', first, setReady(first, after, ISOLATED, T1));
    expect(events.map(({ reason }) => reason)).toEqual(reasons);
    expect(nodeEvents('n1', NODE, first)).toEqual([]);
  });
});

test('a reboot of the machine emits a warning event', () => {
  const boot = (bootID: string): Node => ({
    metadata: { name: 'n1' },
    status: {
      nodeInfo: {
        machineID: '',
        systemUUID: '',
        bootID,
        kernelVersion: '',
        osImage: '',
        containerRuntimeVersion: '',
        kubeletVersion: '',
        kubeProxyVersion: '',
        operatingSystem: '',
        architecture: '',
      },
    },
  });
  expect(nodeEvents('n1', boot('b1'), boot('b2'))).toEqual([
    { type: 'Warning', reason: 'Rebooted', message: 'Node n1 has been rebooted, boot id: b2' },
  ]);
  expect(nodeEvents('n1', boot(''), boot('b2'))).toEqual([]);
  expect(nodeEvents('n1', NODE, boot('b2'))).toEqual([]);
  expect(nodeEvents('n1', boot('b1'), NODE)).toEqual([]);
  expect(nodeReference('n1')).toEqual({ kind: 'Node', name: 'n1', uid: 'n1' });
});
