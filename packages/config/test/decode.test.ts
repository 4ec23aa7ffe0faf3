import { describe, expect, it } from 'vitest';
import { formatIssue } from '../src/index.ts';
import { file, load, refusal } from './memory-files.ts';

const CONFIG = '/etc/kubelet/config.yaml';

describe('configuration files with another apiVersion or kind', () => {
  it.each([
    ['kind: KubeletConfiguration\n', `${CONFIG}:1:1: apiVersion: is missing; it must be kubelet.config.k8s.io/v1beta1`],
    ['apiVersion: kubelet.config.k8s.io/v1beta1\n', `${CONFIG}:1:1: kind: is missing; it must be KubeletConfiguration`],
    [
      'apiVersion: v1\nkind: KubeletConfiguration\n',
      `${CONFIG}:1:13: apiVersion: must be kubelet.config.k8s.io/v1beta1, not the string "v1"`,
    ],
    [
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod\n',
      `${CONFIG}:2:7: kind: must be KubeletConfiguration, not the string "Pod"`,
    ],
    [
      'apiVersion: 1\nkind: KubeletConfiguration\n',
      `${CONFIG}:1:13: apiVersion: must be kubelet.config.k8s.io/v1beta1, not the number 1`,
    ],
    ['- a\n', `${CONFIG}:1:1: must be an object with apiVersion and kind, not a list`],
    ['hello\n', `${CONFIG}:1:1: must be an object with apiVersion and kind, not the string "hello"`],
  ])('refuses the configuration file %j because its apiVersion or kind is wrong', async (config, message) => {
    const error = await refusal({ config });
    expect(error.code).toBe('decode');
    expect(error.message).toBe(message);
  });
});

describe('a value of the wrong type', () => {
  it.each([
    ['maxPods: "5"', '3:10: maxPods: must be a whole number from -2147483648 to 2147483647, not the string "5"'],
    ['maxPods: 5.5', '3:10: maxPods: must be a whole number from -2147483648 to 2147483647, not the number 5.5'],
    ['maxPods: 4294967296', 'maxPods: must be a whole number'],
    ['podPidsLimit: 123456789012345678901', 'not the number 123456789012345678901'],
    [
      'logging: {verbosity: -1}',
      '3:22: logging.verbosity: must be a whole number from 0 to 4294967295, not the number -1',
    ],
    ['enableServer: 1', '3:15: enableServer: must be true or false, not the number 1'],
    ['enableServer: "true"', 'enableServer: must be true or false, not the string "true"'],
    ['clusterDomain: 5', '3:16: clusterDomain: must be a string, not the number 5'],
    ['clusterDomain: yes', 'clusterDomain: must be a string, not true'],
    [
      'syncFrequency: 60',
      '3:16: syncFrequency: must be a duration with a unit, such as "1m30s" or "300ms", not the number 60',
    ],
    [
      'syncFrequency: 1 minute',
      'syncFrequency: must be a duration with a unit, such as "1m30s" or "300ms", not the string "1 minute"',
    ],
    [
      'logging: {flushFrequency: soon}',
      'logging.flushFrequency: must be a duration such as "5s", or a whole number of nanoseconds',
    ],
    [
      'containerLogMaxSize: 10MB',
      '3:22: containerLogMaxSize: must be a quantity of whole bytes such as "10Mi", not the string "10MB"',
    ],
    ['containerLogMaxSize: 10', 'must be a quantity of whole bytes such as "10Mi", not the number 10'],
    ['containerLogMaxSize: 1m', 'must be a quantity of whole bytes such as "10Mi", not the string "1m"'],
    ['containerLogMaxSize: "9e30"', 'must be a quantity of whole bytes such as "10Mi", not the string "9e30"'],
    ['systemReserved: {cpu: null}', 'systemReserved.cpu: must be a quantity such as "10Mi" or "500m", not null'],
    ['memoryThrottlingFactor: high', 'memoryThrottlingFactor: must be a number, not the string "high"'],
    ['memoryThrottlingFactor: .nan', 'memoryThrottlingFactor: must be a number, not the number NaN'],
    [
      'hairpinMode: both',
      '3:14: hairpinMode: must be one of "promiscuous-bridge", "hairpin-veth", "none", not the string "both"',
    ],
    ['clusterDNS: 10.0.0.10', '3:13: clusterDNS: must be a list, not the string "10.0.0.10"'],
    ['clusterDNS: [10]', '3:14: clusterDNS[0]: must be a string, not the number 10'],
    ['clusterDNS: [null]', 'clusterDNS[0]: must be a string, not null'],
    ['evictionHard: [a]', '3:15: evictionHard: must be an object, not a list'],
    ['evictionHard: {memory.available: 100}', 'evictionHard["memory.available"]: must be a string, not the number 100'],
    ['featureGates: {MemoryQoS: "true"}', 'featureGates.MemoryQoS: must be true or false, not the string "true"'],
    ['authentication: true', '3:17: authentication: must be an object with x509, webhook, anonymous, not true'],
    ['maxPods: {}', 'maxPods: must be a whole number from -2147483648 to 2147483647, not an object'],
    ['reservedMemory: [{numaNode: 0, limits: {memory: x}}]', 'reservedMemory[0].limits.memory: must be a quantity'],
    ['staticPodURLHeader: {a: b}', 'staticPodURLHeader.a: must be a list, not a string'],
    ['systemReserved: {cpu: ""}', 'systemReserved.cpu: must be a quantity'],
  ])('refuses %s with its position, its path and the allowed values', async (line, message) => {
    const error = await refusal({ config: file(line) });
    expect(error.code).toBe('decode');
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/^\/etc\/kubelet\/config\.yaml:3:\d+: /);
  });

  it('reports all values of the wrong type in a configuration file', async () => {
    const error = await refusal({ config: file('maxPods: x\nport: y\nnope: 1\n') });
    expect(error.issues.map(({ path }) => path)).toEqual(['maxPods', 'port']);
    expect(error.message.split('\n')).toEqual(error.issues.map(formatIssue));
  });

  it('reports a value of the wrong type in a JSON file with its position', async () => {
    const config =
      '{\n\t"apiVersion": "kubelet.config.k8s.io/v1beta1",\n\t"kind": "KubeletConfiguration",\n\t"maxPods": "5"\n}';
    expect((await refusal({ config })).message).toMatch(/config\.yaml:4:13: maxPods: must be a whole number/);
  });
});

describe('a value of the right type', () => {
  it('reads values in every form that upstream accepts', async () => {
    const { configuration } = await load({
      config: file(
        [
          'maxPods: 2e1',
          'syncFrequency: 1.5m',
          'logging: {flushFrequency: 7000000000, verbosity: 3}',
          'containerLogMaxSize: 5M',
          'cpuCFSQuotaPeriod: 100000us',
          'clusterDNS: ["10.0.0.10"]',
          'staticPodURLHeader: {Authorization: [a, b]}',
          'registerWithTaints: [{key: a, effect: NoSchedule}]',
          'crashLoopBackOff: {maxContainerRestartPeriod: 1m}',
        ].join('\n'),
      ),
    });
    expect(configuration).toMatchObject({
      maxPods: 20,
      syncFrequencyMs: 90_000,
      logging: { flushFrequencyMs: 7000, verbosity: 3, format: 'text' },
      containerLogMaxSizeBytes: 5_000_000,
      cpuCFSQuotaPeriodMs: 100,
      clusterDNS: ['10.0.0.10'],
      staticPodURLHeader: { Authorization: ['a', 'b'] },
      registerWithTaints: [{ key: 'a', value: '', effect: 'NoSchedule' }],
      crashLoopBackOff: { maxContainerRestartPeriodMs: 60_000 },
    });
  });
});

describe('unusable configuration files', () => {
  it.each([
    ['', 'syntax', `${CONFIG}:1:1: is empty`],
    [file('maxPods: [1\n'), 'syntax', `${CONFIG}:4:1: `],
  ])('refuses the unusable configuration file %j with the code %s', async (config, code, message) => {
    const error = await refusal({ config });
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  it('refuses a configuration file that does not exist', async () => {
    const error = await refusal({ argv: ['--config=nowhere.yaml'] });
    expect(error.code).toBe('read');
    expect(error.message).toMatch(/^\/etc\/kubelet\/nowhere\.yaml: cannot be read: ENOENT/);
    expect(error.cause).toMatchObject({ code: 'ENOENT' });
  });
});

describe('mistakes that upstream accepts with a warning', () => {
  it.each([
    [file('maxPodz: 5'), '3:1: maxPodz: unknown field; did you mean maxPods?', 'ignored'],
    [file('MaxPods: 5'), '3:1: MaxPods: unknown field; did you mean maxPods?', 'ignored'],
    [file('somethingElse: 5'), '3:1: somethingElse: unknown field', 'ignored'],
    [file('memorySwap: {swap: 1}'), '3:14: memorySwap.swap: unknown field; the fields are swapBehavior', 'ignored'],
    [file('evictionHard:\nmemory.available: 1Gi'), '4:1: ["memory.available"]: unknown field', 'ignored'],
    [file('maxPods: 1\nmaxPods: 2\n'), '4:1: duplicate key "maxPods"', 'the last value is used'],
    [`${file('')}---\n${file('')}`, '3:1: holds more than one document', 'only the first is used'],
    [file('clusterDNS: [10.0.0.1, dns]'), '3:24: clusterDNS[1]: must be an IP address, not "dns"', 'ignored'],
  ])(
    'the configuration file %j causes a warning, and an error with --strict-config',
    async (config, text, consequence) => {
      const { warnings } = await load({ config });
      expect(warnings.map(formatIssue)).toEqual([`${CONFIG}:${text} (${consequence})`]);
      const error = await refusal({ config, argv: ['--strict-config'] });
      expect(error.message).toBe(`${CONFIG}:${text}`);
    },
  );

  it('uses the last value of a duplicate key, the first document of a file, and only the valid addresses of clusterDNS', async () => {
    const body = 'maxPods: 1\nclusterDNS: [dns, "010.0.000.1", "fe80::1%eth0", "::1"]\nmaxPods: 2\n';
    const { configuration } = await load({ config: `${file(body)}---\n${file('maxPods: 3')}` });
    expect(configuration).toMatchObject({ maxPods: 2, clusterDNS: ['10.0.0.1', '::1'] });
  });

  it('an unknown field in a drop-in causes a warning', async () => {
    const { warnings } = await load({ config: file(''), dropIns: { 'a.conf': file('maxPodz: 5\n') } });
    expect(warnings.map(formatIssue)).toEqual([
      '/etc/kubelet/conf.d/a.conf:3:1: maxPodz: unknown field; did you mean maxPods? (ignored)',
    ]);
  });

  it('lists at most 50 warnings of a configuration file', async () => {
    const fields = Array.from({ length: 60 }, (_, index) => `unknownField${index}: 1`).join('\n');
    const { warnings } = await load({ config: file(fields) });
    expect(warnings).toHaveLength(50);
    expect(warnings.at(-1)?.message).toBe('unknown field; 10 more like this (ignored)');
  });
});

describe('problems of several configuration sources', () => {
  it('reports problems of flags, files and drop-ins together, with the code of the first stage that failed', async () => {
    const error = await refusal({
      argv: ['--nope=1', '--node-ip=10.0.0.1,10.0.0.2', '--healthz-port=x', '--experimental-mounter-path=/m'],
      config: file('maxPods: many\nregistryPullQPS: -1\nfeatureGates: {NoSuchGate: true}\n'),
      dropIns: { 'a.conf': 'apiVersion: [', 'b.conf': file('port: 99999999\n') },
    });
    expect(error.code).toBe('flag');
    // Values are not validated after a file could not be read, because the unreadable drop-in might set any of them.
    expect(error.issues.map(formatIssue)).toEqual([
      'unknown flag: --nope',
      'invalid argument "x" for "--healthz-port" flag: must be a whole number from -2147483648 to 2147483647',
      '--node-ip: two IP addresses must be one of each family',
      '--experimental-mounter-path: is not supported yet: volumes are mounted with the mount command of the host',
      expect.stringContaining(`${CONFIG}:3:10: maxPods: must be a whole number`),
      expect.stringContaining('/etc/kubelet/conf.d/a.conf:1:14: '),
    ]);
  });

  it('reports out-of-range values together with a value of the wrong type', async () => {
    const error = await refusal({
      config: file('maxPods: many\nregistryPullQPS: -1\nfeatureGates: {NoSuchGate: true}\nport: 99999999\n'),
    });
    expect(error.code).toBe('decode');
    expect(error.issues.map(({ path }) => path)).toEqual([
      'maxPods',
      'featureGates.NoSuchGate',
      expect.any(String),
      expect.any(String),
    ]);
    expect(error.issues.map(({ path }) => path)).toEqual(expect.arrayContaining(['registryPullQPS', 'port']));
  });

  it.each([
    ['imageGCHighThresholdPercent: high\nimageGCLowThresholdPercent: 90\n', 'imageGCHighThresholdPercent'],
    ['serializeImagePulls: maybe\nmaxParallelImagePulls: 5\n', 'serializeImagePulls'],
  ])('reports no problem of the default that is used instead of a value of the wrong type: %j', async (body, path) => {
    const error = await refusal({ config: file(body) });
    expect(error.issues.map((issue) => issue.path)).toEqual([path]);
  });

  it('reports no problem of the default that is used instead of an invalid flag', async () => {
    const error = await refusal({
      argv: ['--image-gc-high-threshold=high'],
      config: file('imageGCLowThresholdPercent: 90\n'),
    });
    expect(error.issues).toHaveLength(1);
  });
});
