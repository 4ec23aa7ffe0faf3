import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { busyboxImage, FakeRuntime } from '@node-agent/fake-cri';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { AdmitHandler } from '@node-agent/kubelet-core';
import { defaultPod, type Pod } from '@node-agent/pod-spec';
import { MemoryEventRecorder, noMetrics, silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { assembleKubelet } from '../src/assemble.ts';
import type { AssemblySettings } from '../src/ports.ts';

function makePod(name: string, spec: Partial<Pod['spec']> = {}): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file' };
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  return defaultPod({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: { containers: [container], terminationGracePeriodSeconds: 1, ...spec },
  });
}

async function makeWorld() {
  const clock = new FakeClock();
  const random = seededRandom(7);
  const fs = new MemoryFileSystem({ clock });
  await fs.mkdir('/etc');
  await fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
  const cri = new FakeRuntime({ clock, random, fs }, { images: [busyboxImage('busybox')] });
  const events = new MemoryEventRecorder(() => clock.now());
  return { clock, random, fs, cri, events };
}

/** A kubelet over the world, with one source that a test speaks for. */
function startKubelet(
  { clock, random, fs, cri, events }: Awaited<ReturnType<typeof makeWorld>>,
  admitHandlers: AssemblySettings['admitHandlers'] = [],
) {
  let set: (pods: readonly Pod[]) => void = () => {};
  const settings: AssemblySettings = {
    configuration: {},
    servers: {},
    nodeName: 'n1',
    nodeIps: ['192.0.2.1'],
    rootDirectory: '/root',
    containerLogsDirectory: '/logs/containers',
    node: {
      podLogsDirectory: '/logs/pods',
      seccompProfileRoot: '/root/seccomp',
      seccompDefault: false,
      extraMaskedPaths: [],
      containerStopSignals: false,
      resources: {
        cgroupVersion: 2,
        cpuCfsQuota: true,
        cpuCfsQuotaPeriodUs: 100_000,
        memoryCapacityBytes: 2 ** 30,
        swapCapacityBytes: 0,
        swapControllerAvailable: false,
        swapBehavior: 'NoSwap',
        hugePageSizes: [],
        singleProcessOomKill: false,
      },
    },
    sources: [
      {
        name: 'file',
        make: (give) => {
          set = give;
          return { start: async () => {} };
        },
      },
    ],
    admitHandlers,
    dns: { resolvConfPath: '', clusterDns: [], clusterDomain: '' },
    syncFrequencyMs: 60_000,
    backOff: { initialMs: 10_000, maxMs: 300_000 },
    pulls: { serialize: false, maxParallel: undefined, qps: 5, burst: 10 },
    logs: { maxSizeBytes: -1, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 },
    containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
    startConcurrency: 4,
  };
  const mounter = { mountPoints: async () => new Map(), mount: async () => {}, unmount: async () => {} };
  const assembled = assembleKubelet(
    { clock, random, fs, cri, mounter, recorder: events, logger: silentLogger, metrics: noMetrics },
    settings,
  );
  const controller = new AbortController();
  const running = assembled.kubelet.run(controller.signal);
  const stop = async (): Promise<void> => {
    controller.abort();
    await clock.advance(0);
    await running;
  };
  return { ...assembled, setPods: (pods: readonly Pod[]) => set(pods), stop };
}

const ids = async (cri: FakeRuntime): Promise<string[]> => {
  const { containers } = await cri.listContainers({});
  return containers.map(({ id }) => id).sort();
};

describe('a kubelet of all real managers', () => {
  test('runs a pod, shows it, and takes it away again with all that it left', async () => {
    const world = await makeWorld();
    const { kubelet, setPods, stop } = startKubelet(world);
    setPods([makePod('web')]);
    await world.clock.advance(10_000);
    const [pod] = kubelet.getPods();
    expect(pod?.status).toMatchObject({ phase: 'Running', hostIP: '192.0.2.1' });
    expect(pod?.status?.containerStatuses?.[0]?.ready).toBe(true);
    expect(kubelet.explain('default', 'web')?.waitingFor).toEqual([]);
    expect((await kubelet.getRunningPods()).map(({ uid }) => uid)).toEqual(['uid-web']);

    setPods([]);
    await world.clock.advance(120_000);
    expect(kubelet.getPods()).toEqual([]);
    expect(await ids(world.cri)).toEqual([]);
    expect(await world.fs.readdir('/root/pods')).toEqual([]);
    await stop();
  });

  test('what it has not got is refused, with a reason that names the field', async () => {
    const world = await makeWorld();
    const { kubelet, setPods, stop } = startKubelet(world);
    const livenessProbe = { exec: { command: ['true'] } };
    const csi = { name: 'data', csi: { driver: 'example.com' } };
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    setPods([
      makePod('probed', { containers: [{ name: 'main', image: 'busybox', livenessProbe }] }),
      makePod('csi', { volumes: [csi], containers: [{ name: 'main', image: 'busybox', volumeMounts }] }),
    ]);
    await world.clock.advance(5000);
    const shown = kubelet.getPods().map(({ status }) => [status?.phase, status?.reason, status?.message]);
    expect(shown).toEqual([
      ['Failed', 'UnsupportedFeature', expect.stringContaining('spec.containers[0].livenessProbe')],
      ['Failed', 'UnsupportedFeature', expect.stringContaining('data')],
    ]);
    expect(await ids(world.cri)).toEqual([]);
    await stop();
  });

  test('K1: the next kubelet takes over what runs, the same containers', async () => {
    const world = await makeWorld();
    const first = startKubelet(world);
    first.setPods([makePod('a'), makePod('b')]);
    await world.clock.advance(10_000);
    const before = await ids(world.cri);
    expect(before).toHaveLength(2);
    await first.stop();

    const second = startKubelet(world);
    second.setPods([makePod('a'), makePod('b')]);
    await world.clock.advance(60_000);
    expect(await ids(world.cri)).toEqual(before);
    expect(second.kubelet.getPods().map(({ status }) => status?.phase)).toEqual(['Running', 'Running']);
    await second.stop();
  });

  test('N1: what ran before a restart stays, though a pod that is new would take its place', async () => {
    const oneOnly: AdmitHandler = {
      admit: (_pod, others) => (others.length === 0 ? { admit: true } : { admit: false, reason: 'Full', message: '' }),
    };
    const world = await makeWorld();
    const first = startKubelet(world, [oneOnly]);
    first.setPods([makePod('old')]);
    await world.clock.advance(10_000);
    const before = await ids(world.cri);
    await first.stop();

    const second = startKubelet(world, [oneOnly]);
    second.setPods([makePod('new'), makePod('old')]);
    await world.clock.advance(60_000);
    const shown = second.kubelet.getPods().map(({ metadata, status }) => `${metadata.name} ${status?.phase}`);
    expect(shown.sort()).toEqual(['new Failed', 'old Running']);
    expect(await ids(world.cri)).toEqual(before);
    await second.stop();
  });

  test('K4: a kubelet that was ended leaves no timer behind', async () => {
    const world = await makeWorld();
    const { setPods, stop } = startKubelet(world);
    setPods([makePod('web')]);
    await world.clock.advance(10_000);
    await stop();
    expect(world.clock.pendingTimers).toBe(0);
  });
});
