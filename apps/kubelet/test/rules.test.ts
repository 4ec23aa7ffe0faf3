import {
  defaultConfiguration,
  type KubeletConfiguration,
  parseCommandLine,
  resolveFeatureGates,
} from '@node-agent/config';
import { parseReservations } from '@node-agent/node-status';
import { describe, expect, test } from 'vitest';
import type { Machine } from '../src/machine.ts';
import { nodeIdentity } from '../src/node-identity.ts';
import { allocatableOf } from '../src/node-resources.ts';
import { nodeProblem } from '../src/node-version.ts';
import { withImageService } from '../src/runtime-services.ts';
import { assemblySettings } from '../src/settings.ts';

describe('the node’s identity', () => {
  const machine = { hostname: ' Host-1 ', ips: ['192.0.2.1', '192.0.2.2', '2001:db8::1'] };
  const flags = (overrides: object) => ({ hostnameOverride: '', nodeIp: '', ...overrides });

  test.each([
    [{}, 'host-1', ['192.0.2.1']],
    [{ hostnameOverride: 'Other' }, 'other', ['192.0.2.1']],
    [{ nodeIp: '198.51.100.7' }, 'host-1', ['198.51.100.7']],
    [{ nodeIp: '198.51.100.7, 2001:db8::7' }, 'host-1', ['198.51.100.7', '2001:db8::7']],
    [{ nodeIp: '::' }, 'host-1', ['2001:db8::1']],
    [{ nodeIp: '0.0.0.0' }, 'host-1', ['192.0.2.1']],
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

describe('what pods can have of the node', () => {
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

  test('is all of it, and as many pods as the configuration says', () => {
    expect(allocatable({})).toEqual({ cpu: '4', memory: '1Gi', pods: '110', 'ephemeral-storage': '8Gi' });
  });

  test('is less what is kept back', () => {
    expect(allocatable({}, { cpu: '500m', memory: '256Mi' })).toMatchObject({ cpu: '3500m', memory: '768Mi' });
  });

  test.each([
    [110, 1, '4'],
    [2, 10, '2'],
    [7, 0, '7'],
  ])('with maxPods %d and podsPerCore %d is %s pods', (maxPods, podsPerCore, pods) => {
    expect(allocatable({ maxPods, podsPerCore })).toMatchObject({ pods });
  });

  test('cannot be less than nothing: what is kept back must be there', () => {
    expect(() => allocatable({}, { memory: '2Gi' })).toThrow('invalid Node Allocatable configuration.');
  });
});

describe('settings', () => {
  const machine: Machine = {
    hostname: 'n',
    kernelRelease: '6.1.0',
    appArmor: false,
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
      { allocatable: { pods: '110' } },
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
      admission: { sysctls: { allowedUnsafe: [], kernelRelease: '6.1.0' }, appArmor: false },
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
