import { expect, it, vi } from 'vitest';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

it('supplemental groups that volumes request are set for the sandbox and for all containers', async () => {
  const mounts = { containerMounts: async () => [], extraSupplementalGroups: () => [7] };
  const machine = new Machine({ components: { mounts } });
  const [runs, creations] = [vi.spyOn(machine.cri, 'runPodSandbox'), vi.spyOn(machine.cri, 'createContainer')];
  await machine.sync(machine.kubelet(), pod({ containers: [sleeper('a')], securityContext: { fsGroup: 5 } }));
  const configs = [runs.mock.calls[0]?.[0].config, creations.mock.calls[0]?.[0].config];
  expect(configs.map((config) => config?.linux?.securityContext?.supplementalGroups)).toEqual([
    [5, 7],
    [5, 7],
  ]);
});
