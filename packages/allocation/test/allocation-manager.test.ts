import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { type Pod, podReference, podRequests, type RuntimePodStatus } from '@node-agent/pod-spec';
import { MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AllocationManager, type AllocationOptions, type ResizeVerdict } from '../src/index.ts';
import { asking, exactly, makePod } from './pods.ts';

/** Creates an allocation manager for a fake node of 4 CPUs, with fakes of the kubelet parts that the manager calls. */
function setUp(options: Partial<AllocationOptions> = {}, fs?: MemoryFileSystem) {
  const clock = new FakeClock();
  const files = fs ?? new MemoryFileSystem({ clock });
  const events = new MemoryEventRecorder(() => clock.now());
  const metrics = new MetricsRegistry();
  const pods = new Map<string, Pod>();
  const node: {
    cpuMilli: bigint;
    ready: boolean;
    applicants: readonly Pod[];
    recover?: (signal: AbortSignal) => Promise<ResizeVerdict>;
    /** Number of times the active pods were listed. */
    lists: number;
  } = { cpuMilli: 4000n, ready: true, applicants: [], lists: 0 };
  const decided: string[] = [];
  const manager: AllocationManager = new AllocationManager(
    {
      ...{ fs: files, clock, metrics, recorder: events, onDecided: (uids) => decided.push(...uids) },
      pods: {
        active() {
          node.lists += 1;
          return [...pods.values()].map((pod) => manager.allocated(pod));
        },
        applicants: () => node.applicants,
        byUid: (uid) => pods.get(uid),
        sourcesReady: () => node.ready,
      },
      admit(pod, others) {
        const held = others.map((one) => podRequests(one, { useStatusResources: true }));
        const cpu = [podRequests(pod), ...held].map((one) => one.get('cpu')?.milliValue() ?? 0n);
        const total = cpu.reduce((sum, milli) => sum + milli, 0n);
        const message = `${total} of ${node.cpuMilli}`;
        return total <= node.cpuMilli
          ? { admit: true }
          : { admit: false, reason: 'OutOfcpu', message, ...(node.recover && { recover: node.recover }) };
      },
    },
    { directory: '/root', ...options },
  );
  const add = (pod: Pod): Pod => {
    pods.set(pod.metadata.uid, pod);
    manager.allocate(pod);
    return pod;
  };
  const ask = (pod: Pod): readonly string[] => {
    const before = pods.get(pod.metadata.uid);
    pods.set(pod.metadata.uid, pod);
    return manager.updated(before, pod);
  };
  const reasons = (uid: string): (string | undefined)[] => manager.conditions(uid).map(({ reason }) => reason);
  const cpuOf = (pod: Pod): string | undefined => manager.allocated(pod).spec.containers[0]?.resources?.requests?.cpu;
  const told = (pod: Pod): string[] => events.eventsOf(podReference(pod)).map(({ reason }) => reason);
  const messages = (pod: Pod): string[] => events.eventsOf(podReference(pod)).map(({ message }) => message);
  return { manager, clock, files, metrics, pods, node, add, ask, reasons, cpuOf, told, messages, decided };
}

describe('AllocationManager.load', () => {
  test('K1: load retries each second while the disk fails to read, and then knows the allocations of the earlier process', async () => {
    const first = setUp();
    first.add(makePod('a', exactly('1', '1Gi')));
    await first.manager.saved('uid-a');
    const { manager, clock } = setUp({}, first.files);
    const fault = first.files.injectFault({ code: 'EIO', operation: 'read', times: Number.POSITIVE_INFINITY });
    let loaded = false;
    const loading = manager.load(new AbortController().signal).then(() => {
      loaded = true;
    });
    for (let second = 0; second < 5; second++) {
      await clock.settle();
      await clock.advance(1000);
    }
    expect(loaded).toBe(false);
    fault.remove();
    await clock.advance(1000);
    await loading;
    expect(manager.hasAllocation('uid-a')).toBe(true);
  });

  test('load removes temporary files of a killed process, and succeeds even if the disk rejects the removal', async () => {
    const { manager, files } = setUp();
    await files.mkdir('/root');
    await files.writeFile('/root/.tmp-7-1', '{');
    await files.writeFile('/root/other', '{');
    const fault = files.injectFault({ code: 'EPERM', operation: 'remove', times: Number.POSITIVE_INFINITY });
    await manager.load();
    expect(files.paths()).toContain('/root/.tmp-7-1');
    fault.remove();
    await setUp({}, files).manager.load();
    expect(files.paths()).toEqual(expect.arrayContaining(['/root/other']));
    expect(files.paths()).not.toContain('/root/.tmp-7-1');
  });

  test('K1: an allocation of a kubelet that was killed before it synced the directory survives a power loss from load on', async () => {
    const { manager, files, add } = setUp();
    await manager.load();
    const fault = files.injectFault({ operation: 'syncDirectory', code: 'EIO', times: Number.POSITIVE_INFINITY });
    add(makePod('a', exactly('1', '1Gi')));
    await manager.written('uid-a');
    await expect(manager.containerApplied('uid-a', 'c', exactly('1', '1Gi'))).rejects.toThrow('EIO');
    fault.remove();
    const second = setUp({}, files).manager;
    await second.load();
    await second.containerApplied('uid-a', 'c', exactly('1', '1Gi'));
    files.powerLoss();
    const third = setUp({}, files).manager;
    await third.load();
    expect(third.hasAllocation('uid-a')).toBe(true);
    expect(third.appliedToContainer('uid-a', 'c')).toEqual(exactly('1', '1Gi'));
  });

  test('load succeeds on a disk that is read-only because of errors', async () => {
    const { manager, files, add } = setUp();
    await manager.load();
    await manager.saved(add(makePod('a', exactly('1', '1Gi'))).metadata.uid);
    files.injectFault({ operation: 'syncDirectory', code: 'EROFS', times: Number.POSITIVE_INFINITY });
    const second = setUp({}, files).manager;
    await second.load();
    expect(second.hasAllocation('uid-a')).toBe(true);
  });

  test('load stops retrying and rejects when its abort signal fires', async () => {
    const { manager, files, clock } = setUp();
    files.injectFault({ code: 'EIO', times: Number.POSITIVE_INFINITY });
    const stop = new AbortController();
    const loading = manager.load(stop.signal);
    await clock.settle();
    stop.abort(new Error('ended'));
    await expect(loading).rejects.toThrow('ended');
  });
});

describe('AllocationManager.allocate', () => {
  test('pods that are allocated together are written in one write that no caller waits for', async () => {
    const { manager, files, add, clock } = setUp();
    await manager.load();
    let opened = 0;
    files.injectFault({ operation: 'open', code: 'EIO', path: (path) => path.includes('.tmp-') && opened++ < 0 });
    for (const name of ['a', 'b', 'c']) add(makePod(name, exactly('1', '1Gi')));
    await clock.settle();
    expect(opened).toBe(1);
    const restarted = setUp({}, files).manager;
    await restarted.load();
    expect(['uid-a', 'uid-b', 'uid-c'].map((uid) => restarted.hasAllocation(uid))).toEqual([true, true, true]);
  });

  test.each(['saved', 'written'] as const)('%s writes an allocation again whose first write failed', async (state) => {
    const { manager, files, add, clock } = setUp();
    await manager.load();
    const fault = files.injectFault({ operation: 'rename', code: 'ENOSPC' });
    add(makePod('a', exactly('1', '1Gi')));
    await clock.settle();
    expect(fault.hits).toBe(1);
    await manager[state]('uid-a');
    const restarted = setUp({}, files).manager;
    await restarted.load();
    expect(restarted.hasAllocation('uid-a')).toBe(true);
  });

  test('K1: containerApplied rejects if the allocation of the pod cannot be saved', async () => {
    let failing = true;
    class FailingFiles extends MemoryFileSystem {
      override async writeFileAtomic(...args: Parameters<MemoryFileSystem['writeFileAtomic']>): Promise<void> {
        if (failing && args[0].endsWith('/allocated_pods_state')) throw new Error('EIO');
        await super.writeFileAtomic(...args);
      }
    }
    const { manager, files, add } = setUp({}, new FailingFiles({ clock: new FakeClock() }));
    await manager.load();
    add(makePod('a', exactly('1', '1Gi')));
    await expect(manager.containerApplied('uid-a', 'c', exactly('1', '1Gi'))).rejects.toThrow('EIO');
    failing = false;
    await manager.containerApplied('uid-a', 'c', exactly('1', '1Gi'));
    files.powerLoss();
    const restarted = setUp({}, files).manager;
    await restarted.load();
    expect(restarted.hasAllocation('uid-a')).toBe(true);
  });
});

describe('AllocationManager: allocation of resizes', () => {
  test('allocates a resize that fits immediately and returns the UID of the pod to sync', () => {
    const { manager, add, ask, cpuOf, told } = setUp();
    const larger = asking(add(makePod('a', exactly('1', '1Gi'))), exactly('2', '1Gi'));
    expect(ask(larger)).toEqual(['uid-a']);
    expect(manager.allocated(larger)).toBe(larger);
    expect(cpuOf(larger)).toBe('2');
    expect(manager.conditions('uid-a')).toMatchObject([{ type: 'PodResizeInProgress', observedGeneration: 2 }]);
    expect(told(larger)).toEqual(['ResizeStarted']);
  });

  test("N1: allocates a deferred resize when another pod's status shows less CPU, not as soon as the smaller size is allocated to that pod", () => {
    const { manager, add, ask, cpuOf, reasons, pods, metrics } = setUp();
    const withStatus = (pod: Pod, cpu: string): Pod => {
      const status = { name: pod.spec.containers[0]?.name, resources: { requests: { cpu } } };
      return { ...pod, status: { containerStatuses: [status] } as unknown as NonNullable<Pod['status']> };
    };
    const a = add(makePod('a', exactly('1', '1Gi')));
    const b = add(withStatus(makePod('b', exactly('2', '1Gi')), '2'));
    const larger = asking(a, exactly('3', '1Gi'));
    ask(larger);
    const smaller = withStatus(asking(b, exactly('1', '1Gi')), '2');
    ask(smaller);
    expect([cpuOf(smaller), cpuOf(larger), reasons('uid-a')]).toEqual(['1', '1', ['Deferred']]);

    expect(manager.reconciled(smaller, { ...smaller })).toEqual([]);
    const done = withStatus(smaller, '1');
    pods.set('uid-b', done);
    expect(manager.reconciled(smaller, done)).toEqual(['uid-a']);
    expect(cpuOf(larger)).toBe('3');
    expect(metrics.text()).toContain('retry_trigger="pod_resized"');
  });

  test('N1: defers a resize that does not fit and counts the pod with its old resources for other pods', async () => {
    const { manager, add, ask, cpuOf, reasons, told, messages, metrics, pods } = setUp();
    const a = add(makePod('a', exactly('1', '1Gi')));
    const b = add(makePod('b', exactly('2', '1Gi')));
    const larger = asking(a, exactly('3', '1Gi'));
    expect(ask(larger)).toEqual(['uid-a']);
    expect(cpuOf(larger)).toBe('1');
    expect(manager.conditions('uid-a')).toMatchObject([
      { type: 'PodResizePending', reason: 'Deferred', message: '5000 of 4000' },
    ]);
    expect(messages(larger)).toEqual([
      'Pod resize OutOfcpu: {"containers":[{"name":"c","resources":{"limits":{"cpu":"3","memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}}}],"generation":2,"error":"5000 of 4000"}',
    ]);
    expect(ask(asking(b, exactly('4', '1Gi')))).toEqual(['uid-b']);
    expect(manager.retry('pods_added')).toEqual([]);
    pods.delete('uid-b');
    expect(manager.retry('pods_removed')).toEqual(['uid-a']);
    expect([cpuOf(larger), reasons('uid-a')]).toEqual(['3', [undefined]]);
    expect(told(larger)).toEqual(['ResizeDeferred', 'ResizeStarted']);
    const text = metrics.text();
    expect(text).toContain('kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pods_removed"} 1');
    expect(text).toContain(
      'kubelet_container_requested_resizes_total{resource="cpu",requirement="requests",operation="increase"} 2',
    );
    expect(text).toContain('kubelet_pod_pending_resizes{reason="deferred"} 0');
  });

  test('allocates a deferred resize in the same call that shrinks another pod', () => {
    const { add, ask, cpuOf } = setUp();
    const a = asking(add(makePod('a', exactly('1', '1Gi'))), exactly('3', '1Gi'));
    const b = add(makePod('b', exactly('3', '1Gi')));
    ask(a);
    expect(cpuOf(a)).toBe('1');
    const smaller = asking(b, exactly('1', '1Gi'));
    expect([...ask(smaller)].sort()).toEqual(['uid-a', 'uid-b']);
    expect([cpuOf(a), cpuOf(smaller)]).toEqual(['3', '1']);
  });

  test('lists the active pods once per retry of several resizes, and counts what earlier resizes of the retry were allocated', () => {
    const { add, ask, cpuOf, node, manager } = setUp();
    const asked = ['a', 'b', 'c'].map((name) => asking(add(makePod(name, exactly('1', '1Gi'))), exactly('3', '1Gi')));
    for (const pod of asked) ask(pod);
    node.cpuMilli = 7000n;
    node.lists = 0;
    manager.retry('pods_removed');
    expect(asked.map(cpuOf)).toEqual(['3', '3', '1']);
    expect(node.lists).toBe(1);
  });

  test('allocates the deferred resize of the pod with the higher priority first', () => {
    const { add, ask, cpuOf, node, manager } = setUp();
    node.cpuMilli = 2000n;
    const low = asking(add(makePod('low', exactly('1', '1Gi'))), exactly('2', '1Gi'));
    const high = asking(add(makePod('high', exactly('1', '1Gi'), { priority: 7 })), exactly('2', '1Gi'));
    ask(low);
    ask(high);
    node.cpuMilli = 3000n;
    // The message of the other pod's condition changed, because less CPU is free.
    expect(manager.retry('pods_removed')).toEqual(['uid-high', 'uid-low']);
    expect([cpuOf(low), cpuOf(high)]).toEqual(['1', '2']);
  });

  test('reports an infeasible resize in one event and does not retry the resize', async () => {
    const { manager, add, ask, reasons, metrics, told } = setUp({ node: { staticCpus: true } });
    const larger = asking(add(makePod('a', exactly('1', '1Gi'))), exactly('2', '1Gi'));
    expect(ask(larger)).toEqual(['uid-a']);
    expect(reasons('uid-a')).toEqual(['Infeasible']);
    expect(manager.hasWaiting).toBe(false);
    expect(told(larger)).toEqual(['ResizeInfeasible']);
    expect(metrics.text()).toContain(
      'kubelet_pod_infeasible_resizes_total{reason_detail="guaranteed_pod_cpu_manager_static_policy"} 1',
    );
  });

  test('stops deferring a resize when the pod returns to its old resources', () => {
    const { manager, add, ask, reasons } = setUp();
    const a = add(makePod('a', exactly('1', '1Gi')));
    const larger = asking(a, exactly('9', '1Gi'));
    ask(larger);
    expect(reasons('uid-a')).toEqual(['Deferred']);
    ask(asking(larger, exactly('1', '1Gi')));
    expect([reasons('uid-a'), manager.hasWaiting]).toEqual([[], false]);
  });

  test('retries a deferred resize after three minutes even if no event reported free resources', async () => {
    const { manager, add, ask, node, clock, cpuOf } = setUp();
    const a = asking(add(makePod('a', exactly('1', '1Gi'))), exactly('9', '1Gi'));
    ask(a);
    node.cpuMilli = 9000n;
    await clock.advance(179_000);
    expect(manager.retryOverdue()).toEqual([]);
    await clock.advance(1000);
    expect(manager.retryOverdue()).toEqual(['uid-a']);
    expect(cpuOf(a)).toBe('9');
  });

  test('retries a resize that waits for the pod sources every 30 seconds until all sources have reported their pods', async () => {
    const { manager, add, ask, node, clock, cpuOf } = setUp();
    node.ready = false;
    const a = asking(add(makePod('a', exactly('1', '1Gi'))), exactly('2', '1Gi'));
    ask(a);
    await clock.advance(30_000);
    expect(manager.retryOverdue()).toEqual([]);
    node.ready = true;
    await clock.advance(29_999);
    expect(manager.retryOverdue()).toEqual([]);
    await clock.advance(1);
    expect(manager.retryOverdue()).toEqual(['uid-a']);
    expect(cpuOf(a)).toBe('2');
  });

  test('F1: allocates no resize before all pod sources have reported their pods', () => {
    const { manager, add, ask, node, cpuOf } = setUp();
    node.ready = false;
    const a = asking(add(makePod('a', exactly('1', '1Gi'))), exactly('2', '1Gi'));
    expect(ask(a)).toEqual([]);
    expect(cpuOf(a)).toBe('1');
    node.ready = true;
    expect(manager.retry('pods_added')).toEqual(['uid-a']);
  });

  test('drops the deferred resize of a pod that is being deleted and forgets a terminated pod', () => {
    const { manager, add, ask, pods, node, reasons } = setUp();
    const a = asking(add(makePod('a', exactly('1', '1Gi'))), exactly('9', '1Gi'));
    ask(a);
    pods.set('uid-a', { ...a, metadata: { ...a.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    node.cpuMilli = 9000n;
    manager.retry('pods_removed');
    expect([reasons('uid-a'), manager.hasWaiting]).toEqual([[], false]);
    manager.retain(new Set());
    expect(manager.hasAllocation('uid-a')).toBe(false);
  });
});

describe('AllocationManager: resizes that preempt other pods', () => {
  test('does not report a resize as deferred while preemption runs and allocates the resize after the victims stopped', async () => {
    const { add, ask, cpuOf, reasons, told, pods, node, decided, manager } = setUp();
    const a = add(makePod('a', exactly('1', '1Gi')));
    add(makePod('b', exactly('2', '1Gi')));
    const { promise, resolve } = Promise.withResolvers<ResizeVerdict>();
    let asked = 0;
    node.recover = () => {
      asked++;
      return promise;
    };
    const larger = asking(a, exactly('3', '1Gi'));
    expect(ask(larger)).toEqual([]);
    manager.retry('pods_added');
    expect([cpuOf(larger), reasons('uid-a'), manager.hasWaiting, asked]).toEqual(['1', [], true, 1]);
    pods.delete('uid-b');
    resolve({ admit: true });
    await promise;
    await Promise.resolve();
    expect([cpuOf(larger), decided, told(larger)]).toEqual(['3', ['uid-a'], ['ResizeStarted']]);
    expect(manager.hasWaiting).toBe(false);
  });

  test('N1: defers a resize if another pod took the freed resources and does not immediately preempt again', async () => {
    const { add, ask, cpuOf, reasons, node, decided } = setUp();
    const a = add(makePod('a', exactly('1', '1Gi')));
    add(makePod('b', exactly('2', '1Gi')));
    let asked = 0;
    node.recover = async () => {
      asked++;
      return { admit: true };
    };
    const larger = asking(a, exactly('3', '1Gi'));
    ask(larger);
    await new Promise((resolve) => setImmediate(resolve));
    expect([cpuOf(larger), reasons('uid-a'), decided, asked]).toEqual(['1', ['Deferred'], ['uid-a'], 1]);
  });

  test('N1: reserves freed resources for pods that await admission and preempts no pod for a resize that competes with these pods', async () => {
    const { add, ask, cpuOf, reasons, manager, node } = setUp();
    const a = add(makePod('a', exactly('1', '1Gi')));
    const b = add(makePod('b', exactly('2', '1Gi')));
    let asked = 0;
    node.recover = async () => {
      asked++;
      return { admit: true };
    };
    node.applicants = [makePod('new', exactly('1', '1Gi'))];
    const larger = asking(a, exactly('2', '1Gi'));
    ask(larger);
    // A pod that requests less does not wait for other pods.
    const smaller = asking(b, exactly('1500m', '1Gi'));
    ask(smaller);
    expect([cpuOf(larger), reasons('uid-a'), cpuOf(smaller), asked]).toEqual(['1', ['Deferred'], '1500m', 0]);
    // The pod that awaited admission was rejected.
    node.applicants = [];
    expect(manager.retry('pods_removed')).toEqual(['uid-a']);
    expect([cpuOf(larger), asked]).toEqual(['2', 0]);
  });

  test('attempts preemption once for each of two resizes without victims, so the two resizes do not retrigger each other forever', async () => {
    const { add, ask, reasons, messages, manager, node } = setUp();
    const pods = ['a', 'b'].map((name) => add(makePod(name, exactly('1', '1Gi'))));
    let asked = 0;
    node.recover = async () => {
      // If the resizes retriggered each other, the event loop would never continue: this limit stops the test.
      if (++asked > 20) node.cpuMilli = 100_000n;
      return { admit: false, reason: 'UnexpectedAdmissionError', message: 'nobody' };
    };
    for (const pod of pods) ask(asking(pod, exactly('9', '1Gi')));
    await new Promise((resolve) => setImmediate(resolve));
    expect([asked, reasons('uid-a'), reasons('uid-b')]).toEqual([2, ['Deferred'], ['Deferred']]);
    manager.retry('pods_removed');
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBe(4);
    for (const pod of pods) expect(messages(pod)).toHaveLength(1);
  });

  test('reports in the Deferred condition why no pod could be preempted', async () => {
    const { add, ask, messages, manager, node } = setUp();
    const a = add(makePod('a', exactly('1', '1Gi')));
    node.recover = async () => ({ admit: false, reason: 'UnexpectedAdmissionError', message: 'nobody' });
    const larger = asking(a, exactly('9', '1Gi'));
    ask(larger);
    await new Promise((resolve) => setImmediate(resolve));
    expect(manager.conditions('uid-a')).toMatchObject([{ reason: 'Deferred', message: 'nobody' }]);
    expect(messages(larger)[0]).toMatch(/^Pod resize UnexpectedAdmissionError: /);
  });
});

describe('AllocationManager: progress of an allocated resize', () => {
  const runs = { containers: [{ name: 'c', state: 'running' }] } as unknown as RuntimePodStatus;

  test('keeps a resize in progress until all resources are applied and records only one event for repeated equal errors', async () => {
    const { manager, add, ask, told, reasons } = setUp();
    const a = add(makePod('a', exactly('1', '1Gi')));
    await manager.containerApplied('uid-a', 'c', exactly('1', '1Gi'));
    const larger = asking(a, exactly('2', '1Gi'));
    ask(larger);
    manager.observe(larger, runs);
    manager.failed(larger, 'no memory');
    manager.failed(larger, 'no memory');
    manager.observe(larger, runs);
    expect(reasons('uid-a')).toEqual(['Error']);
    await manager.containerApplied('uid-a', 'c', exactly('2', '1Gi'));
    manager.observe(larger, runs);
    manager.observe(larger, runs);
    expect(reasons('uid-a')).toEqual([]);
    expect(told(larger)).toEqual(['ResizeStarted', 'ResizeError', 'ResizeCompleted']);
  });
});

describe('K1: AllocationManager after a kubelet restart', () => {
  test('restores allocated and applied resources after a restart and tries the resize that was requested during the downtime', async () => {
    const first = setUp();
    const a = first.add(makePod('a', exactly('1', '1Gi')));
    await first.manager.saved('uid-a');
    await first.manager.containerApplied('uid-a', 'c', exactly('1', '1Gi'));

    const { manager, pods, cpuOf, reasons, told } = setUp({}, first.files);
    await manager.load();
    expect(manager.hasAllocation('uid-a')).toBe(true);
    expect(manager.appliedToContainer('uid-a', 'c')).toEqual(exactly('1', '1Gi'));
    expect(manager.appliedToContainer('uid-a', 'constructor')).toBeUndefined();
    const status = {
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred', observedGeneration: 2 }],
    };
    const larger: Pod = { ...asking(a, exactly('9', '1Gi')), status };
    pods.set('uid-a', larger);
    expect(cpuOf(larger)).toBe('1');
    expect(manager.added([larger])).toEqual(['uid-a']);
    expect(reasons('uid-a')).toEqual(['Deferred']);
    // The previous process already emitted the event.
    expect(told(larger)).toEqual([]);
  });

  test('clears the Deferred condition after a restart if the resize was allocated before the kubelet could update the API', async () => {
    const first = setUp();
    const a = first.add(makePod('a', exactly('1', '1Gi')));
    const larger = asking(a, exactly('2', '1Gi'));
    expect(first.ask(larger)).toEqual(['uid-a']);
    await first.manager.saved('uid-a');

    const { manager, pods, reasons } = setUp({}, first.files);
    await manager.load();
    const shown: Pod = {
      ...larger,
      status: { conditions: ['PodResizePending', 'PodResizeInProgress'].map((type) => ({ type, status: 'True' })) },
    };
    pods.set('uid-a', shown);
    expect(manager.added([shown])).toEqual([]);
    expect(manager.conditions('uid-a').map(({ type }) => type)).toEqual(['PodResizeInProgress']);
    expect(reasons('uid-a')).toEqual([undefined]);
  });
});

test('N1: never allocates more CPU than the node has, for any sequence of resize requests and retries', () => {
  const step = fc.record({
    pod: fc.integer({ min: 0, max: 3 }),
    cpu: fc.integer({ min: 1, max: 40 }),
    kind: fc.constantFrom('ask', 'retry', 'go'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { add, ask, pods, manager } = setUp();
      for (const name of ['0', '1', '2', '3']) add(makePod(name, exactly('1', '1Gi')));
      for (const { pod, cpu, kind } of steps) {
        const known = pods.get(`uid-${pod}`);
        if (kind === 'go') {
          pods.delete(`uid-${pod}`);
          manager.retry('pods_removed');
        } else if (kind === 'retry') manager.retry('periodic_retry');
        else if (known !== undefined) ask(asking(known, exactly(`${cpu}00m`, '1Gi')));
        const allocated = [...pods.values()].map(
          (one) => podRequests(manager.allocated(one)).get('cpu')?.milliValue() ?? 0n,
        );
        expect(allocated.reduce((sum, milli) => sum + milli, 0n)).toBeLessThanOrEqual(4000n);
        // A resize waits only if the node has no room for the resize.
        const waits = [...pods.values()].some((one) => manager.allocated(one) !== one);
        expect(manager.hasWaiting).toBe(waits);
      }
    }),
  );
});
