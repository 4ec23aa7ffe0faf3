// The CPU, memory and topology managers on a machine with two sockets and two NUMA nodes: CPUs 0-3 and 4-7, two threads
// per core.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '@node-agent/pod-spec';
import { GroupSide, type ManifestPod } from '@node-agent/tools-compare/groups';
import { binaries, KUBELET, UPSTREAM } from './guest-binaries.ts';
import { groupsBelow, run, systemd, textsOf } from './machine.ts';

const { signal } = new AbortController();
/** Time limit of a test. An emulated machine on busy CPUs needs minutes instead of seconds. */
const TIMEOUT = { timeout: 7_000_000 };
/** Writes the CPUs and NUMA nodes that the container sees, and waits for its end. */
const SCRIPT =
  'cd /sys/fs/cgroup; cat cpuset.cpus.effective cpuset.mems.effective; grep _list /proc/self/status; trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';

function pod(name: string, resources: object): ManifestPod {
  const image = 'node-agent.local/busybox:1';
  const container = { name: 'main', image, imagePullPolicy: 'Never', command: ['sh', '-c', SCRIPT], resources };
  const spec = { hostNetwork: true, dnsPolicy: 'Default', terminationGracePeriodSeconds: 1, containers: [container] };
  return { name, spec } as ManifestPod;
}

const amounts = { cpu: '2', memory: '64Mi', 'hugepages-2Mi': '32Mi' };
const exclusive = { requests: amounts, limits: amounts };

describe('kubelet on two NUMA nodes', TIMEOUT, () => {
  let side: GroupSide;
  let directory: string;
  const began = performance.now();
  const say = (text: string): void => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${text}`);
  const containerOf = (found: Pod | undefined): string =>
    (found?.status?.containerStatuses?.[0]?.containerID ?? '').replace('containerd://', '');
  /** Returns the CPUs and NUMA nodes that the kernel allows the container of a pod. */
  const placeOf = async (name: string): Promise<string> => {
    const id = containerOf(await side.pod(name));
    const group = (await groupsBelow('/here.slice')).find((path) => id !== '' && path.includes(id));
    assert.ok(group, `no cgroup of pod ${name}`);
    const files = await textsOf(group, ['cpuset.cpus.effective', 'cpuset.mems.effective', 'cpu.max']);
    return Object.values(files).join(' on ');
  };
  /** Returns the lines that the container of a pod wrote at its start. */
  const outputOf = async (name: string): Promise<readonly string[]> => {
    const logs = side.kubelet.podLogsDirectory;
    const pod = (await readdir(logs)).find((each) => each.includes(`_${name}-here_`));
    const lines = (await readFile(`${logs}/${pod}/main/0.log`, 'utf8')).trim().split('\n');
    return lines.map((line) => line.split(' ').slice(3).join(' ').trim());
  };
  const state = async (name: string): Promise<string> =>
    await readFile(`${side.kubelet.rootDirectory}/${name}`, 'utf8');

  before(async () => {
    // The machine's own containerd is stopped, because the tests use another version.
    await run('systemctl', 'stop', 'containerd');
    for (const node of [0, 1]) {
      await writeFile(`/sys/devices/system/node/node${node}/hugepages/hugepages-2048kB/nr_hugepages`, '64');
    }
    directory = await mkdtemp('/tmp/k-');
    side = await GroupSide.start({
      ...{ name: 'here', program: KUBELET, binaries, driver: 'systemd', systemd, directory },
      ...{ subnet: '10.199.0.0/24', timeoutMs: 1_500_000, everyMs: 15_000 },
      configuration: {
        cpuManagerPolicy: 'static',
        cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' },
        reservedSystemCPUs: '0,4',
        memoryManagerPolicy: 'Static',
        topologyManagerPolicy: 'single-numa-node',
        topologyManagerScope: 'pod',
        // The reservation of both nodes together is kubeReserved plus the eviction threshold.
        systemReserved: { pid: '500' },
        kubeReserved: { memory: '412Mi' },
        evictionHard: { 'memory.available': '100Mi' },
        reservedMemory: [0, 1].map((numaNode) => ({ numaNode, limits: { memory: '256Mi' } })),
      },
    });
    say('started the runtime and the kubelet');
  });
  after(async () => {
    await side?.stop();
    systemd.close();
  });

  test('two pods get the free core of a NUMA node each, with memory of that node', async () => {
    for (const name of ['first', 'second']) {
      await side.write(pod(name, exclusive));
      await side.running([name], signal);
    }
    say('two pods with exclusive CPUs are running');
    assert.equal(await placeOf('first'), '2-3 on 0 on max 100000');
    assert.equal(await placeOf('second'), '6-7 on 1 on max 100000');
    assert.deepEqual(await outputOf('first'), ['2-3', '0', 'Cpus_allowed_list:\t2-3', 'Mems_allowed_list:\t0']);
    assert.deepEqual(await outputOf('second'), ['6-7', '1', 'Cpus_allowed_list:\t6-7', 'Mems_allowed_list:\t1']);
    assert.match(await state('cpu_manager_state'), /"defaultCpuSet":"0-1,4-5"/);
    assert.match(await state('memory_manager_state'), /"numaAffinity":\[1\],"type":"hugepages-2Mi","size":33554432/);
  });

  test('other pods share the CPUs that are left, and a third pod with exclusive CPUs is rejected', async () => {
    await side.write(pod('shared', { requests: { cpu: '50m' } }));
    await side.running(['shared'], signal);
    assert.match(await placeOf('shared'), /^0-1,4-5 on 0-1 on/);
    await side.write(pod('third', exclusive));
    let third: Pod | undefined;
    for (let tries = 0; tries < 200 && third?.status?.phase !== 'Failed'; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 3000));
      third = await side.pod('third');
    }
    assert.deepEqual([third?.status?.phase, third?.status?.reason], ['Failed', 'TopologyAffinityError']);
    say(`the third pod was rejected: ${third?.status?.reason}: ${third?.status?.message}`);
  });

  test('N12: the containers keep their CPUs and memory when the kubelet is killed and started again', async () => {
    const before = [await state('cpu_manager_state'), containerOf(await side.pod('first'))];
    await side.kubelet.stop('SIGKILL');
    await side.kubelet.start();
    await side.running(['first', 'second'], signal);
    assert.deepEqual([await state('cpu_manager_state'), containerOf(await side.pod('first'))], before);
    assert.equal(await placeOf('second'), '6-7 on 1 on max 100000');
  });

  test('the Go kubelet reads the placements of this kubelet, and this kubelet starts with the state files of the Go kubelet', async () => {
    for (const name of ['second', 'third']) await side.remove(name);
    while ((await side.pod('second')) !== undefined) await new Promise((resolve) => setTimeout(resolve, 3000));
    const uid = (await side.pod('first'))?.metadata.uid;
    await side.replaceKubelet(UPSTREAM);
    // The Go kubelet gives static pods other UIDs, so that it starts them again.
    await side.running(['shared'], signal);
    say('the Go kubelet runs a pod');
    const log = await readFile(side.kubelet.logFile, 'utf8');
    assert.match(log, new RegExp(`Updated CPUSet assignments.*"${uid}":`));
    await side.remove('first');
    await side.write(pod('fourth', exclusive));
    await side.running(['fourth'], signal);
    assert.match(await placeOf('fourth'), /^(2-3 on 0|6-7 on 1) on max 100000$/);
    await side.replaceKubelet(KUBELET);
    await side.running(['shared'], signal);
  });
});
