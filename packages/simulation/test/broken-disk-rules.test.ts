import type { Decorations, PodPlan, Scenario } from '../src/index.ts';
import { healthy, quietNode, seenBroken } from './mutants.ts';

const pod = (name: string): PodPlan => ({ ...healthy, name, uid: `${name}-u`, disks: ['d0'] });
const scenario: Scenario = {
  ...quietNode,
  node: { ...quietNode.node, cluster: true },
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1') },
    { atMs: 5000, do: 'apiCreate', pod: pod('a2') },
    { atMs: 15_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: false },
    { atMs: 30_000, do: 'apiDelete', name: 'a2', uid: 'a2-u', force: false },
  ],
};

type ChangeMounter = NonNullable<Decorations['mounter']>;
type Mounter = Parameters<ChangeMounter>[0];

/** Changes some methods of the mounter. */
function changed(change: (mounter: Mounter) => Partial<Mounter>): () => Decorations {
  return () => ({
    mounter: (mounter) => {
      const calls = change(mounter);
      return new Proxy(mounter, {
        get: (target, name) => {
          const value: unknown = Reflect.get(calls, name) ?? Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  });
}

const isStaged = (target: string): boolean => target.includes('/plugins/kubernetes.io/local-volume/');

seenBroken([
  [
    'N5',
    'the kubelet does not see that a disk is mounted',
    changed((mounter) => ({
      mountPoints: async () => new Map([...(await mounter.mountPoints())].filter(([target]) => !isStaged(target))),
    })),
    {
      ...scenario,
      actions: [
        ...scenario.actions,
        { atMs: 10_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 500 },
      ],
    },
  ],
  [
    'N5',
    'a disk is unmounted while a pod still uses it',
    changed((mounter) => ({
      unmount: async (target, ...rest) => {
        const [staged] = [...(await mounter.mountPoints()).keys()].filter(isStaged);
        if (staged !== undefined && !isStaged(target)) await mounter.unmount(staged, ...rest);
        await mounter.unmount(target, ...rest);
      },
    })),
    scenario,
  ],
  ['N5', 'disks are not bind-mounted into pods', changed(() => ({ bind: async () => {} })), scenario],
  [
    'P7',
    'a disk stays mounted although no pod uses it',
    changed((mounter) => ({
      unmount: async (target, ...rest) => (isStaged(target) ? undefined : mounter.unmount(target, ...rest)),
    })),
    scenario,
  ],
]);
