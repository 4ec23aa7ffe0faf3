import { defaultConfiguration, type KubeletConfiguration, resolveFeatureGates } from '@node-agent/config';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { parseResourceList } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { resourceManagerSettings } from '../src/configuration/resource-managers.ts';

const reservation = parseResourceList({ cpu: '500m', memory: '1Gi' });

async function settingsOf(
  more: Partial<KubeletConfiguration>,
  fs = new MemoryFileSystem(),
  gates: Record<string, boolean> = {},
) {
  const { gates: featureGates } = resolveFeatureGates(gates);
  return await resourceManagerSettings({ ...defaultConfiguration(), ...more }, featureGates, fs, reservation);
}

async function oneCpu(): Promise<MemoryFileSystem> {
  const fs = new MemoryFileSystem();
  const topology = '/sys/devices/system/cpu/cpu0/topology';
  await fs.mkdir(topology);
  for (const name of ['core_id', 'physical_package_id']) await fs.writeFile(`${topology}/${name}`, '0\n');
  return fs;
}

test('with all policies off, the topology of the machine is not read', async () => {
  expect(await settingsOf({})).toEqual({
    cpuManagerPolicy: 'none',
    memoryManagerPolicy: 'None',
    topologyManagerPolicy: 'none',
    topologyManagerScope: 'container',
    cpuManagerPolicyOptions: {},
    topologyManagerPolicyOptions: {},
    cpuOptionGates: { alpha: false, beta: true },
    podLevelResourceManagers: false,
    reconcilePeriodMs: 10_000,
    reservedSystemCPUs: '',
    reservedMemory: [],
    nodeReservation: { cpu: '500m', memory: '1Gi' },
    noQuotaWithExclusiveCpus: true,
  });
});

test.each([
  { cpuManagerPolicy: 'static' },
  { memoryManagerPolicy: 'Static' },
  { topologyManagerPolicy: 'restricted' },
] as const)('with %j, the topology of the machine is read', async (policy) => {
  const { machine } = await settingsOf(policy, await oneCpu());
  expect(machine?.nodes.map(({ cores }) => cores)).toEqual([[{ socketId: 0, cpus: [0] }]]);
  await expect(settingsOf(policy)).rejects.toThrow('read machine topology');
});

test('feature gates allow alpha options and pod-level resources, and decide about CFS quotas', async () => {
  const gates = {
    CPUManagerPolicyAlphaOptions: true,
    PodLevelResourceManagers: true,
    DisableCPUQuotaWithExclusiveCPUs: false,
  };
  expect(await settingsOf({}, undefined, gates)).toMatchObject({
    cpuOptionGates: { alpha: true, beta: true },
    podLevelResourceManagers: true,
    noQuotaWithExclusiveCpus: false,
  });
});
