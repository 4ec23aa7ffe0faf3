// From packages/kubelet-assembly/README.md, which explains the program.
import { systemClock as clock, systemRandom as random } from '@node-agent/async';
import { busyboxImage, FakeRuntime } from '@node-agent/fake-cri';
import { MemoryFileSystem, memoryForeignFiles } from '@node-agent/host/testing';
import { assembleKubelet } from '@node-agent/kubelet-assembly';
import { noMetrics, silentLogger } from '@node-agent/telemetry';

const container = { name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent', command: ['sleep', '1'] };
const pod = { metadata: { name: 'web', namespace: 'default', uid: '1' }, spec: { dnsPolicy: 'Default', containers: [container] } };
const controller = new AbortController();
const fs = new MemoryFileSystem();
const { kubelet } = assembleKubelet(
  {
    ...{ clock, random, fs, logger: silentLogger, metrics: noMetrics },
    foreignFiles: memoryForeignFiles({ clock, fs }), // nodeForeignFiles({ clock }) on a real node
    cri: new FakeRuntime({ fs }, { images: [busyboxImage('busybox')] }), // a CriClient on a real node
    mounter: {
      mountPoints: async () => new Map(),
      mountsOfSame: async () => [],
      ...{ mount: async () => {}, bind: async () => {}, rebind: async () => {}, unmount: async () => {} },
    },
    recorder: {
      event: (object, type, reason, message) => {
        console.log(`${object.kind} ${object.name}: ${type} ${reason}: ${message}`);
        if (reason === 'Started') controller.abort();
      },
    },
  },
  {
    ...{ configuration: {}, servers: {}, nodeName: 'example', nodeIps: [] },
    rootDirectory: '/var/lib/kubelet',
    containerLogsDirectory: '/var/log/containers',
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
        memoryCapacityBytes: 2 ** 30,
        swapCapacityBytes: 0,
        swapControllerAvailable: false,
        swapBehavior: 'NoSwap',
        hugePageSizes: [],
        singleProcessOomKill: false,
      },
    },
    sources: [{ name: 'file', make: (set) => ({ start: async () => set([pod]) }) }],
    admitHandlers: [],
    dns: { resolvConfPath: '', clusterDns: [], clusterDomain: '' },
    syncFrequencyMs: 60_000,
    backOff: { initialMs: 10_000, maxMs: 300_000 },
    pulls: { serialize: false, maxParallel: undefined, qps: 5, burst: 10 },
    logs: { maxSizeBytes: -1, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 },
    containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
    startConcurrency: 4,
  },
);
await kubelet.run(controller.signal);
const [running] = await kubelet.getRunningPods();
console.log(`the kubelet has ended; ${running?.name} runs on`);
