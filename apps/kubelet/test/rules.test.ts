import { defaultConfiguration, parseCommandLine, resolveFeatureGates } from '@node-agent/config';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import type { Machine } from '../src/machine.ts';
import { maxPodsHandler } from '../src/max-pods.ts';
import { nodeIdentity } from '../src/node-identity.ts';
import { nodeProblem } from '../src/node-version.ts';
import { withImageService } from '../src/runtime-services.ts';
import { assemblySettings } from '../src/settings.ts';

describe('the node’s identity', () => {
  const machine = { hostname: ' Host-1 ', ips: ['192.0.2.1', '192.0.2.2', '2001:db8::1'] };
  const flags = (overrides: object) => ({ hostnameOverride: '', nodeIp: '', ...overrides });

  test.each([
    [{}, 'host-1', ['192.0.2.1', '2001:db8::1']],
    [{ hostnameOverride: 'Other' }, 'other', ['192.0.2.1', '2001:db8::1']],
    [{ nodeIp: '198.51.100.7' }, 'host-1', ['198.51.100.7']],
    [{ nodeIp: '198.51.100.7, 2001:db8::7' }, 'host-1', ['198.51.100.7', '2001:db8::7']],
    [{ nodeIp: '::' }, 'host-1', ['2001:db8::1', '192.0.2.1']],
    [{ nodeIp: '0.0.0.0' }, 'host-1', ['192.0.2.1', '2001:db8::1']],
  ])('%j is %s at %j', (given, nodeName, nodeIps) => {
    expect(nodeIdentity(flags(given), machine)).toEqual({ nodeName, nodeIps });
  });

  test.each([
    [{ nodeIp: 'here' }, '--node-ip: "here" is not an IP address'],
    [{ nodeIp: '192.0.2.1,192.0.2.2' }, 'must be one address, or one of each family'],
    [{ hostnameOverride: '  ' }, '--hostname-override: empty hostname is invalid'],
  ])('%j is refused', (given, message) => {
    expect(() => nodeIdentity(flags(given), machine)).toThrow(message);
  });
});

test.each([
  ['20.20.2', 'needs Node.js 22.18 or newer; this is 20.20.2'],
  ['22.17.9', 'needs Node.js 22.18 or newer; this is 22.17.9'],
  ['22.18.0', undefined],
  ['24.0.0', undefined],
])('Node.js %s: %s', (version, problem) => {
  expect(nodeProblem(version)).toBe(problem);
});

describe('maxPods', () => {
  const pod = (uid: string): Pod => ({ metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [] } });

  test('N1: a pod above the limit is refused as upstream words it, one that is counted already is not', () => {
    const handler = maxPodsHandler(2, 0, 8);
    expect(handler.admit(pod('c'), [pod('a'), pod('b')])).toEqual({
      admit: false,
      reason: 'OutOfpods',
      message: "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
    });
    expect(handler.admit(pod('b'), [pod('a'), pod('b')])).toEqual({ admit: true });
  });

  test('a limit per core holds where it is lower', () => {
    expect(maxPodsHandler(110, 1, 2).admit(pod('c'), [pod('a'), pod('b')])).toMatchObject({ admit: false });
    expect(maxPodsHandler(2, 10, 2).admit(pod('b'), [pod('a')])).toEqual({ admit: true });
  });
});

describe('settings', () => {
  const machine: Machine = {
    hostname: 'n',
    cgroupVersion: 2,
    cpus: 4,
    memoryCapacityBytes: 1024,
    swapCapacityBytes: 0,
    swapControllerAvailable: false,
    hugePageSizes: ['2MB'],
    extraMaskedPaths: [],
    ips: [],
  };
  const make = (podLogsDir: string) =>
    assemblySettings(
      { ...defaultConfiguration(), podLogsDir },
      parseCommandLine(['--root-dir=/r']).flags,
      resolveFeatureGates({}).gates,
      machine,
      { nodeName: 'n', nodeIps: [] },
      [],
      {},
    );

  test('what the configuration says reaches the parts', () => {
    expect(make('/var/log/pods')).toMatchObject({
      rootDirectory: '/r',
      containerLogsDirectory: '/var/log/containers',
      node: {
        podLogsDirectory: '/var/log/pods',
        seccompProfileRoot: '/r/seccomp',
        resources: { cpuCfsQuotaPeriodUs: 100_000 },
      },
      syncFrequencyMs: 60_000,
      backOff: { initialMs: 10_000, maxMs: 300_000 },
      logs: { maxSizeBytes: 10 * 2 ** 20, maxFiles: 5 },
      containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
      startConcurrency: 8,
    });
  });

  test('a second node on one machine does not write into /var/log/containers', () => {
    expect(make('/srv/n2/pods').containerLogsDirectory).toBe('/srv/n2/containers');
  });
});

test('images behind an endpoint of their own are asked for there, everything else at the runtime', async () => {
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
