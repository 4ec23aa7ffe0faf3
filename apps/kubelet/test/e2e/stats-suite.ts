import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CgroupManager, cgroupfsPath, openCgroups, readHierarchy } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import type { NodeSummary, PodStats } from '@node-agent/stats';
import { Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { containerId, script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 180_000;
const MIB = 2 ** 20;
/** Script that uses CPU at intervals, writes 3 MiB to its layer, and writes a log. */
const BUSY = [
  'trap "exit 0" TERM; dd if=/dev/zero of=/big bs=1048576 count=3 2>/dev/null; dd if=/dev/zero of=/e/big bs=1048576 count=1 2>/dev/null; echo written;',
  'while true; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1; done',
].join(' ');

/** Registers tests that compare the stats of a real kubelet on a real containerd with the kernel's files. */
export function statsSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} reports stats`, (context) => context.skip(found.reason));
    return;
  }
  describe(`stats on ${title}`, { timeout: TIMEOUT_MS }, () => {
    const { signal } = new AbortController();
    const root = [`na-e2e-${randomUUID()}`];
    const kubepods = cgroupfsPath([...root, 'kubepods']);
    let directory = '';
    let containerd: Containerd;
    let cgroups: CgroupManager;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      cgroups = await openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
      await cgroups.create(root, {});
      containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      const configuration = {
        ...{ cgroupsPerQOS: true, enforceNodeAllocatable: ['pods'], systemReserved: { memory: '1Gi' } },
        ...{ cgroupRoot: cgroupfsPath(root), volumeStatsAggPeriod: '2s' },
      };
      node = new TestNode({ directory, endpoint: containerd.endpoint, configuration });
      await node.start();
      const limits = { memory: '64Mi', cpu: '500m' };
      const volumeMounts = [{ name: 'scratch', mountPath: '/e' }];
      const containers = [script('c', BUSY, { resources: { limits }, volumeMounts })];
      await node.write({ name: 'busy', spec: { containers, volumes: [{ name: 'scratch', emptyDir: {} }] } });
      await node.running('busy');
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await containerd?.stop();
      await cgroups?.destroy(root, signal);
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const summary = async (query = ''): Promise<NodeSummary> =>
      JSON.parse(await node.page(`/stats/summary${query}`)) as NodeSummary;
    const busy = ({ pods }: NodeSummary): PodStats => {
      const pod = pods.find(({ podRef }) => podRef.name === 'busy-e2e');
      if (pod === undefined) throw new Error('the pod is not in the summary');
      return pod;
    };
    /** Returns the values of the container's cgroup files. */
    const kernel = async () => {
      const hierarchy = await readHierarchy(nodeFileSystem);
      const pod = await node.running('busy');
      const { uid } = pod.metadata;
      const id = containerId(pod);
      const path = `${kubepods}/pod${uid}/${id}`;
      const mount = (controller: string): string =>
        hierarchy.version === 1 ? (hierarchy.mounts.get(controller) ?? '') : hierarchy.mount;
      const read = (controller: string, v1: string, v2: string): Promise<string> =>
        readFile(`${mount(controller)}${path}/${hierarchy.version === 1 ? v1 : v2}`, 'utf8');
      return {
        ...{ uid, id, path, version: hierarchy.version },
        async cpuNs(): Promise<number> {
          const text = await read('cpuacct', 'cpuacct.usage', 'cpu.stat');
          return hierarchy.version === 1 ? Number(text) : Number(/^usage_usec (\d+)$/m.exec(text)?.[1]) * 1000;
        },
        usageBytes: async () => Number(await read('memory', 'memory.usage_in_bytes', 'memory.current')),
        processes: async () => (await read('cpu', 'cgroup.procs', 'cgroup.procs')).trim().split('\n').length,
      };
    };
    const between = (value: number | undefined, low: number, high: number): void => {
      expect(value).toBeGreaterThanOrEqual(low);
      expect(value).toBeLessThanOrEqual(high);
    };
    const sampleOf = (text: string, name: string, labels: Readonly<Record<string, string>>): number => {
      const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      const lines = text
        .split('\n')
        .filter((one) => one.startsWith(`${name}{`) && wanted.every((part) => one.includes(part)));
      expect(lines, `${name} ${wanted.join(' ')}`).toHaveLength(1);
      return Number(
        lines[0]
          ?.slice((lines[0]?.lastIndexOf('}') ?? 0) + 1)
          .trim()
          .split(' ')[0],
      );
    };

    test("the summary agrees with the kernel's files", async () => {
      const { cpuNs, usageBytes } = await kernel();
      // Eviction also collects stats, and a recent collection is reused.
      const { before, figures, after, bytesUsed } = await node.until('current stats', async () => {
        const [before, bytesBefore] = [await cpuNs(), await usageBytes()];
        const figures = (await summary()).pods.find(({ podRef }) => podRef.name === 'busy-e2e');
        const [after, bytesAfter] = [await cpuNs(), await usageBytes()];
        const used = figures?.containers[0]?.cpu?.usageCoreNanoSeconds ?? 0;
        // The memory of a container that has just started may change by more than the tolerance below.
        const isSteady = bytesBefore >= bytesAfter * 0.5 && bytesBefore <= bytesAfter * 2;
        const isCurrent = figures !== undefined && used >= before && isSteady;
        return isCurrent ? { before, figures, after, bytesUsed: bytesAfter } : undefined;
      });
      const [container] = figures.containers;
      between(container?.cpu?.usageCoreNanoSeconds, before, after);
      between(container?.memory?.usageBytes, bytesUsed * 0.5, bytesUsed * 2);
      const { workingSetBytes = 0, availableBytes = 0 } = container?.memory ?? {};
      expect(workingSetBytes + availableBytes).toBe(64 * MIB);
      expect(figures.process_stats?.process_count).toBeGreaterThanOrEqual(1);
    });

    test('computes rates from two readings', async () => {
      await summary();
      const { cpuNs } = await kernel();
      const [before, beganMs] = [await cpuNs(), performance.now()];
      // The wait is longer than the time for which the kubelet reuses a collection.
      const rated = await node.until('a rate of another interval', async () => {
        await new Promise((resolve) => setTimeout(resolve, 6000));
        return busy(await summary()).containers[0]?.cpu?.usageNanoCores;
      });
      const used = ((await cpuNs()) - before) / ((performance.now() - beganMs) / 1000);
      expect(rated).toBeGreaterThan(0);
      between(rated, used * 0.3, used * 3);
      // The container is limited to half a CPU.
      expect(rated).toBeLessThan(700_000_000);
    });

    test("the summary has the node, all pods together, and the node's file systems", async () => {
      const { node: own } = await summary();
      const memory = Number(/^MemTotal:\s+(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'))?.[1]) * 1024;
      const { workingSetBytes = 0, availableBytes = 0 } = own.memory ?? {};
      expect(workingSetBytes).toBeGreaterThan(0);
      expect(workingSetBytes + availableBytes).toBe(memory);
      const all = own.systemContainers?.find(({ name }) => name === 'pods');
      const left = (all?.memory?.workingSetBytes ?? 0) + (all?.memory?.availableBytes ?? 0);
      expect(left).toBe(Math.floor((memory - 1024 * MIB) / 4096) * 4096);
      for (const fs of [own.fs, own.runtime?.imageFs]) {
        expect(fs?.capacityBytes).toBeGreaterThan(fs?.availableBytes ?? Number.POSITIVE_INFINITY);
        expect(fs?.inodes).toBeGreaterThan(fs?.inodesFree ?? Number.POSITIVE_INFINITY);
      }
      between(own.rlimit?.curproc, 1, own.rlimit?.maxpid ?? 0);
      expect(own.network?.interfaces?.length).toBeGreaterThan(0);
    });

    test("the pod's network stats are read in its network namespace", async () => {
      const network = busy(await summary()).network;
      expect(network?.interfaces?.map(({ name }) => name)).toEqual(['eth0']);
      // Neighbour discovery sends packets when the interface comes up.
      expect(network?.txBytes).toBeGreaterThan(0);
    });

    test("counts written bytes in the container's layer and log, in the volume, and in the pod", async () => {
      // The runtime measures layers every 10 s.
      const figures = await node.until('the layer to be counted', async () => {
        const pod = busy(await summary());
        const volume = pod.volume?.find(({ name }) => name === 'scratch');
        const isCounted = (volume?.usedBytes ?? 0) >= MIB;
        return isCounted && (pod.containers[0]?.rootfs?.usedBytes ?? 0) >= 3 * MIB ? pod : undefined;
      });
      const [container] = figures.containers;
      between(container?.rootfs?.usedBytes, 3 * MIB, 4 * MIB);
      between(container?.logs?.usedBytes, 1, 64 * 1024);
      expect(container?.logs?.inodesUsed).toBe(1);
      const all = figures['ephemeral-storage']?.usedBytes ?? 0;
      expect(all).toBeGreaterThanOrEqual((container?.rootfs?.usedBytes ?? 0) + (container?.logs?.usedBytes ?? 0) + MIB);
    });

    test('/metrics/resource and /metrics/cadvisor agree about a container', async () => {
      const { id, path, cpuNs, processes, version } = await kernel();
      const before = (await cpuNs()) / 1e9;
      const labels = { container: 'c', pod: 'busy-e2e', namespace: 'default' };
      await new Promise((resolve) => setTimeout(resolve, 5500));
      const resource = await node.page('/metrics/resource');
      const cadvisor = await node.page('/metrics/cadvisor');
      const after = (await cpuNs()) / 1e9;
      between(sampleOf(resource, 'container_cpu_usage_seconds_total', labels), before, after);
      expect(resource).toMatch(/^resource_scrape_error 0$/m);
      const all = { ...labels, id: path, name: id, image: 'docker.io/library/' };
      expect(sampleOf(cadvisor, 'container_spec_memory_limit_bytes', labels)).toBe(64 * MIB);
      expect(sampleOf(cadvisor, 'container_spec_cpu_quota', labels)).toBe(50_000);
      between(sampleOf(cadvisor, 'container_cpu_usage_seconds_total', { ...labels, cpu: 'total' }), before, after);
      expect(sampleOf(cadvisor, 'container_memory_working_set_bytes', labels)).toBeGreaterThan(0);
      expect(sampleOf(cadvisor, 'container_cpu_cfs_periods_total', labels)).toBeGreaterThan(0);
      expect(sampleOf(cadvisor, 'container_oom_events_total', labels)).toBe(0);
      between(sampleOf(cadvisor, 'container_processes', labels), 1, (await processes()) + 2);
      expect(sampleOf(cadvisor, 'container_file_descriptors', labels)).toBeGreaterThan(2);
      expect(cadvisor).toContain(`id="${all.id}"`);
      expect(cadvisor).toContain(`name="${all.name}"`);
      const pod = { container: '', pod: 'busy-e2e', namespace: 'default', interface: 'eth0' };
      expect(sampleOf(cadvisor, 'container_network_transmit_bytes_total', pod)).toBeGreaterThan(0);
      expect(cadvisor).toMatch(/^container_scrape_error 0$/m);
      expect(cadvisor).toMatch(/^machine_memory_bytes\{/m);
      expect(version).toBeLessThan(3);
      const metrics = await node.page('/metrics');
      const logs = { container: 'c', namespace: 'default', pod: 'busy-e2e' };
      expect(sampleOf(metrics, 'kubelet_container_log_filesystem_used_bytes', logs)).toBeGreaterThan(0);
      // Each call of the runtime is measured once.
      const sandboxes = sampleOf(metrics, 'kubelet_runtime_operations_total', { operation_type: 'run_podsandbox' });
      expect(sampleOf(metrics, 'kubelet_run_podsandbox_duration_seconds_count', { runtime_handler: '' })).toBe(
        sandboxes,
      );
    });

    test('only_cpu_and_memory omits all other stats', async () => {
      const only = await summary('?only_cpu_and_memory=true');
      expect(only.node).not.toHaveProperty('fs');
      expect(busy(only).containers[0]).toHaveProperty('memory');
      expect(busy(only).containers[0]).not.toHaveProperty('rootfs');
    });

    test("a stopped runtime delays no scrape, and the node's own stats stay available", async () => {
      await containerd.killProcess('SIGKILL');
      try {
        await node.until('the scrape to report it', async () => {
          const cadvisor = await node.page('/metrics/cadvisor');
          expect(cadvisor).toMatch(/^machine_memory_bytes\{/m);
          expect(sampleOf(cadvisor, 'container_memory_working_set_bytes', { id: '/' })).toBeGreaterThan(0);
          return /^container_scrape_error 1$/m.test(cadvisor) ? true : undefined;
        });
        // The kubelet reuses earlier collections for a while.
        await node.until('/metrics/resource to report it', async () =>
          /^resource_scrape_error 1$/m.test(await node.page('/metrics/resource')) ? true : undefined,
        );
        await node.until('the summary to report it', async () =>
          node.page('/stats/summary').then(
            () => undefined,
            (err: Error) => /500 Internal Error: failed to /.test(err.message) || undefined,
          ),
        );
      } finally {
        await containerd.startProcess();
      }
      await node.until('the pod to be served again', async () => busy(await summary()));
    });
  });
}
