import { FakeClock } from '@node-agent/async/testing';
import {
  defaultConfiguration,
  type KubeletConfiguration,
  type KubeletFlags,
  parseCommandLine,
  resolveFeatureGates,
} from '@node-agent/config';
import { systemError } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { parseReservations } from '@node-agent/node-status';
import { formatResourceList, parseResourceList } from '@node-agent/pod-spec';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, test } from 'vitest';
import { enforcedResources, reservedGroups } from '../src/configuration/enforced-resources.ts';
import { allocatableOf, expectCpus, readNodeResources } from '../src/configuration/node-resources.ts';
import { assemblySettings, heartbeatTimeoutMs, requestRate } from '../src/configuration/settings.ts';
import { shownConfiguration } from '../src/configuration/shown-configuration.ts';
import { adjustKernel } from '../src/node/kernel-settings.ts';
import type { Machine } from '../src/node/machine.ts';
import { nodeIdentity } from '../src/node/node-identity.ts';
import { withImageService } from '../src/node/runtime-services.ts';
import { endingLogger, isCausedByClosing } from '../src/process/ending-logger.ts';

describe('the node’s identity', () => {
  const machine = { hostname: ' Host-1 ', ips: ['192.0.2.1', '192.0.2.2', '2001:db8::1'] };
  const flags = (overrides: object) => ({ hostnameOverride: '', nodeIp: '', ...overrides });

  test.each([
    [{}, 'host-1', ['192.0.2.1']],
    [{ hostnameOverride: 'Other' }, 'other', ['192.0.2.1']],
    [{ nodeIp: '198.51.100.7' }, 'host-1', ['198.51.100.7']],
    [{ nodeIp: '198.51.100.7, 2001:db8::7' }, 'host-1', ['198.51.100.7', '2001:db8::7']],
    [{ nodeIp: '2001:db8::7,198.51.100.7' }, 'host-1', ['2001:db8::7', '198.51.100.7'], 6],
    [{ nodeIp: '::' }, 'host-1', ['2001:db8::1'], 6],
    [{ nodeIp: '0.0.0.0' }, 'host-1', ['192.0.2.1']],
  ] as const)(
    'the options %j result in the node name %s and the IPs %j',
    (given, nodeName, nodeIps, podIpFamily: 4 | 6 = 4) => {
      expect(nodeIdentity(flags(given), machine)).toEqual({ nodeName, nodeIps, podIpFamily, invalidNodeIps: [] });
    },
  );

  test("a machine with only IPv6 addresses does not put IPv6 first in its pods' IPs", () => {
    expect(nodeIdentity(flags({}), { ...machine, ips: ['2001:db8::1'] })).toMatchObject({
      nodeIps: ['2001:db8::1'],
      podIpFamily: 4,
    });
  });

  test.each([
    ['here', ['192.0.2.1'], ['here']],
    ['198.51.100.7,', ['198.51.100.7'], ['']],
    ['fe80::1%eth0, 198.51.100.7, ', ['198.51.100.7'], ['fe80::1%eth0', '']],
    ['198.51.100.007', ['198.51.100.7'], []],
  ])('--node-ip=%s: entries that are not IP addresses are ignored', (nodeIp, nodeIps, invalidNodeIps) => {
    expect(nodeIdentity(flags({ nodeIp }), machine)).toEqual({
      nodeName: 'host-1',
      nodeIps,
      podIpFamily: 4,
      invalidNodeIps,
    });
  });

  test.each([
    [{ nodeIp: '192.0.2.1,192.0.2.2' }, 'bad --node-ip "192.0.2.1,192.0.2.2": must contain either a single IP or'],
    [{ nodeIp: '0.0.0.0,::' }, "dual-stack node IP cannot include '0.0.0.0' or '::'"],
    [{ hostnameOverride: '  ' }, '--hostname-override: empty hostname is invalid'],
  ])('rejects the node name options %j', (given, message) => {
    expect(() => nodeIdentity(flags(given), machine)).toThrow(message);
  });
});

describe('logging during shutdown', () => {
  const aborted = Object.assign(new Error('get /api/v1/nodes/a: aborted'), { code: 'Aborted' });
  const closed = Object.assign(new Error('the client is closed'), { code: 'CANCELLED' });
  const refused = Object.assign(new Error('connection refused'), { code: 'ConnectionFailed' });

  test.each([
    [aborted, true],
    [closed, true],
    [Object.assign(new Error('the connections were closed'), { code: 'ConnectionReplaced' }), true],
    [Object.assign(new Error('stop'), { name: 'AbortError' }), true],
    [new Error('cannot sync', { cause: closed }), true],
    [new AggregateError([aborted, new Error('kill', { cause: closed })], 'two failed'), true],
    [new AggregateError([aborted, refused], 'two failed'), false],
    [new AggregateError([], 'none'), false],
    [refused, false],
    ['text', false],
  ])('the error %s counts as a result of closing a client at shutdown: %s', (error, expected) => {
    expect(isCausedByClosing(error)).toBe(expected);
  });

  test('during shutdown, only errors of closed clients are logged at debug level', () => {
    const { logger, lines } = captureLogger();
    const end = new AbortController();
    const log = endingLogger(logger, end.signal).child({ component: 'pleg' });
    const levels = (): readonly string[] => lines.splice(0).map(({ level, fields }) => `${level} ${fields.component}`);
    log.error({ err: closed }, 'Unable to read the status of a pod');
    expect(levels()).toEqual(['error pleg']);
    end.abort();
    log.error({ err: closed }, 'Unable to read the status of a pod');
    log.warn({ err: aborted }, 'The collection cannot be followed');
    log.error({ err: refused }, 'Failed');
    log.warn({}, 'Odd');
    log.info({ err: closed }, 'Told');
    expect(levels()).toEqual(['debug pleg', 'debug pleg', 'error pleg', 'warn pleg', 'info pleg']);
  });
});

describe("the node's allocatable resources", () => {
  const machine = {
    machineId: '',
    systemUuid: '',
    bootId: '',
    kernelVersion: '',
    osImage: '',
    cpuCount: 4,
    memoryBytes: 2 ** 30,
    swapBytes: 0,
    hugePages: [],
  };
  const allocatable = (changes: Partial<KubeletConfiguration>, kubeReserved: Record<string, string> = {}) =>
    allocatableOf(
      { ...defaultConfiguration(), ...changes },
      parseReservations({ kubeReserved, systemReserved: {}, evictionHard: {} }),
      { machine, ephemeralStorageBytes: 2 ** 33 },
    );

  test('without reservations, the allocatable resources are the full capacity and maxPods', () => {
    expect(allocatable({})).toEqual({ cpu: '4', memory: '1Gi', pods: '110', 'ephemeral-storage': '8Gi' });
  });

  test('the allocatable resources are the capacity minus the reservations', () => {
    expect(allocatable({}, { cpu: '500m', memory: '256Mi' })).toMatchObject({ cpu: '3500m', memory: '768Mi' });
  });

  test.each([
    [110, 1, '4'],
    [2, 10, '2'],
    [7, 0, '7'],
  ])('maxPods %d and podsPerCore %d allow %s pods', (maxPods, podsPerCore, pods) => {
    expect(allocatable({ maxPods, podsPerCore })).toMatchObject({ pods });
  });

  test('computing the allocatable resources fails if a reservation exceeds the capacity', () => {
    expect(() => allocatable({}, { memory: '2Gi' })).toThrow('invalid Node Allocatable configuration.');
    const tooMuch = { 'ephemeral-storage': '9Gi' };
    expect(() => allocatable({}, tooMuch)).toThrow(
      'Resource "ephemeral-storage" has a reservation of 9Gi but capacity of 8Gi. Expected capacity >= reservation.',
    );
    // Without local storage isolation, ephemeral storage is neither counted nor reserved.
    expect(allocatable({ localStorageCapacityIsolation: false }, tooMuch)).not.toHaveProperty('ephemeral-storage');
  });
});

describe('reservations that the machine must be able to satisfy', () => {
  test.each([
    ['', '0-3'],
    ['0,2-3', '0-3\n'],
    ['2-3,2', '0-1,2-3'],
  ])('accepts reserved CPUs %j with online CPUs %j', (reserved, online) => {
    expect(() => expectCpus(reserved, online)).not.toThrow();
  });

  test("the kubelet fails to start if reserved CPUs are not online or reserved PIDs exceed the machine's capacity", async () => {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    for (const [path, text] of [
      ['/proc/meminfo', 'MemTotal: 1048576 kB\n'],
      ['/sys/devices/system/cpu/online', '0-3\n'],
      ['/proc/sys/kernel/pid_max', '4194304\n'],
      ['/proc/sys/kernel/threads-max', '1000\n'],
    ] as const) {
      await fs.mkdir(path.slice(0, path.lastIndexOf('/')));
      await fs.writeFile(path, text);
    }
    const read = (changes: Partial<KubeletConfiguration>) =>
      readNodeResources(
        { ...defaultConfiguration(), evictionHard: {}, localStorageCapacityIsolation: false, ...changes },
        { rootDir: '/', experimentalAllocatableIgnoreEviction: false } as KubeletFlags,
        fs,
      );
    const { unreserved } = await read({ reservedSystemCPUs: '0-1', kubeReserved: { pid: '1000' } });
    expect(formatResourceList(unreserved)).toMatchObject({ cpu: '2', pid: '0' });
    await expect(read({ reservedSystemCPUs: '2-4' })).rejects.toThrow(
      'reserved-cpus: 2-4 is not a subset of online-cpus: 0-3',
    );
    await expect(read({ kubeReserved: { pid: '1001' } })).rejects.toThrow(
      'invalid Node Allocatable configuration. Resource "pid" has a reservation of 1001 but capacity of 1k. ' +
        'Expected capacity >= reservation.',
    );
  });
});

describe('the limits of all pods together', () => {
  const capacity = parseResourceList({ cpu: '4', memory: '4Gi' });
  const reservations = { reserved: parseResourceList({ cpu: '1', memory: '1Gi' }) };
  test.each([
    [['pods'], { cpu: '3', memory: '3Gi' }],
    [[], { cpu: '4', memory: '4Gi' }],
    [['none'], { cpu: '4', memory: '4Gi' }],
  ])('limits of all pods together with enforceNodeAllocatable %j: %j', (levels, expected) => {
    expect(formatResourceList(enforcedResources(capacity, reservations, levels))).toEqual(expected);
  });
});

describe("the settings of the kubelet's parts", () => {
  const machine: Machine = {
    hostname: 'n',
    kernelRelease: '6.1.0',
    appArmor: false,
    selinux: false,
    cgroupVersion: 2,
    cpus: 4,
    onlineCpus: '0-3',
    swapOn: false,
    memoryCapacityBytes: 1024,
    swapCapacityBytes: 0,
    swapControllerAvailable: false,
    pageSizeBytes: 16_384,
    hugePageSizes: ['2MB'],
    extraMaskedPaths: [],
    ips: [],
  };
  const make = (podLogsDir: string, more: Partial<KubeletConfiguration> = {}, gates: Record<string, boolean> = {}) =>
    assemblySettings({
      configuration: { ...defaultConfiguration(), podLogsDir, ...more },
      flags: parseCommandLine(['--root-dir=/r']).flags,
      featureGates: resolveFeatureGates({ QOSReserved: true, MemoryQoS: true, ...gates }).gates,
      machine,
      identity: { nodeName: 'n', nodeIps: [], podIpFamily: 6, invalidNodeIps: [] },
      resources: {
        allocatable: { pods: '110' },
        enforced: parseResourceList({ cpu: '4', memory: '1Ki', pid: '99' }),
        unreserved: parseResourceList({ memory: '3Ki' }),
      },
      sources: [],
      servers: {},
      userNamespaces: { unavailable: 'the kernel has none' },
      resourceManagers: {},
    });

  test('the memory for containers without a limit is not reduced by eviction thresholds', () => {
    expect(make('/var/log/pods').node.resources.memoryQos).toMatchObject({ allocatableMemoryBytes: 3 * 1024 });
  });

  test('an empty cgroup driver means cgroupfs, as in upstream', () => {
    const nothing = '' as 'cgroupfs';
    expect(make('/var/log/pods', { cgroupDriver: nothing }).cgroups?.driver).toBe('cgroupfs');
    expect(make('/var/log/pods', { cgroupDriver: 'systemd' }).cgroups?.driver).toBe('systemd');
  });

  test('static CPU and memory policies forbid resizes of Guaranteed pods, unless a feature gate allows the resizes', () => {
    const policies = { cpuManagerPolicy: 'static', memoryManagerPolicy: 'Static' } as const;
    const gates = { InPlacePodVerticalScalingExclusiveCPUs: true };
    expect(make('/var/log/pods').resize).toMatchObject({ staticCpus: false, staticMemory: false });
    expect(make('/var/log/pods', policies, gates).resize).toMatchObject({
      staticCpus: true,
      staticMemory: true,
      exclusiveCpus: true,
      exclusiveMemory: false,
    });
  });

  test("the settings of the kubelet's parts contain the values of flags", () => {
    expect(make('/var/log/pods').node.podIpFamily).toBe(6);
  });

  test("the settings of the kubelet's parts contain the values of the configuration", () => {
    expect(make('/var/log/pods')).toMatchObject({
      rootDirectory: '/r',
      containerLogsDirectory: '/var/log/containers',
      node: {
        podLogsDirectory: '/var/log/pods',
        seccompProfileRoot: '/r/seccomp',
        resources: { cpuCfsQuotaPeriodUs: 100_000 },
      },
      syncFrequencyMs: 60_000,
      admission: { sysctls: { allowedUnsafe: [], kernelRelease: '6.1.0' }, appArmor: false },
      backOff: { initialMs: 10_000, maxMs: 300_000 },
      logs: { maxSizeBytes: 10 * 2 ** 20, maxFiles: 5 },
      containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
      startConcurrency: 8,
      cgroups: {
        driver: 'cgroupfs',
        cgroupRoot: '/',
        limits: { cpuShares: 4096, memoryBytes: 1024, pidsLimit: 99 },
        podPidsLimit: -1,
        cpuCfsQuota: true,
        cpuCfsQuotaPeriodUs: 100_000,
      },
    });
  });

  test("memory.high is a multiple of the machine's page size", () => {
    expect(make('/l').node.resources).toMatchObject({ memoryQos: { pageSizeBytes: 16_384 } });
  });

  test('QoS reservations are a percentage of the unreserved memory, and absent by default', () => {
    expect(make('/l', { qosReserved: { memory: '40%' } }).cgroups?.qosReserved).toEqual({
      memoryPercent: 40,
      allocatableBytes: 3072n,
    });
    expect(make('/l').cgroups?.qosReserved).toBeUndefined();
  });

  test('the grace periods of a graceful node shutdown depend on feature gates', () => {
    const all = [{ priority: 5, shutdownGracePeriodSeconds: 3 }];
    expect(make('/l').shutdown).toEqual({ gracePeriods: [], keepTimes: true });
    expect(make('/l', { shutdownGracePeriodByPodPriority: all }).shutdown?.gracePeriods).toEqual(all);
    const plain = { shutdownGracePeriodMs: 30_000, shutdownGracePeriodCriticalPodsMs: 10_000 };
    const byPriority = { GracefulNodeShutdownBasedOnPodPriority: false };
    expect(make('/l', plain, byPriority).shutdown).toEqual({
      gracePeriods: [
        { priority: 0, shutdownGracePeriodSeconds: 20 },
        { priority: 2_000_000_000, shutdownGracePeriodSeconds: 10 },
      ],
      keepTimes: false,
    });
    const none = { ...byPriority, WindowsGracefulNodeShutdown: false, GracefulNodeShutdown: false };
    expect(make('/l', {}, none).shutdown).toBeUndefined();
  });

  test.each([
    [10 * 2 ** 20, 10 * 2 ** 20],
    [-1, -1],
    [2 ** 60, Number.MAX_SAFE_INTEGER],
  ])('containerLogMaxSize has no upper limit: %d bytes', (containerLogMaxSizeBytes, maxSizeBytes) => {
    expect(make('/l', { containerLogMaxSizeBytes }).logs?.maxSizeBytes).toBe(maxSizeBytes);
  });

  test('a kubelet with its own podLogsDir does not write to /var/log/containers', () => {
    expect(make('/srv/n2/pods').containerLogsDirectory).toBe('/srv/n2/containers');
  });
});

test('sends image requests to the image endpoint and all other requests to the runtime', async () => {
  const answers = (name: string) => ({
    name,
    listImages() {
      return `images of ${this.name}`;
    },
    listContainers() {
      return `containers of ${this.name}`;
    },
  });
  const runtime = answers('runtime') as unknown as Parameters<typeof withImageService>[0];
  const images = answers('images') as unknown as Parameters<typeof withImageService>[1];
  const both = withImageService(runtime, images);
  expect(both.listImages({})).toBe('images of images');
  expect(both.listContainers({})).toBe('containers of runtime');
  expect(withImageService(runtime, runtime)).toBe(runtime);
});

describe('cgroups of system and Kubernetes daemons', () => {
  const configuration = {
    ...defaultConfiguration(),
    systemReserved: { cpu: '500m', memory: '1Gi' },
    systemReservedCgroup: '/system.slice',
    kubeReservedCgroup: '/kube.slice',
  };
  const cpus = { cpus: '0-3' };
  test.each([
    [['pods'], []],
    [
      ['system-reserved'],
      [
        [
          'system-reserved',
          '/system.slice',
          { cpuShares: 512, memoryBytes: 2 ** 30, hugePageLimits: new Map(), ...cpus },
        ],
      ],
    ],
    [
      ['system-reserved-compressible'],
      [['system-reserved-compressible', '/system.slice', { cpuShares: 512, ...cpus }]],
    ],
    [['pods', 'kube-reserved'], [['kube-reserved', '/kube.slice', undefined]]],
  ])(
    'cgroups of system and Kubernetes daemons are limited for enforceNodeAllocatable %j',
    (enforceNodeAllocatable, expected) => {
      const groups = reservedGroups({ ...configuration, enforceNodeAllocatable }, { cpus, memoryQos: false });
      expect(groups.map(({ level, cgroup, limits }) => [level, cgroup, limits])).toEqual(expected);
    },
  );

  test('MemoryQoS sets memory.min for the level system-reserved, but not for system-reserved-compressible', () => {
    const limitsOf = (level: string) =>
      reservedGroups({ ...configuration, enforceNodeAllocatable: [level] }, { cpus, memoryQos: true })[0]?.limits;
    expect(limitsOf('system-reserved')?.unified).toEqual({ 'memory.min': String(2 ** 30) });
    expect(limitsOf('system-reserved-compressible')?.unified).toBeUndefined();
  });
});

test('W4: /configz serves the cgroup driver of the runtime instead of the configured one, and no secrets', () => {
  const configuration = defaultConfiguration({ staticPodURLHeader: { Authorization: ['Bearer x'] } });
  expect(shownConfiguration(configuration, undefined)).toMatchObject({ cgroupDriver: 'cgroupfs' });
  const shown = shownConfiguration(configuration, 'systemd');
  expect(shown).toMatchObject({ cgroupDriver: 'systemd', kind: 'KubeletConfiguration', maxPods: 110 });
  expect(JSON.stringify(shown)).not.toContain('Bearer');
});

describe("the kernel's settings", () => {
  const settings = async (values: Record<string, string>) => {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    const all = {
      'vm/overcommit_memory': '1',
      'vm/panic_on_oom': '0',
      'kernel/panic': '10',
      'kernel/panic_on_oops': '1',
    };
    const keys = { 'kernel/keys/root_maxkeys': '1000000', 'kernel/keys/root_maxbytes': '25000000' };
    for (const [name, value] of Object.entries({ ...all, ...keys, ...values })) {
      await fs.mkdir(`/proc/sys/${name.slice(0, name.lastIndexOf('/'))}`);
      await fs.writeFile(`/proc/sys/${name}`, `${value}\n`);
    }
    return fs;
  };
  const read = async (fs: MemoryFileSystem, name: string) =>
    new TextDecoder().decode(await fs.readFile(`/proc/sys/${name}`)).trim();

  test('kernel settings are set to the required values', async () => {
    const fs = await settings({ 'vm/overcommit_memory': '0' });
    await adjustKernel(fs, false, captureLogger().logger);
    expect(await read(fs, 'vm/overcommit_memory')).toBe('1');
  });

  test('wrong kernel settings are reported and not changed with protectKernelDefaults', async () => {
    const fs = await settings({ 'vm/overcommit_memory': '0', 'kernel/panic': '0' });
    await expect(adjustKernel(fs, true, captureLogger().logger)).rejects.toThrow(
      '[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]',
    );
    expect(await read(fs, 'vm/overcommit_memory')).toBe('0');
    await adjustKernel(await settings({}), true, captureLogger().logger);
  });

  test('kernel settings that cannot be changed are logged in one line, and the others are changed', async () => {
    const fs = await settings({ 'vm/overcommit_memory': '0', 'kernel/panic': '0', 'kernel/keys/root_maxkeys': '1' });
    const writeFile: MemoryFileSystem['writeFile'] = async (path, data) => {
      if (/overcommit_memory|maxkeys/.test(path)) throw systemError('EROFS', 'open', path);
      await fs.writeFile(path, data);
    };
    const { logger, lines } = captureLogger();
    await adjustKernel({ readFile: (path) => fs.readFile(path), writeFile }, false, logger);
    expect(lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields.settings)).toEqual([
      ['vm/overcommit_memory=1', 'kernel/keys/root_maxkeys=1000000'],
    ]);
    expect(await read(fs, 'kernel/panic')).toBe('10');
  });
});

test.each([
  [{}, 10_000],
  [{ nodeStatusUpdateFrequencyMs: 60_000 }, 40_000],
  [{ nodeStatusUpdateFrequencyMs: 60_000, nodeLeaseDurationSeconds: 5 }, 5_000],
])('N6: the heartbeat timeout is at most the lease duration: with %j it is %d ms', (settings, timeoutMs) => {
  expect(heartbeatTimeoutMs(defaultConfiguration(settings))).toBe(timeoutMs);
});

test.each([
  [{}, { qps: 50, burst: 100 }],
  [
    { kubeAPIQPS: 7, kubeAPIBurst: 9 },
    { qps: 7, burst: 9 },
  ],
  [{ kubeAPIQPS: 0 }, { qps: 5, burst: 100 }],
])('requests to the API server are rate-limited with the settings %j: %j', (settings, rate) => {
  expect(requestRate(defaultConfiguration(settings))).toEqual(rate);
});
