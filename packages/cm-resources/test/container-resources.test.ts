import type { TopologyHint } from '@node-agent/contracts';
import type { Pod } from '@node-agent/pod-spec';
import { captureLogger } from '@node-agent/telemetry/testing';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AlignedDevices, ContainerResourcesError } from '../src/index.ts';
import { decodeMemoryState } from '../src/state/memory-checkpoint.ts';
import { containerOf, machineOf, podOf, sidecarOf } from './builders.ts';
import { ROOT, settle, TestNode } from './helpers.ts';

const affinityError = {
  admit: false,
  reason: 'TopologyAffinityError',
  message: 'Resources cannot be allocated with Topology locality',
};

function pod(uid: string, cpu: string, memory?: string): Pod {
  return podOf(uid, [containerOf('main', cpu, memory)]);
}

describe('exclusive CPUs', () => {
  test("exclusive CPUs are in upstream's state file when the pod is admitted", async () => {
    const node = new TestNode();
    expect(await node.admit(pod('a', '2'))).toEqual({ admit: true });
    expect(node.cpus('a')).toBe('1,5');
    expect(await node.file('cpu_manager_state')).toMatch(
      /^{"policyName":"static","defaultCpuSet":"0,2-4,6-7","entries":{"a":{"main":"1,5"}},"checksum":\d+}$/,
    );
    expect(node.resources.placementOf('a', 'main')).toEqual({ cpus: '1,5', mems: '', hasExclusiveCpus: true });
    expect(node.resources.placementOf('b', 'main')).toEqual({ cpus: '0,2-4,6-7', mems: '', hasExclusiveCpus: false });
  });

  test.each([
    ['a fraction of a CPU', podOf('a', [containerOf('main', '1500m')])],
    ['no limits', podOf('a', [{ name: 'main', image: 'x', resources: { requests: { cpu: '2' } } }])],
    [
      'other limits than requests',
      podOf('a', [
        {
          name: 'main',
          image: 'x',
          resources: { requests: { cpu: '1', memory: '1' }, limits: { cpu: '2', memory: '1' } },
        },
      ]),
    ],
  ])('a pod with %s gets no exclusive CPUs', async (_name, shared) => {
    const node = new TestNode();
    expect(await node.admit(shared)).toEqual({ admit: true });
    expect(node.resources.hasExclusiveCpus(shared)).toBe(false);
  });

  test('later containers reuse the exclusive CPUs of init containers, but not those of sidecars', async () => {
    const node = new TestNode();
    const inits = [containerOf('init', '6'), sidecarOf('side', '1')];
    // The node has seven CPUs for containers, while the requests of the containers sum to eleven.
    await node.admit(podOf('a', [containerOf('main', '4')], inits));
    const [init = [], side = [], main = []] = ['init', 'side', 'main'].map((name) =>
      node.resources.exclusiveCpusOf('a', name),
    );
    expect([init.length, side.length, main.length]).toEqual([6, 1, 4]);
    expect(side.filter((cpu) => main.includes(cpu))).toEqual([]);
  });

  test("a pod that requests more exclusive CPUs than are free is rejected with upstream's message", async () => {
    const node = new TestNode();
    const message =
      'Allocate failed due to not enough cpus available to satisfy request: requested=8, available=7, which is unexpected';
    expect(await node.admit(pod('a', '8'))).toEqual({ admit: false, reason: 'UnexpectedAdmissionError', message });
  });

  test('full-pcpus-only rejects a pod with an odd CPU request, and a pod that needs more cores than are free', async () => {
    const node = new TestNode({ cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } });
    const reason = 'SMTAlignmentError';
    expect(await node.admit(pod('a', '3'))).toEqual({
      admit: false,
      reason,
      message: 'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
    });
    const amounts = 'available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2';
    const message = `SMT Alignment Error: not enough free physical CPUs: ${amounts}`;
    expect(await node.admit(pod('a', '8'))).toEqual({ admit: false, reason, message });
    expect(await node.admit(pod('a', '6'))).toEqual({ admit: true });
  });

  test('a pod keeps its exclusive CPUs on a full node if the kubelet restarts', async () => {
    const node = new TestNode({ cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } });
    await node.admit(pod('a', '6'));
    node.restarted();
    expect(await node.admit(pod('a', '6'))).toEqual({ admit: true });
    expect(node.cpus('a')).toBe('1,2,3,5,6,7');
  });

  test('a running pod gets exclusive CPUs and memory when a kubelet with new policies resumes it', async () => {
    const node = new TestNode({ nodeReservation: { cpu: '1', memory: '1Gi' } });
    const signal = new AbortController().signal;
    const reservedMemory = [{ numaNode: 0, limits: { memory: '1Gi' } }];
    node.active = [pod('a', '2', '1Gi'), pod('b', '6', '1Gi'), pod('c', '500m', '1Gi')];
    node.running.set('a', [{ name: 'main', id: 'main-a' }]);
    node.restarted({ memoryManagerPolicy: 'Static', reservedMemory });
    void node.resources.start(signal);
    for (const one of node.active) node.resources.resumed(one, signal);
    await settle();
    expect(['a', 'b', 'c'].map((uid) => node.cpus(uid))).toEqual(['1,5', '', '']);
    // The node has too few CPUs for pod b, which continues without exclusive CPUs and memory.
    expect(['a', 'b', 'c'].map((uid) => node.resources.placementOf(uid, 'main').mems)).toEqual(['0', '', '0']);
    expect(node.updates).toContain('main-a 1,5');
    node.restarted({ memoryManagerPolicy: 'Static', reservedMemory });
    await node.resources.load();
    expect(node.cpus('a')).toBe('1,5');
  });

  test('strict-cpu-reservation removes the reserved CPUs from the shared CPUs', async () => {
    const node = new TestNode({
      reservedSystemCPUs: '0,4',
      cpuManagerPolicyOptions: { 'strict-cpu-reservation': 'true' },
    });
    await node.resources.load();
    expect(node.resources.placementOf('a', 'main').cpus).toBe('1-3,5-7');
  });

  test('N12: other containers run on the reserved CPUs when strict-cpu-reservation has left no shared CPU', async () => {
    const node = new TestNode({
      reservedSystemCPUs: '0,4',
      cpuManagerPolicyOptions: { 'strict-cpu-reservation': 'true' },
    });
    void node.resources.start(new AbortController().signal);
    node.active = [pod('b', '500m')];
    node.running.set('b', [{ name: 'main', id: 'main-b' }]);
    expect(await node.admit(pod('a', '6'))).toEqual({ admit: true });
    await settle();
    expect([node.cpus('a'), node.resources.placementOf('b', 'main').cpus]).toEqual(['1,2,3,5,6,7', '0,4']);
    expect(node.updates.at(-1)).toBe('main-b 0,4');
  });

  test('allocatableCpus returns all CPUs except the reserved ones', async () => {
    expect(new TestNode({ reservedSystemCPUs: '0,4' }).resources.allocatableCpus()).toEqual([1, 2, 3, 5, 6, 7]);
  });
});

describe('CPUs of pods that end', () => {
  test('N12: a terminating pod keeps its CPUs until it is gone, and a new pod waits for them', async () => {
    const node = new TestNode();
    await node.admit(pod('a', '6'));
    node.remove('a');
    node.ending.add('a');
    const admitted = node.admit(pod('b', '6'));
    await settle();
    expect(node.cpus('b')).toBe('');
    expect(node.waits).toEqual(['b: termination of pod a, which holds CPUs or memory until then']);
    node.ending.clear();
    await node.clock.advance(250);
    expect(await admitted).toEqual({ admit: true });
    expect([node.cpus('a'), node.resources.exclusiveCpusOf('b', 'main').length]).toEqual(['', 6]);
  });

  test('a removed pod keeps its CPUs until all pod sources are ready', async () => {
    const node = new TestNode();
    await node.admit(pod('a', '6'));
    node.active = [];
    node.sourcesReady = false;
    node.restarted();
    const stop = new AbortController();
    const admitted = node.admit(pod('b', '6'), stop.signal);
    await settle();
    expect([node.cpus('a').length > 0, node.cpus('b')]).toEqual([true, '']);
    node.sourcesReady = true;
    await node.clock.advance(250);
    expect(await admitted).toEqual({ admit: true });
  });

  test('F4: CPUs of a pod that has terminated are free before all pod sources are ready', async () => {
    const node = new TestNode();
    await node.admit(pod('a', '6'));
    node.remove('a');
    node.sourcesReady = false;
    const admitted = node.admit(pod('b', '6'));
    await settle();
    expect(node.waits).toEqual(['b: termination of pod a, which holds CPUs or memory until then']);
    node.finished.add('a');
    await node.clock.advance(250);
    expect(await admitted).toEqual({ admit: true });
  });

  test.each<[string, Partial<Parameters<TestNode['restarted']>[0]>, Pod]>([
    ['more CPUs than the machine has', {}, pod('b', '100')],
    ['half a core with full-pcpus-only', { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } }, pod('b', '1')],
    ['more CPUs than a NUMA node has', { topologyManagerPolicy: 'single-numa-node' }, pod('b', '6')],
  ])('a pod that requests %s is rejected at once, although another pod terminates', async (_what, options, wanted) => {
    const node = new TestNode(options);
    await node.admit(pod('a', '2'));
    node.remove('a');
    node.ending.add('a');
    expect(await node.admit(wanted)).toMatchObject({ admit: false });
    expect(node.waits).toEqual([]);
  });

  test('a pod is not rejected because of the CPUs of a younger pod whose admission is not decided', async () => {
    const node = new TestNode();
    await node.admit(pod('a', '2'));
    node.remove('a');
    node.ending.add('a');
    const older = node.admit(pod('older', '6'));
    await settle();
    const { signal } = new AbortController();
    expect(await node.resources.admit(pod('younger', '2'), [], signal)).toEqual({ admit: true });
    node.ending.clear();
    await node.clock.advance(1000);
    expect(node.waits.at(-1)).toBe('older: another pod that is not admitted yet holds CPUs or memory');
    node.resources.release(pod('younger', '2'));
    expect(await older).toEqual({ admit: true });
  });

  test('a pod that a later admit handler rejected frees its CPUs for a waiting pod', async () => {
    const node = new TestNode();
    const { signal } = new AbortController();
    expect(await node.resources.admit(pod('a', '6'), [], signal)).toEqual({ admit: true });
    const second = node.admit(pod('b', '6'));
    await settle();
    expect(node.waits).toEqual(['b: another pod that is not admitted yet holds CPUs or memory']);
    node.resources.release(pod('a', '6'));
    expect(await second).toEqual({ admit: true });
    await settle();
    expect(await node.file('cpu_manager_state')).not.toContain('"a"');
  });

  test('a pod stops waiting for the CPUs of a terminating pod if its own admission is aborted', async () => {
    const node = new TestNode();
    await node.admit(pod('a', '6'));
    node.remove('a');
    node.ending.add('a');
    const stop = new AbortController();
    const admitted = node.admit(pod('b', '6'), stop.signal);
    await settle();
    stop.abort(new Error('pod is gone'));
    expect((await admitted).admit).toBe(false);
  });
});

describe('failed writes of state files', () => {
  /** Fault of a disk that stays full. */
  const full = { code: 'ENOSPC', times: Number.POSITIVE_INFINITY };

  test('N12: a pod whose CPUs cannot be written to the state file is rejected, so that no CPU is allocated twice after a crash', async () => {
    const node = new TestNode();
    await node.resources.load();
    node.fs.injectFault({ code: 'ENOSPC', operation: 'write' });
    const verdict = await node.admit(pod('a', '2'));
    expect(verdict).toMatchObject({ admit: false, reason: 'UnexpectedAdmissionError' });
    expect(verdict).toMatchObject({ message: expect.stringContaining('failed to write state file') });
    expect(node.cpus('a')).toBe('');
    expect(await node.admit(pod('a', '2'))).toEqual({ admit: true });
  });

  test('N12: the CPUs of a pod that is gone leave the state file within a period after the disk has space again', async () => {
    const node = new TestNode();
    await node.admit(pod('a', '2'));
    const stop = new AbortController();
    const run = node.resources.start(stop.signal);
    await settle();
    node.remove('a');
    node.fs.injectFault({ code: 'ENOSPC', operation: 'write' });
    await node.clock.advance(10_000);
    await settle();
    expect(node.cpus('a')).toBe('');
    expect(await node.file('cpu_manager_state')).toContain('"a"');
    await node.clock.advance(10_000);
    await settle();
    expect(await node.file('cpu_manager_state')).not.toContain('"a"');
    stop.abort();
    await run;
  });

  test('N12: a failed write is retried although an earlier write, which was slow, succeeds after the failure', async () => {
    const node = new TestNode({
      memoryManagerPolicy: 'Static',
      nodeReservation: { cpu: '1', memory: '512Mi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '512Mi' } }],
    });
    await node.admit(pod('a', '2', '1Gi'));
    await node.admit(pod('b', '2', '1Gi'));
    const stop = new AbortController();
    const run = node.resources.start(stop.signal);
    await settle();
    node.remove('a');
    let renames = 0;
    // The write of the CPU state succeeds, and the write of the memory state hangs.
    const path = (): boolean => renames++ === 1;
    const slow = node.fs.injectFault({ code: 'EIO', operation: 'rename', path, hangs: true });
    await node.clock.advance(10_000);
    await settle();
    node.remove('b');
    const full = node.fs.injectFault({ code: 'ENOSPC', operation: 'write', times: Number.POSITIVE_INFINITY });
    await node.clock.advance(10_000);
    await settle();
    slow.remove();
    await settle();
    full.remove();
    expect(await node.file('cpu_manager_state')).toContain('"b"');
    await node.clock.advance(10_000);
    await settle();
    expect(await node.file('cpu_manager_state')).not.toContain('"b"');
    stop.abort();
    await run;
  });

  test.each([
    ['none', { cpuManagerPolicy: 'none' as const, nodeReservation: {} }],
    ['static', {}],
  ])(
    'K1: a kubelet with the CPU manager policy %s starts on a full disk and writes nothing if its state files are up to date',
    async (_policy, options) => {
      const { logger, lines } = captureLogger();
      const node = new TestNode(options, { logger });
      await node.resources.load();
      const fault = node.fs.injectFault({ ...full, operation: 'write' });
      await node.restarted().load();
      expect(fault.hits).toBe(0);
      expect(lines).toEqual([]);
    },
  );

  test('K1: a kubelet whose state files are missing starts on a full disk, and admits a pod with exclusive CPUs only after they are on disk', async () => {
    const { logger, lines } = captureLogger();
    const node = new TestNode({}, { logger });
    const fault = node.fs.injectFault({ ...full, operation: 'write' });
    const stop = new AbortController();
    const run = node.resources.start(stop.signal);
    await settle();
    expect(lines).toMatchObject([{ level: 'error', message: 'Failed to store state to checkpoint' }]);
    expect(await node.admit(podOf('s', [containerOf('main', '500m')]))).toEqual({ admit: true });
    expect(await node.admit(pod('a', '2'))).toMatchObject({
      admit: false,
      message: expect.stringContaining('failed to write state file'),
    });
    fault.remove();
    await node.clock.advance(10_000);
    await settle();
    expect(await node.file('cpu_manager_state')).toContain('"defaultCpuSet":"0-7"');
    expect(await node.admit(pod('a', '2'))).toEqual({ admit: true });
    stop.abort();
    await run;
  });

  test('K1: with the CPU manager policy none, missing state files are written within a period after the disk has space', async () => {
    const node = new TestNode({ cpuManagerPolicy: 'none', nodeReservation: {} });
    const fault = node.fs.injectFault({ ...full, operation: 'write' });
    const stop = new AbortController();
    const run = node.resources.start(stop.signal);
    await settle();
    await node.clock.advance(10_000);
    await settle();
    fault.remove();
    await expect(node.file('cpu_manager_state')).rejects.toMatchObject({ code: 'ENOENT' });
    await node.clock.advance(10_000);
    await settle();
    expect(await node.file('cpu_manager_state')).toContain('"policyName":"none"');
    expect(await node.file('memory_manager_state')).toContain('"policyName":"None"');
    await node.clock.advance(10_000);
    expect(node.clock.pendingTimers).toBe(0);
    stop.abort();
    await run;
  });

  test('K1: a kubelet starts on a read-only disk although an unfinished state file of an earlier process cannot be removed', async () => {
    const node = new TestNode();
    await node.admit(pod('a', '2'));
    node.fs.injectFault({ code: 'EIO', operation: 'rename' });
    node.fs.injectFault({ ...full, code: 'EIO', operation: 'remove' });
    expect(await node.admit(pod('b', '2'))).toMatchObject({ admit: false });
    await settle();
    const names = (await node.fs.readdir(ROOT)).map(({ name }) => name);
    expect(names).toContainEqual(expect.stringMatching(/^\.tmp-/));
    const { logger, lines } = captureLogger();
    for (const operation of ['mkdir', 'write', 'rename'] as const)
      node.fs.injectFault({ ...full, code: 'EROFS', operation });
    await node.restarted({}, { logger }).load();
    expect(node.cpus('a')).toBe('1,5');
    expect(lines).toMatchObject([
      { level: 'warn', message: 'Failed to remove unfinished state files of an earlier process' },
    ]);
  });
});

describe('state files', () => {
  test("a state file of another CPU manager policy is rejected with upstream's message", async () => {
    const node = new TestNode({ cpuManagerPolicy: 'none', nodeReservation: {} });
    await node.resources.load();
    const message =
      'start cpu manager error: could not restore state from checkpoint: configured policy "static" differs from state checkpoint policy "none", ' +
      'please drain this node and delete the CPU manager checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet';
    const loading = node.restarted({ cpuManagerPolicy: 'static', nodeReservation: { cpu: '1' } }).load();
    await expect(loading).rejects.toThrow(message);
    await expect(loading).rejects.toMatchObject({ code: 'StateRefused' });
  });

  test('K1: the kubelet does not start while a CPU of its state file is offline, and containers keep their CPUs when that CPU is online again', async () => {
    const node = new TestNode({ reservedSystemCPUs: '0' });
    await node.admit(pod('a', '2'));
    const file = await node.file('cpu_manager_state');
    const machine = machineOf();
    const offline = (cpus: readonly number[]): readonly number[] => cpus.filter((cpu) => cpu !== 5);
    const nodes = machine.nodes.map((one) => ({
      ...one,
      cores: one.cores.map((core) => ({ ...core, cpus: offline(core.cpus) })),
    }));
    await expect(node.restarted({ machine: { nodes } }).load()).rejects.toThrow(
      'current set of available CPUs "0-4,6-7" doesn\'t match with CPUs in state "0-7"',
    );
    expect(await node.file('cpu_manager_state')).toBe(file);
    await node.restarted().load();
    expect(node.cpus('a')).toBe('1,5');
  });

  test('a CPU state file of a machine with other CPUs is rejected', async () => {
    const node = new TestNode();
    await node.resources.load();
    const smaller = machineOf({ coresPerNode: 1 });
    await expect(node.restarted({ machine: smaller }).load()).rejects.toThrow(
      'start cpu manager error: current set of available CPUs "0-3" doesn\'t match with CPUs in state "0-7"',
    );
  });

  test.each([
    [
      'a reserved CPU that a container has',
      '{"policyName":"static","defaultCpuSet":"1-7","entries":{"a":{"c":"0"}},"checksum":0}',
      'not all reserved cpus: "0" are present in defaultCpuSet: "1-7"',
    ],
    [
      'CPUs that are both shared and exclusive',
      '{"policyName":"static","defaultCpuSet":"0-7","entries":{"a":{"c":"1"}},"checksum":0}',
      'pod: a, container: c cpuset: "1" overlaps with default cpuset "0-7"',
    ],
    [
      'containers but no shared CPUs',
      '{"policyName":"static","defaultCpuSet":"","entries":{"a":{"c":"1"}},"checksum":0}',
      'default cpuset cannot be empty',
    ],
    [
      'a CPU of two pods',
      '{"policyName":"static","defaultCpuSet":"0,2-7","entries":{"a":{"c":"1"},"b":{"c":"1"}},"checksum":0}',
      'pods a and b both have CPU 1 exclusively',
    ],
    [
      'a wrong checksum',
      '{"policyName":"static","defaultCpuSet":"0-7","checksum":5}',
      'could not restore state from checkpoint: checkpoint is corrupted',
    ],
  ])('a CPU state file with %s is rejected and not changed', async (_name, text, problem) => {
    const node = new TestNode();
    await node.fs.mkdir(ROOT);
    await node.fs.writeFile(`${ROOT}/cpu_manager_state`, text);
    await expect(node.resources.load()).rejects.toThrow(problem);
    expect(await node.file('cpu_manager_state')).toBe(text);
    await expect(node.resources.load()).rejects.toSatisfy(ContainerResourcesError.is);
  });

  test('N12: a state file without shared CPUs is accepted if all CPUs except the reserved ones are exclusive', async () => {
    const node = new TestNode({ cpuManagerPolicyOptions: { 'strict-cpu-reservation': 'true' } });
    await node.admit(podOf('a', [containerOf('main', '7')]));
    expect(await node.file('cpu_manager_state')).toContain('"defaultCpuSet":""');
    await node.restarted().load();
    expect(node.cpus('a')).toBe('1,2,3,4,5,6,7');
  });

  test('N12: all CPUs of a pod are allocated in one step before its devices, so that concurrent pods stay on one NUMA node each', async () => {
    const devices = {
      load: async () => {},
      hints: () => new Map(),
      begin: () => {},
      allocate: async () => await settle(),
      stored: async () => {},
      admitted: () => {},
      release: () => {},
    };
    const node = new TestNode(
      { topologyManagerPolicy: 'single-numa-node', topologyManagerScope: 'pod', nodeReservation: { cpu: '1' } },
      { devices: devices as never },
    );
    const pods = ['a', 'b'].map((uid) => podOf(uid, [containerOf('x', '1'), containerOf('main', '1')]));
    await Promise.all(pods.map((pod) => node.admit(pod)));
    const nodeOf = (cpu: string) => (Number(cpu) % 4 < 2 ? 0 : 1);
    for (const uid of ['a', 'b']) {
      const cpus = [node.cpus(uid, 'x'), node.cpus(uid)]
        .join()
        .split(',')
        .filter((cpu) => cpu !== '');
      expect(new Set(cpus.map(nodeOf)).size).toBeLessThanOrEqual(1);
    }
  });

  test('a memory manager state file with other memory reservations is rejected', async () => {
    const memory = (amount: string) => ({
      memoryManagerPolicy: 'Static' as const,
      nodeReservation: { cpu: '1', memory: amount },
      reservedMemory: [{ numaNode: 0, limits: { memory: amount } }],
    });
    const node = new TestNode(memory('512Mi'));
    await node.resources.load();
    await expect(node.restarted(memory('256Mi')).load()).rejects.toThrow(
      'start memory manager error: [memorymanager] the expected machine state is different from the real one',
    );
  });

  test('a CPU state file of version 1 is read with the container IDs of the runtime', async () => {
    const known = async () => new Map([['id1', { podUid: 'a', container: 'main' }]]);
    const node = new TestNode(
      {},
      {
        containers: { running: () => [], updateContainerCpuset: async () => {}, known },
      },
    );
    await node.fs.mkdir(ROOT);
    const text = '{"policyName":"static","defaultCpuSet":"0-4,6-7","entries":{"id1":"5"},"checksum":0}';
    await node.fs.writeFile(`${ROOT}/cpu_manager_state`, text);
    await node.resources.load();
    expect(node.cpus('a')).toBe('5');
  });
});

describe('updates of running containers', () => {
  test('running containers get the shared CPUs after each change, with one runtime call per container', async () => {
    const node = new TestNode();
    const stop = new AbortController();
    const shared = podOf('s', [containerOf('main', '500m')]);
    await node.admit(shared);
    node.running.set('s', [{ name: 'main', id: 'id-s' }]);
    const running = node.resources.start(stop.signal);
    await settle();
    expect(node.updates).toEqual(['id-s 0-7']);
    await node.admit(pod('a', '2'));
    await settle();
    expect(node.updates.slice(1)).toEqual(['id-s 0,2-4,6-7']);
    await node.clock.advance(10_000);
    await settle();
    expect(node.updates).toHaveLength(2);
    node.remove('a');
    await node.clock.advance(10_000);
    await settle();
    expect(node.updates.slice(2)).toEqual(['id-s 0-7']);
    stop.abort();
    await running;
  });

  test('a container that was created with the current CPUs is not updated, even if a pass comes during its start', async () => {
    const node = new TestNode();
    const stop = new AbortController();
    await node.admit(pod('a', '2'));
    node.resources.starting(
      pod('a', '2'),
      containerOf('main', '2'),
      'id-a',
      node.resources.placementOf('a', 'main').cpus,
    );
    const running = node.resources.start(stop.signal);
    await settle();
    node.running.set('a', [{ name: 'main', id: 'id-a' }]);
    await node.clock.advance(10_000);
    await settle();
    expect(node.updates).toEqual([]);
    stop.abort();
    await running;
  });

  test('N12: a container whose update to more CPUs failed gets the earlier ones again, because the runtime may have changed them', async () => {
    const updates: string[] = [];
    let fails = false;
    const node = new TestNode(
      {},
      {
        containers: {
          running: ({ metadata }) => (metadata.uid === 's' ? [{ name: 'main', id: 'id-s' }] : []),
          updateContainerCpuset: async (id, cpus) => {
            updates.push(`${id} ${cpus}`);
            if (fails) throw new Error('the response is lost');
          },
        },
      },
    );
    const stop = new AbortController();
    await node.admit(podOf('s', [containerOf('main', '500m')]));
    await node.admit(pod('a', '2'));
    const running = node.resources.start(stop.signal);
    await settle();
    expect(updates).toEqual(['id-s 0,2-4,6-7']);
    fails = true;
    node.remove('a');
    await node.clock.advance(10_000);
    await settle();
    expect(updates.slice(1)).toEqual(['id-s 0-7']);
    fails = false;
    await node.admit(pod('b', '2'));
    await settle();
    expect(updates.slice(2)).toEqual(['id-s 0,2-4,6-7']);
    stop.abort();
    await running;
  });

  test('a failed cpuset update is retried and does not delay the updates of other containers', async () => {
    let calls = 0;
    const updates: string[] = [];
    const node = new TestNode(
      {},
      {
        containers: {
          running: ({ metadata }) => [{ name: 'main', id: metadata.uid }],
          updateContainerCpuset: async (id) => {
            if (id === 'a' && calls++ === 0) throw new Error('runtime is busy');
            updates.push(id);
          },
        },
      },
    );
    node.active = [pod('a', '500m'), pod('b', '500m')];
    const stop = new AbortController();
    const running = node.resources.start(stop.signal);
    await settle();
    expect(updates).toEqual(['b']);
    await node.clock.advance(10_000);
    await settle();
    expect(updates).toEqual(['b', 'a']);
    stop.abort();
    await running;
  });

  test.each([
    ['succeeds', false],
    ['fails', true],
  ])(
    'N12: a running container leaves CPUs that became exclusive during an update of the container as soon as that update %s',
    async (_what, fails) => {
      const updates: string[] = [];
      const answered = Promise.withResolvers<void>();
      const node = new TestNode(
        { reconcilePeriodMs: 3_600_000 },
        {
          containers: {
            running: ({ metadata }) => (metadata.uid === 's' ? [{ name: 'main', id: 'id-s' }] : []),
            updateContainerCpuset: async (id, cpus) => {
              updates.push(`${id} ${cpus}`);
              if (updates.length === 1) await answered.promise;
            },
          },
        },
      );
      const stop = new AbortController();
      await node.admit(podOf('s', [containerOf('main', '500m')]));
      const running = node.resources.start(stop.signal);
      await settle();
      expect(updates).toEqual(['id-s 0-7']);
      await node.admit(pod('a', '2'));
      await settle();
      expect(updates).toHaveLength(1);
      if (fails) answered.reject(new Error('runtime is busy'));
      else answered.resolve();
      await settle();
      expect(updates.slice(1)).toEqual(['id-s 0,2-4,6-7']);
      stop.abort();
      await running;
    },
  );

  test.each([
    ['created', false],
    ['started', true],
  ])(
    'N12: a container leaves CPUs that became exclusive while the runtime %s it as soon as it is seen running',
    async (_what, isRequested) => {
      const node = new TestNode({ reconcilePeriodMs: 3_600_000 });
      const stop = new AbortController();
      const shared = podOf('s', [containerOf('main', '500m')]);
      await node.admit(shared);
      const running = node.resources.start(stop.signal);
      await settle();
      const { cpus } = node.resources.placementOf('s', 'main');
      const start = () => node.resources.starting(shared, containerOf('main', '500m'), 'id-s', cpus);
      if (isRequested) start();
      await node.admit(pod('a', '2'));
      await settle();
      if (!isRequested) start();
      await node.clock.advance(30_000);
      expect(node.updates).toEqual([]);
      node.running.set('s', [{ name: 'main', id: 'id-s' }]);
      await node.clock.advance(1000);
      await settle();
      expect(node.updates).toEqual(['id-s 0,2-4,6-7']);
      await node.clock.advance(60_000);
      expect(node.updates).toHaveLength(1);
      stop.abort();
      await running;
    },
  );

  test('the CPUs of a container that was started and never runs are checked each second for at most two minutes', async () => {
    let passes = 0;
    const node = new TestNode(
      { reconcilePeriodMs: 3_600_000 },
      {
        containers: {
          running: () => {
            passes++;
            return [];
          },
          updateContainerCpuset: async () => {},
        },
      },
    );
    const stop = new AbortController();
    const shared = podOf('s', [containerOf('main', '500m')]);
    node.active = [shared];
    const running = node.resources.start(stop.signal);
    await settle();
    node.resources.starting(shared, containerOf('main', '500m'), 'id-s', '0-1');
    await settle();
    for (let second = 0; second < 130; second++) {
      await node.clock.advance(1000);
      await settle();
    }
    expect(passes).toBeGreaterThan(110);
    expect(passes).toBeLessThanOrEqual(123);
    const before = passes;
    await node.clock.advance(60_000);
    await settle();
    expect(passes).toBe(before);
    stop.abort();
    await running;
  });

  test('N12: containers of pods that terminate, or that no source has reported, leave CPUs that become exclusive and keep their own ones', async () => {
    const node = new TestNode();
    const stop = new AbortController();
    await node.admit(pod('own', '2'));
    await node.admit(podOf('s', [containerOf('main', '500m')]));
    for (const uid of ['own', 's', 'unreported']) node.running.set(uid, [{ name: 'main', id: `id-${uid}` }]);
    node.active = [];
    node.sourcesReady = false;
    for (const uid of ['own', 's']) node.ending.add(uid);
    const running = node.resources.start(stop.signal);
    await settle();
    expect(node.updates).toEqual(['id-own 1,5', 'id-s 0,2-4,6-7', 'id-unreported 0,2-4,6-7']);
    await node.admit(pod('new', '2'));
    await settle();
    expect(node.updates.slice(3)).toEqual(['id-s 0,3-4,7', 'id-unreported 0,3-4,7']);
    node.remove('unreported');
    await node.clock.advance(10_000);
    await settle();
    expect(node.updates).toHaveLength(5);
    // The runtime's list still shows containers of a pod that has terminated.
    node.ending.clear();
    for (const uid of ['own', 's']) node.finished.add(uid);
    await node.clock.advance(10_000);
    await settle();
    expect([node.cpus('own'), node.updates.length]).toEqual(['', 5]);
    stop.abort();
    await running;
  });

  test('running containers get the CPUs of a pod at once when its admission fails after it has waited for a device', async () => {
    const answered = Promise.withResolvers<void>();
    const devices: AlignedDevices = {
      ...idleDevices,
      allocate: async (_pod, { name }) => await (name === 'slow' ? answered.promise : undefined),
    };
    const node = new TestNode({ reconcilePeriodMs: 3_600_000 }, { devices });
    const stop = new AbortController();
    await node.admit(podOf('s', [containerOf('main', '500m')]));
    node.running.set('s', [{ name: 'main', id: 'id-s' }]);
    const running = node.resources.start(stop.signal);
    await settle();
    const failing = node.admit(podOf('p', [containerOf('slow', '2'), containerOf('large', '9')]));
    await settle();
    const other = node.admit(pod('a', '2'));
    // After this time, the slow device plugin no longer delays other pods.
    await node.clock.advance(1000);
    await other;
    await settle();
    expect(node.updates.at(-1)).toBe('id-s 0,3-4,7');
    answered.resolve();
    expect(await failing).toMatchObject({ admit: false });
    await settle();
    expect(node.updates.at(-1)).toBe('id-s 0-1,3-5,7');
    stop.abort();
    await running;
  });

  test('running containers are listed after a change of CPUs, but not after one of memory alone', async () => {
    let lists = 0;
    const containers = {
      running: () => {
        lists += 1;
        return [];
      },
      updateContainerCpuset: async () => {},
    };
    const memory = { memoryManagerPolicy: 'Static', nodeReservation: { cpu: '1', memory: '1Gi' } } as const;
    const reserved = [0, 1].map((numaNode) => ({ numaNode, limits: { memory: '512Mi' } }));
    const node = new TestNode({ ...memory, reservedMemory: reserved }, { containers });
    const stop = new AbortController();
    await node.admit(pod('a', '1', '1Gi'));
    const running = node.resources.start(stop.signal);
    await settle();
    lists = 0;
    await node.admit(pod('m', '500m', '1Gi'));
    await settle();
    expect(node.resources.memoryOf('m', 'main')).toHaveLength(1);
    expect(lists).toBe(0);
    await node.admit(pod('c', '1', '1Gi'));
    await settle();
    expect(lists).toBeGreaterThan(0);
    stop.abort();
    await running;
  });

  test('the CPU manager policy none starts no timer and updates no container', async () => {
    const node = new TestNode({ cpuManagerPolicy: 'none', nodeReservation: {} });
    const stop = new AbortController();
    const running = node.resources.start(stop.signal);
    await settle();
    expect(node.clock.pendingTimers).toBe(0);
    expect(node.resources.isActive).toBe(false);
    expect(await node.file('cpu_manager_state')).toBe('{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
    expect(await node.file('memory_manager_state')).toBe(
      '{"policyName":"None","machineState":{},"checksum":4236770233}',
    );
    stop.abort();
    await running;
  });
});

describe('memory allocations', () => {
  const options = {
    memoryManagerPolicy: 'Static' as const,
    nodeReservation: { cpu: '1', memory: '1Gi' },
    reservedMemory: [
      { numaNode: 0, limits: { memory: '512Mi' } },
      { numaNode: 1, limits: { memory: '512Mi' } },
    ],
  };

  test('the placement of a container has the NUMA nodes of its memory', async () => {
    const node = new TestNode(options);
    await node.admit(pod('a', '1', '3Gi'));
    await node.admit(pod('b', '1', '3Gi'));
    expect(['a', 'b'].map((uid) => node.resources.placementOf(uid, 'main').mems)).toEqual(['0', '1']);
    expect(node.resources.memoryOf('b', 'main')).toEqual([{ nodes: [1], resource: 'memory', bytes: 3 * 2 ** 30 }]);
    expect(await node.file('memory_manager_state')).toContain('"entries":{"a":{"main":[{"numaAffinity":[0]');
  });

  test('N12: memory that a rejected pod frees on another node of its group than it was taken from is in the state file', async () => {
    const node = new TestNode(options);
    // Both NUMA nodes form a group, and only the second node has free memory afterwards.
    await node.admit(pod('a', '1', '6Gi'));
    const rejected = podOf('b', [containerOf('one', '1', '512Mi'), containerOf('two', '99', '64Mi')]);
    expect(await node.admit(rejected)).toMatchObject({ admit: false });
    await settle();
    const { nodes, assignments } = decodeMemoryState(await node.file('memory_manager_state'));
    expect([...assignments.keys()]).toEqual(['a']);
    expect(nodes.get(0)?.tables.get('memory')?.free).toBe(2 ** 29);
  });

  test('the memory of an init container is freed when the next container starts', async () => {
    const node = new TestNode(options);
    const reusing = podOf('a', [containerOf('main', '1', '1Gi')], [containerOf('init', '1', '3Gi')]);
    await node.admit(reusing);
    node.resources.starting(reusing, containerOf('init', '1'), 'id-1', '');
    expect(node.resources.memoryOf('a', 'init')).not.toEqual([]);
    node.resources.starting(reusing, containerOf('main', '1'), 'id-2', '');
    expect(node.resources.memoryOf('a', 'init')).toEqual([]);
    expect(await node.admit(pod('b', '1', '2Gi'))).toEqual({ admit: true });
    expect(node.resources.memoryOf('b', 'main')[0]?.nodes).toEqual([0]);
  });

  test('N12: a pod whose init container has freed its memory is admitted again on a full node after a restart', async () => {
    const node = new TestNode(options);
    const one = podOf('a', [containerOf('main', '1', '1Gi')], [containerOf('init', '1', '3Gi')]);
    await node.admit(one);
    node.resources.starting(one, containerOf('main', '1'), 'id-1', '');
    await node.admit(pod('b', '1', '2Gi'));
    await node.admit(pod('c', '1', '3Gi'));
    await settle();
    node.restarted();
    expect(await node.admit(one)).toEqual({ admit: true });
    expect(node.resources.memoryOf('a', 'init')).toEqual([]);
    expect(node.resources.placementOf('a', 'main').mems).toBe('0');
  });

  test('a restart does not allocate the memory of an init container that has freed it a second time', async () => {
    const node = new TestNode({ ...options, topologyManagerPolicy: 'restricted' });
    const one = podOf('a', [containerOf('main', '1', '1Gi')], [containerOf('init', '1', '1Gi')]);
    await node.admit(one);
    node.resources.starting(one, containerOf('main', '1'), 'id-1', '');
    await settle();
    node.restarted();
    expect(await node.admit(one)).toEqual({ admit: true });
    expect(await node.admit(pod('b', '1', '2Gi'))).toEqual({ admit: true });
    expect(node.resources.placementOf('b', 'main').mems).toBe('0');
  });

  test('N12: the start of an ephemeral container frees no memory of a running init container', async () => {
    const node = new TestNode(options);
    const one = podOf('a', [containerOf('main', '1', '1Gi')], [containerOf('init', '1', '3Gi')]);
    await node.admit(one);
    node.resources.starting(one, { name: 'debug', image: 'x' }, 'id-1', '');
    expect(node.resources.memoryOf('a', 'init')).not.toEqual([]);
  });

  test("a pod that requests more memory than any NUMA node has is rejected with upstream's message", async () => {
    const verdict = await new TestNode(options).admit(pod('a', '1', '9Gi'));
    const problem =
      '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available';
    expect(verdict).toMatchObject({ message: `Allocate failed due to ${problem}, which is unexpected` });
  });

  test('allocatableMemory lists memory by NUMA node', () => {
    const hugePages = 64 * 2 ** 21;
    expect(new TestNode(options).resources.allocatableMemory()).toContainEqual({
      nodes: [1],
      resource: 'memory',
      bytes: 2 ** 32 - 2 ** 29 - hugePages,
    });
  });
});

/** Devices for which every node fits and whose allocation does nothing. */
const idleDevices: AlignedDevices = {
  load: async () => {},
  hints: () => new Map(),
  begin: () => {},
  allocate: async () => {},
  giveUp: () => {},
  stored: async () => {},
  admitted: () => {},
  release: () => {},
};

describe('topology manager', () => {
  test.each([
    ['container', 'puts the containers of a pod on different nodes', ['1,5', '2,6']],
    ['pod', 'rejects a pod whose containers do not fit on one node together', undefined],
  ] as const)('topologyManagerScope %s %s', async (scope, _what, expected) => {
    const node = new TestNode({
      reservedSystemCPUs: '0,4,3,7',
      topologyManagerPolicy: 'single-numa-node',
      topologyManagerScope: scope,
    });
    const verdict = await node.admit(podOf('a', [containerOf('one', '2'), containerOf('two', '2')]));
    expect(verdict).toEqual(expected === undefined ? affinityError : { admit: true });
    if (expected !== undefined) expect([node.cpus('a', 'one'), node.cpus('a', 'two')]).toEqual(expected);
    const text = await node.metrics.text();
    const series = `kubelet_container_aligned_compute_resources_count{scope="${scope}",boundary="numa_node"}`;
    expect(text).toContain(`${series} ${expected === undefined ? 0 : 2}`);
  });

  test('policy restricted allocates CPUs, memory and devices from one NUMA node', async () => {
    const onOne: TopologyHint[] = [
      { nodes: [1], preferred: true },
      { nodes: [0, 1], preferred: false },
    ];
    const allocated: string[] = [];
    const devices: AlignedDevices = {
      ...idleDevices,
      hints: () => new Map([['example.com/gpu', onOne]]),
      allocate: async ({ metadata }, { name }) => {
        allocated.push(`${name} on ${node.resources.affinityOf(metadata.uid, name)}`);
      },
    };
    const node = new TestNode(
      {
        topologyManagerPolicy: 'restricted',
        memoryManagerPolicy: 'Static',
        nodeReservation: { cpu: '1', memory: '1Gi' },
        reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
      },
      { devices },
    );
    expect(await node.admit(pod('a', '2', '1Gi'))).toEqual({ admit: true });
    expect(node.resources.placementOf('a', 'main')).toEqual({ cpus: '2,6', mems: '1', hasExclusiveCpus: true });
    expect(allocated).toEqual(['main on 1']);
  });

  test('CPUs are aligned with the devices of a plugin that registers during the admission, as after a reboot', async () => {
    let isRegistered = false;
    const devices: AlignedDevices = {
      ...idleDevices,
      async pluginsReady() {
        await settle();
        isRegistered = true;
      },
      hints: () => new Map([['example.com/gpu', isRegistered ? [{ nodes: [1], preferred: true }] : undefined]]),
    };
    const node = new TestNode({ topologyManagerPolicy: 'single-numa-node' }, { devices });
    expect(await node.admit(pod('a', '2'))).toEqual({ admit: true });
    expect([node.cpus('a'), node.resources.affinityOf('a', 'main')]).toEqual(['2,6', [1]]);
  });

  /** Creates devices whose allocation to container `c1` of pod `p` ends when the test calls `answer`. */
  function slowDevices(): { readonly devices: AlignedDevices; readonly answer: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const devices: AlignedDevices = {
      ...idleDevices,
      allocate: async ({ metadata }, { name }) => {
        if (metadata.uid === 'p' && name === 'c1') await promise;
      },
    };
    return { devices, answer: resolve };
  }

  test('a pod whose device plugin answers within a second keeps the NUMA node that its next container needs', async () => {
    const { devices, answer } = slowDevices();
    const hints: AlignedDevices['hints'] = ({ metadata }, container) => {
      const nodes = [container?.name === 'c1' ? 0 : 1];
      return new Map(metadata.uid === 'p' ? [['example.com/gpu', [{ nodes, preferred: true }]]] : []);
    };
    const node = new TestNode(
      { machine: machineOf({ sockets: 3 }), reservedSystemCPUs: '0', topologyManagerPolicy: 'single-numa-node' },
      { devices: { ...devices, hints } },
    );
    const verdicts = [
      node.admit(podOf('p', [containerOf('c1', '3'), containerOf('c2', '4')])),
      node.admit(pod('y', '2')),
    ];
    await settle();
    answer();
    expect(await Promise.all(verdicts)).toEqual([{ admit: true }, { admit: true }]);
  });

  test('W6: a device plugin that does not answer delays other pods by at most a second', async () => {
    const { devices, answer } = slowDevices();
    const node = new TestNode({}, { devices });
    const hanging = node.admit(podOf('p', [containerOf('c1', '2')]));
    let verdict: unknown;
    const other = node.admit(pod('y', '2')).then((answer) => {
      verdict = answer;
    });
    await settle();
    expect(verdict).toBeUndefined();
    await node.clock.advance(1000);
    await other;
    expect(verdict).toEqual({ admit: true });
    answer();
    expect(await hanging).toEqual({ admit: true });
  });

  test.each([
    ['', 0],
    [', also if its device plugin is slow', 1000],
  ])(
    'a pod gets the CPUs that an older pod gives up before that pod waits for something else%s',
    async (_when, slowMs) => {
      const { devices, answer } = slowDevices();
      const node = new TestNode({}, { devices });
      await node.admit(pod('a', '2'));
      node.remove('a');
      node.ending.add('a');
      const end = new AbortController();
      const older = node.admit(podOf('p', [containerOf('c1', '4'), containerOf('c2', '3')]), end.signal);
      await settle();
      const younger = node.admit(pod('y', '3'));
      await node.clock.advance(slowMs);
      answer();
      expect(await younger).toEqual({ admit: true });
      expect(node.waits.at(-1)).toBe('p: termination of pod a, which holds CPUs or memory until then');
      end.abort(new Error('pod is gone'));
      expect(await older).toMatchObject({ admit: false });
    },
  );

  test('two pods that wait for a third one do not wake each other', async () => {
    let looks = 0;
    const hints: AlignedDevices['hints'] = () => {
      // An endless loop would not let the test time out.
      if (++looks > 100) throw new Error('too many attempts');
      return new Map();
    };
    const node = new TestNode({ topologyManagerPolicy: 'best-effort' }, { devices: { ...idleDevices, hints } });
    const { signal } = new AbortController();
    expect(await node.resources.admit(pod('third', '3'), [], signal)).toEqual({ admit: true });
    const waiting = ['a', 'b'].map((uid) => node.admit(podOf(uid, [containerOf('c1', '2'), containerOf('c2', '3')])));
    await settle();
    expect(node.waits).toHaveLength(2);
    node.resources.release(pod('third', '3'));
    const verdicts = await Promise.all(waiting);
    expect(verdicts.map(({ admit }) => admit)).toEqual([true, false]);
  });

  test('a pod that lacks only CPUs does not wait for a pod that holds a device', async () => {
    const devices: AlignedDevices = { ...idleDevices, waitedForHolder: async () => await new Promise(() => {}) };
    const node = new TestNode({}, { devices });
    await node.admit(pod('a', '6'));
    const main = containerOf('main', '4', '64Mi', { 'example.com/gpu': '1' });
    expect(await node.admit(podOf('b', [main]))).toMatchObject({ admit: false });
  });

  test('a pod waits for devices that another pod holds, without keeping CPUs', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let attempts = 0;
    const lacking: string[] = [];
    const devices: AlignedDevices = {
      ...idleDevices,
      async allocate() {
        if (++attempts === 1) throw new Error('Requested: 1, Available: 0');
      },
      waitedForHolder: async (_pod, _signal, lacks) => {
        lacking.push(lacks);
        return await promise;
      },
    };
    const node = new TestNode({}, { devices });
    const admitted = node.admit(pod('a', '2'));
    await settle();
    expect([node.cpus('a'), lacking]).toEqual(['', ['devices']]);
    resolve(true);
    expect(await admitted).toEqual({ admit: true });
    expect(node.cpus('a')).toBe('1,5');
  });

  test('a pod for whose devices no NUMA node fits waits for the pod that holds devices', async () => {
    let holders = 1;
    const devices: AlignedDevices = {
      ...idleDevices,
      hints: () => new Map([['example.com/gpu', holders > 0 ? [] : [{ nodes: [1], preferred: true }]]]),
      waitedForHolder: async () => {
        await settle();
        return holders-- > 0;
      },
    };
    const node = new TestNode({ topologyManagerPolicy: 'single-numa-node' }, { devices });
    expect(await node.admit(pod('a', '2'))).toEqual({ admit: true });
    expect(node.cpus('a')).toBe('2,6');
    expect(
      await new TestNode(
        { topologyManagerPolicy: 'restricted' },
        { devices: { ...devices, hints: () => new Map([['example.com/gpu', []]]) } },
      ).admit(pod('b', '2')),
    ).toEqual(affinityError);
  });

  // While the API server is away, a pod that only it reports keeps its CPUs, and does not end.
  test.each<[string, (node: TestNode) => unknown]>([
    ['terminating pod', (node) => node.ending.add('a')],
    ['pod that no source has reported yet', (node) => (node.sourcesReady = false)],
    ['pod in admission', (node) => node.resources.admit(pod('c', '1'), [], new AbortController().signal)],
  ])('F4: a pod without CPUs or memory of its own does not wait for the CPUs of a %s', async (_whose, prepare) => {
    const devices: AlignedDevices = {
      ...idleDevices,
      hints: ({ metadata }) => new Map(metadata.uid === 'b' ? [['example.com/gpu', []]] : []),
    };
    const node = new TestNode({ topologyManagerPolicy: 'restricted' }, { devices });
    expect(await node.admit(pod('a', '6'))).toEqual({ admit: true });
    node.remove('a');
    await prepare(node);
    const main = { name: 'main', image: 'x', resources: { limits: { 'example.com/gpu': '1' } } };
    expect(await node.admit(podOf('b', [main]))).toEqual(affinityError);
    expect(node.waits).toEqual([]);
  });

  test('a pod that gets memory but no CPUs does not wait for a terminating pod that holds only CPUs', async () => {
    const node = new TestNode({ nodeReservation: { cpu: '1', memory: '1Gi' } });
    await node.admit(pod('a', '6'));
    // A kubelet does not start with the state of another policy.
    await node.fs.remove(`${ROOT}/memory_manager_state`);
    node.restarted({
      memoryManagerPolicy: 'Static',
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    });
    node.remove('a');
    node.ending.add('a');
    expect(await node.admit(pod('b', '500m', '64Gi'))).toMatchObject({ admit: false });
    expect([node.cpus('a').length > 0, node.waits]).toEqual([true, []]);
  });

  test('CPUs and devices of a pod are released if one of its devices cannot be allocated', async () => {
    const calls: string[] = [];
    const devices: AlignedDevices = {
      ...idleDevices,
      begin: () => calls.push('begin'),
      allocate: async () => {
        throw new Error('no healthy devices present');
      },
      release: () => calls.push('release'),
    };
    const node = new TestNode({}, { devices });
    const verdict = await node.admit(pod('a', '2'));
    expect(verdict).toMatchObject({
      message: 'Allocate failed due to no healthy devices present, which is unexpected',
    });
    expect([node.cpus('a'), calls.at(-1)]).toEqual(['', 'release']);
  });

  test('policy best-effort admits a pod that needs CPUs of two NUMA nodes, and policy single-numa-node rejects it', async () => {
    const node = new TestNode({ topologyManagerPolicy: 'best-effort' });
    expect(await node.admit(pod('a', '6'))).toEqual({ admit: true });
    expect(await new TestNode({ topologyManagerPolicy: 'single-numa-node' }).admit(pod('a', '6'))).toEqual(
      affinityError,
    );
  });
});

test('the metrics contain the numbers of shared and exclusive CPUs', async () => {
  const node = new TestNode();
  await node.admit(pod('a', '2'));
  await node.admit(pod('b', '9'));
  const text = await node.metrics.text();
  for (const line of [
    'kubelet_cpu_manager_shared_pool_size_millicores 5000',
    'kubelet_cpu_manager_exclusive_cpu_allocation_count 2',
    'kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 2',
    'kubelet_cpu_manager_allocation_per_numa{numa_node="1"} 0',
    'kubelet_cpu_manager_pinning_requests_total 2',
    'kubelet_cpu_manager_pinning_errors_total 1',
    'kubelet_topology_manager_admission_requests_total 2',
  ]) {
    expect(text).toContain(line);
  }
});

/**
 * Returns the pod with pod-level resources that exceed its containers' requests by one CPU and 512Mi, and with a
 * container that shares this rest.
 */
function withPodLevel(one: Pod): Pod {
  const [main] = one.spec.containers;
  const [init] = one.spec.initContainers ?? [];
  const cpus = [main, init].map((container) => Number.parseInt(container?.resources?.requests?.cpu ?? '0', 10));
  const gibibytes = [main, init].map((container) => (container?.resources?.requests?.memory === '512Mi' ? 1 : 3));
  const amounts = { cpu: `${Math.max(...cpus) + 1}`, memory: `${Math.max(...gibibytes) + 1}Gi` };
  const containers = [...one.spec.containers, { name: 'shared', image: 'x' }];
  return { ...one, spec: { ...one.spec, containers, resources: { requests: amounts, limits: amounts } } };
}

test('N12: no CPU and no memory is allocated to two pods, even if the kubelet restarts at any time', async () => {
  const sizes = fc.constantFrom('1', '2', '3', '4', '500m');
  const steps = fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('admit' as const),
          cpu: sizes,
          init: fc.option(sizes),
          memory: fc.constantFrom('512Mi', '2Gi', '3Gi'),
          podLevel: fc.boolean(),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constantFrom('start' as const, 'end' as const, 'gone' as const), at: fc.nat(5) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
    ),
    { maxLength: 14 },
  );
  const options = fc.record({
    topologyManagerPolicy: fc.constantFrom(
      'none' as const,
      'best-effort' as const,
      'restricted' as const,
      'single-numa-node' as const,
    ),
    topologyManagerScope: fc.constantFrom('container' as const, 'pod' as const),
    full: fc.boolean(),
    machine: fc
      .record({
        nodesPerSocket: fc.constantFrom(1, 2),
        coresPerNode: fc.integer({ min: 1, max: 3 }),
        threads: fc.constantFrom(1, 2),
      })
      .map(machineOf),
  });
  await fc.assert(
    fc.asyncProperty(steps, options, async (drawn, { full, ...policies }) => {
      const node = new TestNode({
        ...policies,
        podLevelResourceManagers: true,
        cpuManagerPolicyOptions: { 'full-pcpus-only': String(full) },
        memoryManagerPolicy: 'Static',
        nodeReservation: { cpu: '1', memory: '512Mi' },
        reservedMemory: [{ numaNode: 0, limits: { memory: '512Mi' } }],
      });
      for (const [index, step] of drawn.entries()) {
        if (step.do === 'admit') {
          const inits = step.init === null ? [] : [containerOf('init', step.init, step.memory)];
          const stop = new AbortController();
          const one = podOf(`p${index}`, [containerOf('main', step.cpu, step.memory)], inits);
          const admitting = node.admit(step.podLevel ? withPodLevel(one) : one, stop.signal);
          await settle();
          // Aborts the admission of a pod that waits for another pod.
          stop.abort(new Error('pod is gone'));
          await admitting;
        } else if (step.do === 'start') {
          const one = node.active[step.at];
          if (one?.spec.containers[0]) node.resources.starting(one, one.spec.containers[0], `id-${index}`, '');
        } else if (step.do === 'end') {
          const uid = node.active[step.at]?.metadata.uid;
          if (uid === undefined) continue;
          node.active = node.active.filter(({ metadata }) => metadata.uid !== uid);
          node.ending.add(uid);
        } else if (step.do === 'gone') {
          const [uid] = node.ending;
          if (uid !== undefined) node.remove(uid);
        } else {
          node.restarted();
          await node.resources.load();
          for (const one of node.active) expect(await node.admit(one)).toEqual({ admit: true });
        }
        const holders = [...node.active.map(({ metadata }) => metadata.uid), ...node.ending];
        const owners = new Map<number, string>();
        const used = new Map<string, number>();
        for (const uid of holders) {
          for (const name of ['init', 'main', 'shared']) {
            for (const cpu of node.resources.exclusiveCpusOf(uid, name)) {
              expect(owners.get(cpu) ?? uid).toBe(uid);
              owners.set(cpu, uid);
            }
            // The init container of a pod with pod-level resources is not counted: it uses the memory of the other
            // containers before they start.
            const isCounted = name !== 'init' || !node.cpus(uid, 'shared');
            for (const { nodes, bytes } of isCounted ? node.resources.memoryOf(uid, name) : []) {
              used.set(nodes.join(), (used.get(nodes.join()) ?? 0) + bytes);
            }
          }
        }
        const shared = node.resources.placementOf('nobody', 'main').cpus;
        expect([...owners.keys()].some((cpu) => shared.split(',').includes(`${cpu}`))).toBe(false);
        for (const [nodes, bytes] of used) {
          const all = node.resources.allocatableMemory().filter(({ resource }) => resource === 'memory');
          const room = all.filter((block) => nodes.split(',').includes(`${block.nodes[0]}`));
          expect(bytes).toBeLessThanOrEqual(room.reduce((sum, block) => sum + block.bytes, 0));
        }
      }
    }),
    { numRuns: 60 },
  );
}, 60_000);
