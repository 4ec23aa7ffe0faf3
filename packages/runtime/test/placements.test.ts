import { expect, it, vi } from 'vitest';
import type { ContainerPlacement } from '../src/index.ts';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

const everywhere: ContainerPlacement = { cpus: '0-7', mems: '', hasExclusiveCpus: false };

/** Creates a machine on which each container has the placement for its name. */
function machineWith(placements: Readonly<Record<string, ContainerPlacement>>) {
  const started: string[] = [];
  const machine = new Machine({
    components: {
      placements: {
        placementOf: (_pod, { name }) => placements[name] ?? everywhere,
        hasExclusiveCpus: () => Object.values(placements).some(({ hasExclusiveCpus }) => hasExclusiveCpus),
        starting: (_pod, { name }, id, cpus) => started.push(`${name} ${id === '' ? 'without id' : 'with id'} ${cpus}`),
      },
    },
  });
  const create = vi.spyOn(machine.cri, 'createContainer');
  const sandbox = vi.spyOn(machine.cri, 'runPodSandbox');
  return { machine, started, create, sandbox };
}

const limited = (name: string) => ({ ...sleeper(name), resources: { limits: { cpu: '2' }, requests: { cpu: '2' } } });

it('containers are created on the CPUs and NUMA nodes of their placement, before they are started', async () => {
  const { machine, started, create } = machineWith({ a: { cpus: '2-3', mems: '1', hasExclusiveCpus: true } });
  await machine.sync(machine.kubelet(), pod({ containers: [limited('a'), limited('b')] }));
  const resources = create.mock.calls.map(([{ config }]) => config?.linux?.resources);
  expect(resources.map((one) => [one?.cpusetCpus, one?.cpusetMems])).toEqual(
    expect.arrayContaining([
      ['2-3', '1'],
      ['0-7', ''],
    ]),
  );
  expect(started.sort()).toEqual(['a with id 2-3', 'b with id 0-7']);
});

it('a container with exclusive CPUs gets no CFS quota, and neither does the sandbox of its pod', async () => {
  const { machine, create, sandbox } = machineWith({ a: { cpus: '2-3', mems: '', hasExclusiveCpus: true } });
  await machine.sync(machine.kubelet(), pod({ containers: [limited('a'), limited('b')] }));
  const quotas = create.mock.calls.map(([{ config }]) => config?.linux?.resources?.cpuQuota);
  expect(new Set(quotas)).toEqual(new Set([-1, 200_000]));
  expect(sandbox.mock.calls[0]?.[0].config?.linux?.resources?.cpuQuota).toBe(-1);
});

it('without placements, the runtime chooses CPUs and NUMA nodes', async () => {
  const machine = new Machine();
  const create = vi.spyOn(machine.cri, 'createContainer');
  await machine.sync(machine.kubelet(), pod({ containers: [limited('a')] }));
  const [[{ config }] = [{}]] = create.mock.calls as unknown as [[{ config?: { linux?: { resources?: object } } }]];
  expect(config?.linux?.resources).not.toHaveProperty('cpusetCpus');
});
