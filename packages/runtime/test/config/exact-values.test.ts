import { MountPropagation, Protocol, Signal } from '@node-agent/cri-client';
import type { ContainerPort, Mount } from '@node-agent/pod-spec';
import { describe, expect, it, test } from 'vitest';
import { generateContainerConfig } from '../../src/config/container-config.ts';
import { containerMounts } from '../../src/config/container-mounts.ts';
import { resizedSandboxResources } from '../../src/config/container-resources.ts';
import { type EnvironmentContext, makeEnvironment } from '../../src/config/environment.ts';
import { asInvalidSpec, podFieldValue } from '../../src/config/field-path.ts';
import { cgroupPageSize } from '../../src/config/hugepages.ts';
import { legacyLogLink } from '../../src/config/log-paths.ts';
import { memoryQosFiles } from '../../src/config/memory-qos.ts';
import { imageUser, verifyRunAsNonRoot } from '../../src/config/non-root.ts';
import { oomScoreAdjust } from '../../src/config/oom-score.ts';
import { podPortMappings } from '../../src/config/port-mappings.ts';
import { resourceFieldValue } from '../../src/config/resource-field.ts';
import { generateSandboxConfig } from '../../src/config/sandbox-config.ts';
import { containerSecurityContext } from '../../src/config/security-context.ts';
import { serviceVariables } from '../../src/config/service-variables.ts';
import { stopSignal, stopSignalName } from '../../src/config/stop-signal.ts';
import { swapLimitBytes } from '../../src/config/swap.ts';
import { containerContext, GI, makeContainer, makePod, resourceSettings, sandboxContext } from './fixtures.ts';

describe('CRI config of a container', () => {
  it("a container without declarations has the CRI's zero values", () => {
    const config = generateContainerConfig(makePod(), { name: 'app' }, 'main', 0, containerContext);
    expect(config).toMatchObject({
      image: { image: 'sha256:1234', userSpecifiedImage: '', runtimeHandler: '' },
      ...{ workingDir: '', devices: [], stdin: false, stdinOnce: false, tty: false },
      linux: { securityContext: { privileged: false, readonlyRootfs: false, capabilities: null, runAsGroup: null } },
    });
    const said = { workingDir: '/w', stdin: true, stdinOnce: true, tty: true };
    expect(generateContainerConfig(makePod(), makeContainer(said), 'main', 0, containerContext)).toMatchObject({
      ...{ ...said, image: { userSpecifiedImage: 'busybox' } },
    });
  });

  it("a container has the capabilities that it declares, and its own group takes precedence over the pod's", () => {
    const of = (fields: object, pods: object = {}) =>
      containerSecurityContext(
        makePod({ securityContext: pods }),
        makeContainer({ securityContext: fields }),
        containerContext,
      );
    expect(of({ capabilities: { add: ['NET_ADMIN'] } }).capabilities).toEqual({
      ...{ addCapabilities: ['NET_ADMIN'], dropCapabilities: [] },
    });
    expect(of({ capabilities: { drop: ['ALL'] } }).capabilities).toEqual({
      addCapabilities: [],
      dropCapabilities: ['ALL'],
    });
    expect(of({ runAsGroup: 5 }, { runAsGroup: 6 }).runAsGroup).toEqual({ value: 5 });
    expect(of({}, { runAsGroup: 6 }).runAsGroup).toEqual({ value: 6 });
    expect(of({ seLinuxOptions: {} }).selinuxOptions).toEqual({ user: '', role: '', type: '', level: '' });
  });

  it('paths in /proc and /sys that reveal or change the machine are masked or read-only', () => {
    const { maskedPaths, readonlyPaths } = containerSecurityContext(makePod(), makeContainer(), containerContext);
    expect(maskedPaths).toEqual([
      ...['/proc/asound', '/proc/acpi', '/proc/interrupts', '/proc/kcore', '/proc/keys', '/proc/latency_stats'],
      ...['/proc/timer_list', '/proc/timer_stats', '/proc/sched_debug', '/proc/scsi'],
      ...['/sys/firmware', '/sys/devices/virtual/powercap'],
    ]);
    expect(readonlyPaths).toEqual(['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']);
  });

  it('mounts are ID-mapped like the pod, and relabelled if the node has SELinux', () => {
    const mount = { hostPath: '/h', containerPath: '/c', readOnly: false, recursiveReadOnly: false } as const;
    const mounts: Mount[] = [
      { ...mount, selinuxRelabel: true, propagation: 'None' },
      { ...mount, selinuxRelabel: false, propagation: 'None' },
    ];
    const context = { ...containerContext, mounts, terminationMessageFile: '/t' };
    const container = makeContainer({ terminationMessagePath: '/dev/log' });
    const relabelled = (selinuxEnabled?: boolean) =>
      containerMounts(container, { ...context, ...(selinuxEnabled !== undefined && { selinuxEnabled }) }, null).map(
        ({ selinuxRelabel }) => selinuxRelabel,
      );
    expect([relabelled(), relabelled(false), relabelled(true)]).toEqual([
      [false, false, false],
      [false, false, false],
      [true, false, true],
    ]);
    const ids = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
    const others = [{ ...ids[0], hostId: 131_072 }];
    const mapped = containerMounts(container, context, { uids: ids, gids: others });
    expect(mapped.map(({ uidMappings, gidMappings }) => [uidMappings, gidMappings])).toEqual(
      Array(3).fill([ids, others]),
    );
    expect(containerMounts(container, context, null)[0]).toMatchObject({
      ...{ uidMappings: [], gidMappings: [], propagation: MountPropagation.PROPAGATION_PRIVATE },
    });
  });
});

describe('environment of a container', () => {
  const context: EnvironmentContext = {
    ...{ podIps: [], hostIps: ['192.0.2.1', '2001:db8::1'], nodeAllocatable: {} },
    // Returns a value for an empty object name only.
    objects: (kind, name) => (name === '' ? { key: `${kind} without a name` } : undefined),
  };
  const of = (container: object, pod = makePod()) => makeEnvironment(pod, makeContainer(container), context);

  it('an envFrom source without a name counts as a source with an empty name', () => {
    expect(of({ envFrom: [{ configMapRef: {} }] })).toEqual([{ name: 'key', value: 'configMap without a name' }]);
    expect(of({ envFrom: [{ secretRef: {} }] })).toEqual([{ name: 'key', value: 'secret without a name' }]);
    expect(of({ env: [{ name: 'A', valueFrom: { secretKeyRef: { key: 'key' } } }] })).toEqual([
      { name: 'A', value: 'secret without a name' },
    ]);
  });

  it('the environment omits optional sources that are missing, and variables that a file does not have', () => {
    const optional = { configMapKeyRef: { name: 'none', key: 'k', optional: true } };
    const file = { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k', optional: true } };
    expect(of({ env: [{ name: 'A', valueFrom: optional }, { name: 'B', valueFrom: file }, { name: 'C' }] })).toEqual([
      { name: 'C', value: '' },
    ]);
    expect(of({ env: [{ name: 'A', valueFrom: {} }] })).toEqual([{ name: 'A', value: '' }]);
  });

  test.each([
    ['spec.nodeName', ''],
    ['spec.host', ''],
    ['spec.serviceAccountName', ''],
    ['status.podIP', ''],
    ['status.podIPs', ''],
    ['status.hostIP', '192.0.2.1'],
    ['status.hostIPs', '192.0.2.1,2001:db8::1'],
  ])('in a pod without values, fieldRef %s is %j', (fieldPath, value) => {
    expect(podFieldValue(makePod(), fieldPath, context)).toBe(value);
  });

  test.each(['spec.restartPolicy', 'spec.schedulerName', 'status.phase'])(
    'refuses a variable with fieldRef %s',
    (fieldPath) => {
      expect(() => podFieldValue(makePod(), fieldPath, context)).toThrow(`unsupported fieldPath: ${fieldPath}`);
    },
  );

  it('an invalid fieldRef is reported as InvalidSpec, and asInvalidSpec passes other errors on unchanged', () => {
    expect(() => podFieldValue(makePod(), 'metadata.none', context)).toThrow(
      expect.objectContaining({ code: 'InvalidSpec', message: expect.stringMatching(/^unsupported fieldPath: /) }),
    );
    const other = new Error('other');
    const thrown = (): never => {
      throw other;
    };
    expect(() => asInvalidSpec(thrown)).toThrow(other);
  });

  test.each([
    ['limits.memory', '2'],
    ['limits.cpu', '3'],
  ])('resourceFieldRef %s shows the pod-level limit %s if the container has none', (resource, value) => {
    const limits = { memory: '2', cpu: '3' };
    const allocatable = { memory: '9', cpu: '9' };
    const pod = makePod({ resources: { limits } });
    expect(resourceFieldValue(pod, makeContainer(), { resource }, allocatable)).toBe(value);
  });

  it('service variables are named after the services, each once', () => {
    const service = (name: string | undefined, clusterIP?: string) => ({
      metadata: { namespace: 'ns', ...(name !== undefined && { name }) },
      spec: { ...(clusterIP !== undefined && { clusterIP }) },
    });
    const services = [service('c', '3'), service('a', '1'), service('b', '2'), service('x'), service('d', 'None')];
    expect(serviceVariables([...services, { metadata: { namespace: 'ns', name: 'e' } }], 'ns', true)).toEqual([
      { name: 'A_SERVICE_HOST', value: '1' },
      { name: 'B_SERVICE_HOST', value: '2' },
      { name: 'C_SERVICE_HOST', value: '3' },
    ]);
    expect(serviceVariables([{ metadata: { name: 'a' }, spec: { clusterIP: '1' } }], '', true)).toHaveLength(1);
    expect(serviceVariables([service(undefined, '1')], 'ns', true)).toEqual([{ name: '_SERVICE_HOST', value: '1' }]);
  });
});

describe('numbers in the CRI config', () => {
  test.each<[bigint, string | undefined]>([
    [1n, '1B'],
    [1023n, '1023B'],
    [1024n, '1KB'],
    [1025n, undefined],
    [2n ** 21n, '2MB'],
    [2n ** 30n, '1GB'],
    [2n ** 40n, '1TB'],
    [1025n * 2n ** 40n, undefined],
    [2n ** 50n, '1PB'],
    [2n ** 60n, '1024PB'],
    [2n ** 61n, '2048PB'],
  ])('a huge page of %d bytes has the name %s', (bytes, size) => {
    expect(cgroupPageSize(bytes)).toBe(size);
  });

  test.each<[object | undefined, object, object]>([
    [undefined, {}, { cpuPeriod: 0, cpuQuota: 0, memoryLimitInBytes: 0 }],
    [
      undefined,
      { cpuShares: 85, cpuQuotaUs: -1, cpuPeriodUs: 100_000, memoryBytes: -1 },
      { cpuShares: 85, cpuQuota: -1, cpuPeriod: 100_000, memoryLimitInBytes: -1 },
    ],
    [
      { cpu: '250m', memory: '100' },
      { cpuShares: 1024, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 300 },
      { cpuShares: 768, cpuQuota: 25_000, cpuPeriod: 100_000, memoryLimitInBytes: 200 },
    ],
    [
      { memory: '100' },
      { cpuShares: 1025, cpuQuotaUs: 1, cpuPeriodUs: 100_000, memoryBytes: 101 },
      { cpuShares: 1025, cpuQuota: 1, cpuPeriod: 100_000, memoryLimitInBytes: 1 },
    ],
    [
      { cpu: '1m', memory: '1' },
      { cpuShares: 1024, cpuQuotaUs: 0, cpuPeriodUs: 100_000, memoryBytes: 1 },
      { cpuShares: 1022, cpuQuota: 0, cpuPeriod: 100_000, memoryLimitInBytes: 0 },
    ],
  ])(
    'a resize of a pod with the overhead %j and the cgroup values %j gives its sandbox the resources %j',
    (overhead, group, resources) => {
      const pod = makePod({ ...(overhead !== undefined && { overhead: overhead as Record<string, string> }) });
      expect(resizedSandboxResources(pod, group, resourceSettings).resources).toEqual(resources);
    },
  );

  it('oomScoreAdjust divides the memory that a pod requests beyond its containers equally among the containers', () => {
    const containers = ['a', 'b'].map((name) => ({ name, resources: { requests: { memory: String(GI) } } }));
    const requests = { memory: String(4 * GI) };
    const pod = makePod({ containers, resources: { requests }, overhead: { memory: String(GI) } });
    expect(oomScoreAdjust(pod, makeContainer(containers[0]), 'main', 8 * GI)).toBe(750);
  });

  it('the overhead of a pod with only CPU overhead has only CPU values', () => {
    const { overhead } = resizedSandboxResources(makePod({ overhead: { cpu: '250m' } }), {}, resourceSettings);
    expect(overhead).toMatchObject({ cpuShares: 256, cpuQuota: 25_000, memoryLimitInBytes: 0 });
  });

  it('the overhead of a pod with only memory overhead has only memory values', () => {
    const { overhead } = resizedSandboxResources(makePod({ overhead: { memory: '5' } }), {}, resourceSettings);
    expect(overhead).toMatchObject({ cpuShares: 2, cpuQuota: 0, memoryLimitInBytes: 5 });
  });

  test.each([
    ['12288', '12388', {}],
    ['12287', '12388', { 'memory.high': '12288' }],
    ['100', '100', {}],
  ])('a container that requests %s bytes with the limit %s has the memory.high %j', (request, limit, high) => {
    const resources = { requests: { memory: request }, limits: { memory: limit } };
    const files = memoryQosFiles(makePod(), makeContainer({ resources }), {
      ...{ throttlingFactor: 0.9, pageSizeBytes: 4096, allocatableMemoryBytes: GI },
      reservationPolicy: 'None',
    });
    expect(files).toEqual({ 'memory.min': '0', 'memory.low': '0', ...high });
  });

  test.each([
    [String(8 * GI), 4 * GI],
    [String(8 * GI + 1), 0],
    [String(4 * GI), 2 * GI],
    ['0', 0],
  ])('a container that requests %s bytes may use %d bytes of swap', (memory, bytes) => {
    const container = makeContainer({ resources: { requests: { memory }, limits: { memory: '9Gi' } } });
    const settings = { ...resourceSettings, swapBehavior: 'LimitedSwap' as const };
    expect(swapLimitBytes(makePod({ containers: [container] }), container, settings)).toBe(bytes);
    expect(
      swapLimitBytes(makePod({ containers: [container] }), container, { ...settings, memoryCapacityBytes: 0 }),
    ).toBe(0);
    expect(
      swapLimitBytes(makePod({ containers: [container] }), container, { ...settings, memoryCapacityBytes: 1 }),
    ).toBe(0);
  });

  test.each([
    [1, undefined],
    [2 ** 31 - 1, undefined],
    [2 ** 31, /invalid user id \(2147483648\).*between 0 and 2147483647, inclusive/],
    [-1, /invalid user id \(-1\)/],
    [0, /image will run as root/],
  ])('runAsNonRoot rejects the user %d of an image: %s (undefined: accepts)', (uid, message) => {
    const container = makeContainer({ securityContext: { runAsNonRoot: true } });
    const verify = (): void => verifyRunAsNonRoot(makePod(), container, { uid });
    if (message === undefined) expect(verify).not.toThrow();
    else expect(verify).toThrow(message);
  });

  it('the numeric user of an image takes precedence over its user name', () => {
    const image = (fields: object) => fields as Parameters<typeof imageUser>[0];
    expect(imageUser(image({ uid: { value: 5 }, username: 'x' }))).toEqual({ uid: 5 });
    expect(imageUser(image({ uid: null, username: 'x' }))).toEqual({ username: 'x' });
    expect([imageUser(image({ uid: null, username: '' })), imageUser(null)]).toEqual([{ uid: 0 }, { uid: 0 }]);
  });
});

test('container ports that are equal after defaulting give one port mapping', () => {
  const ports: ContainerPort[] = [
    { containerPort: 80 },
    { containerPort: 80, protocol: 'TCP', hostIP: '', hostPort: 0 },
    { containerPort: 80, hostIP: '10.0.0.1' },
    { containerPort: 80, hostIP: 'fd00::1' },
    { containerPort: 80, hostPort: 1 },
    { containerPort: 80, protocol: 'UDP' },
    { containerPort: 81, protocol: 'SCTP' },
    { containerPort: 82, protocol: 'other' },
  ];
  const told = podPortMappings(makePod({ containers: [makeContainer({ ports })] }));
  const mapping = (containerPort: number, more: object = {}) => ({
    ...{ protocol: Protocol.TCP, containerPort, hostPort: 0, hostIp: '' },
    ...more,
  });
  expect(told).toEqual([
    mapping(80),
    mapping(80, { hostIp: '10.0.0.1' }),
    mapping(80, { hostIp: 'fd00::1' }),
    mapping(80, { hostPort: 1 }),
    mapping(80, { protocol: Protocol.UDP }),
    mapping(81, { protocol: Protocol.SCTP }),
    mapping(82),
  ]);
});

test('the name of a log link is shortened to the maximum length of a file name', () => {
  const link = (name: string) => legacyLogLink('/l', name, 'ns', 'c', 'id');
  expect(link('p')).toBe('/l/p_ns_c-id.log');
  expect(link('p'.repeat(243)).length).toBe('/l/'.length + 255);
  expect(link('p'.repeat(300))).toBe(`/l/${'p'.repeat(251)}.log`);
});

test("a hostname is shortened to the kernel's limit, and has the domain if there is one", () => {
  const hostname = (domain: string) =>
    generateSandboxConfig(makePod({ setHostnameAsFQDN: true }), 0, { ...sandboxContext, domain }).hostname;
  expect([hostname(''), hostname('ns.svc')]).toEqual(['web', 'web.ns.svc']);
  expect(hostname('d'.repeat(60))).toHaveLength(64);
  expect(() => hostname('d'.repeat(61))).toThrow('(64 characters is the max, 65 characters requested)');
});

test('stop signals are named as in the API', () => {
  expect(stopSignalName(Signal.RUNTIME_DEFAULT)).toBeUndefined();
  expect([stopSignalName(Signal.SIGRTMINPLUS1), stopSignalName(Signal.SIGRTMAXMINUS1)]).toEqual([
    ...['SIGRTMIN+1', 'SIGRTMAX-1'],
  ]);
  expect(stopSignal(makeContainer({ lifecycle: { stopSignal: 'SIGRTMIN+1' } }))).toBe(Signal.SIGRTMINPLUS1);
  expect(() => stopSignal(makeContainer({ lifecycle: { stopSignal: 'RUNTIME_DEFAULT' } }))).toThrow(
    'unknown stop signal',
  );
});
