import assert from 'node:assert/strict';
import { CgroupDriver, type ContainerStatsFilter, type Init } from '@node-agent/cri-client';
import { type Examination, refused } from './scene.ts';

/** Compliance cases for the runtime's own status, stats and metrics. */
export const runtimeExaminations: readonly Examination[] = [
  [
    'Version reports a name, a version and CRI v1',
    async (scene) => {
      const version = await scene.cri.version({ version: '0.1.0' });
      assert.equal(version.version, '0.1.0');
      assert.notEqual(version.runtimeName, '');
      assert.notEqual(version.runtimeVersion, '');
      assert.match(version.runtimeApiVersion, /^v1/);
    },
  ],
  [
    'the runtime and its network are ready',
    async (scene) => {
      const { status } = await scene.cri.status({});
      for (const type of ['RuntimeReady', 'NetworkReady']) {
        const condition = status?.conditions.find((candidate) => candidate.type === type);
        assert.equal(condition?.status, true, `${type}: ${condition?.message}`);
      }
    },
  ],
  [
    'a verbose runtime status contains JSON',
    async (scene) => {
      const { info } = await scene.cri.status({ verbose: true });
      const config: unknown = JSON.parse(info.config ?? '');
      assert.equal(typeof config, 'object');
    },
  ],
  [
    'Status lists the runtime handlers including the default handler',
    async (scene) => {
      const { runtimeHandlers } = await scene.cri.status({});
      if (runtimeHandlers.length === 0) scene.skip('the runtime does not list its handlers');
      assert.ok(runtimeHandlers.some((handler) => handler.name === ''));
    },
  ],
  [
    'RuntimeConfig reports the cgroup driver',
    async (scene) => {
      const { linux } = await scene.supported('RuntimeConfig', () => scene.cri.runtimeConfig({}));
      const driver = linux?.cgroupDriver;
      assert.ok(driver === CgroupDriver.CGROUPFS || driver === CgroupDriver.SYSTEMD);
    },
  ],
  [
    'UpdateRuntimeConfig accepts a pod CIDR and rejects a malformed one',
    async (scene) => {
      await scene.cri.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: '10.200.0.0/24' } } });
      const networkConfig = { podCidr: 'nonsense' };
      await refused(scene.cri.updateRuntimeConfig({ runtimeConfig: { networkConfig } }), { words: /nonsense/ });
    },
  ],
  [
    'a running container has CPU and memory stats',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const containerId = await scene.started(sandbox, ['sleep', '1000'], { labels: { stats: 'yes' } });
      const { stats } = await scene.cri.containerStats({ containerId });
      assert.equal(stats?.attributes?.id, containerId);
      assert.equal(stats?.attributes?.labels.stats, 'yes');
      assert.ok((stats?.cpu?.timestamp ?? 0) > 0);
      assert.notEqual(stats?.cpu?.usageCoreNanoSeconds, null);
      assert.ok((stats?.memory?.workingSetBytes?.value ?? 0) > 0);
    },
  ],
  [
    'stats are filtered by container, sandbox and label, and a stopped container reports no CPU usage',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const running = await scene.started(sandbox, ['sleep', '1000'], { labels: { pick: 'me' } });
      await scene.ran(sandbox, 'exit 0');
      const list = async (filter: Init<ContainerStatsFilter>): Promise<unknown[]> =>
        (await scene.cri.listContainerStats({ filter })).stats
          .filter((stats) => stats.cpu !== null)
          .map((stats) => stats.attributes?.id);
      assert.deepEqual(await list({ podSandboxId: sandbox.id }), [running]);
      assert.deepEqual(await list({ id: running }), [running]);
      assert.deepEqual(await list({ podSandboxId: sandbox.id, labelSelector: { pick: 'me' } }), [running]);
      assert.deepEqual(await list({ podSandboxId: sandbox.id, labelSelector: { pick: 'another' } }), []);
    },
  ],
  [
    'ContainerStats of a container that never existed fails',
    async (scene) => {
      await refused(scene.cri.containerStats({ containerId: 'f'.repeat(64) }), { code: 'NOT_FOUND' });
    },
  ],
  [
    'a sandbox has stats that include its containers',
    async (scene) => {
      const sandbox = await scene.sandbox();
      const containerId = await scene.started(sandbox, ['sleep', '1000']);
      const { stats } = await scene.supported('PodSandboxStats', () =>
        scene.cri.podSandboxStats({ podSandboxId: sandbox.id }),
      );
      assert.equal(stats?.attributes?.id, sandbox.id);
      assert.deepEqual(
        stats?.linux?.containers.map((container) => container.attributes?.id),
        [containerId],
      );
      assert.equal(stats?.linux?.network?.defaultInterface?.name, 'eth0');
      const listed = await scene.cri.listPodSandboxStats({ filter: { id: sandbox.id } });
      assert.deepEqual(
        listed.stats.map((item) => item.attributes?.id),
        [sandbox.id],
      );
    },
  ],
  [
    'the streaming stats lists contain the same items as the lists',
    async (scene) => {
      const sandbox = await scene.sandbox();
      const containerId = await scene.started(sandbox, ['sleep', '1000']);
      const ofContainers = await scene.collected('StreamContainerStats', () =>
        scene.cri.streamContainerStats({ filter: { id: containerId } }),
      );
      assert.deepEqual(
        ofContainers.flatMap((message) => message.containerStats.map((stats) => stats.attributes?.id)),
        [containerId],
      );
      const ofSandboxes = await scene.collected('StreamPodSandboxStats', () =>
        scene.cri.streamPodSandboxStats({ filter: { id: sandbox.id } }),
      );
      assert.deepEqual(
        ofSandboxes.flatMap((message) => message.podSandboxStats.map((stats) => stats.attributes?.id)),
        [sandbox.id],
      );
    },
  ],
  [
    'metrics have descriptors, and values for running containers with the same number of labels',
    async (scene) => {
      const sandbox = await scene.sandbox();
      const containerId = await scene.started(sandbox, ['sleep', '1000']);
      const { descriptors } = await scene.supported('ListMetricDescriptors', () => scene.cri.listMetricDescriptors({}));
      const descriptor = descriptors.find((candidate) => candidate.name === 'container_memory_working_set_bytes');
      assert.ok(descriptor, 'container_memory_working_set_bytes is described');
      const { podMetrics } = await scene.supported('ListPodSandboxMetrics', () => scene.cri.listPodSandboxMetrics({}));
      const pod = podMetrics.find((candidate) => candidate.podSandboxId === sandbox.id);
      const container = pod?.containerMetrics.find((candidate) => candidate.containerId === containerId);
      const metric = container?.metrics.find((candidate) => candidate.name === descriptor.name);
      assert.equal(metric?.labelValues.length, descriptor.labelKeys.length);
    },
  ],
  [
    'the streaming list of metrics contains the same metrics as the list',
    async (scene) => {
      const sandbox = await scene.sandbox();
      const messages = await scene.collected('StreamPodSandboxMetrics', () => scene.cri.streamPodSandboxMetrics({}));
      const ids = messages.flatMap((message) => message.podSandboxMetrics.map((metrics) => metrics.podSandboxId));
      assert.ok(ids.includes(sandbox.id));
    },
  ],
  [
    'the resources of a running container can be updated, and its status reports them',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const containerId = await scene.started(sandbox, ['sleep', '1000']);
      const linux = { cpuPeriod: 100_000, cpuQuota: 20_000, cpuShares: 204, memoryLimitInBytes: 64 * 1024 * 1024 };
      await scene.cri.updateContainerResources({ containerId, linux });
      const { resources } = await scene.status(containerId);
      if (resources === null) return scene.skip('the runtime does not report resources in the container status');
      assert.equal(resources.linux?.cpuQuota, 20_000);
      assert.equal(resources.linux?.cpuShares, 204);
      assert.equal(resources.linux?.memoryLimitInBytes, 64 * 1024 * 1024);
    },
  ],
  [
    'a resource update keeps the fields that it does not set',
    async (scene) => {
      const resources = { cpuPeriod: 100_000, cpuQuota: 50_000, memoryLimitInBytes: 96 * 1024 * 1024 };
      const containerId = await scene.started(await scene.hostSandbox(), ['sleep', '1000'], { linux: { resources } });
      await scene.cri.updateContainerResources({ containerId, linux: { cpuQuota: 30_000 } });
      const status = await scene.status(containerId);
      if (status.resources === null) return scene.skip('the runtime does not report resources in the container status');
      assert.equal(status.resources.linux?.cpuQuota, 30_000);
      assert.equal(status.resources.linux?.memoryLimitInBytes, 96 * 1024 * 1024);
    },
  ],
  [
    'updating the resources of a container that never existed fails',
    async (scene) => {
      const linux = { cpuShares: 100 };
      await refused(scene.cri.updateContainerResources({ containerId: 'f'.repeat(64), linux }), { code: 'NOT_FOUND' });
    },
  ],
];
