// From packages/runtime/README.md, which explains the program.
import { busyboxImage, FakeRuntime } from '@node-agent/fake-cri';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { noHooks, PodRuntime } from '@node-agent/runtime';

const fs = new MemoryFileSystem();
const runtime = new PodRuntime(
  {
    fs,
    cri: new FakeRuntime({ fs }, { images: [busyboxImage()] }), // a CriClient on a real node
    recorder: { event: (_object, _type, reason, message) => console.log(`${reason}: ${message}`) },
    images: { ensureImageExists: async (_pod, container) => ({ imageRef: container.image ?? '' }) },
    network: {
      podDns: async () => ({ servers: [], searches: [], options: [] }),
      hostname: (pod) => ({ hostname: pod.metadata.name, domain: '' }),
    },
    mounts: { containerMounts: async () => [] },
    probes: { liveness: () => undefined, startup: () => undefined },
    hooks: noHooks,
  },
  {
    rootDirectory: '/var/lib/kubelet',
    node: {
      podLogsDirectory: '/var/log/pods',
      seccompProfileRoot: '/var/lib/kubelet/seccomp',
      seccompDefault: false,
      extraMaskedPaths: [],
      containerStopSignals: false,
      resources: {
        cgroupVersion: 2,
        cpuCfsQuota: true,
        cpuCfsQuotaPeriodUs: 100_000,
        memoryCapacityBytes: 2 ** 33,
        swapCapacityBytes: 0,
        swapControllerAvailable: false,
        swapBehavior: 'NoSwap',
        hugePageSizes: [],
        singleProcessOomKill: false,
      },
    },
  },
);

const pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
  spec: { containers: [{ name: 'app', image: 'busybox', command: ['sleep', '60'] }] },
};
const { signal } = new AbortController();
const { results } = await runtime.syncPod(pod, await runtime.getPodStatus('uid-1', 'web', 'default'), signal);
console.log(results);
const [running] = await runtime.getPods();
if (running) await runtime.killPod(pod, running, 1, signal);
console.log((await runtime.getPodStatus('uid-1', 'web', 'default')).containers);
