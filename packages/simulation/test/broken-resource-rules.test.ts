import type { Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changed, healthy, quietNode, seenBroken } from './mutants.ts';

const node: Scenario['node'] = {
  ...quietNode.node,
  cluster: true,
  resources: { cpuCount: 2, pressureTransitionMs: 60_000, figuresEveryMs: 0 },
};
const scenario: Omit<Scenario, 'actions'> = { ...quietNode, node };

function pod(name: string, more: Partial<PodPlan> = {}): PodPlan {
  return { ...healthy, name, uid: `${name}-u`, cpu: { main: 400 }, ...more };
}

const shortOfMemory: Scenario = {
  ...scenario,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1', { graceSeconds: 5 }) },
    { atMs: 100, do: 'apiCreate', pod: pod('a2', { critical: true }) },
    { atMs: 15_000, do: 'pressure', forMs: 4000 },
  ],
};

const shortForLong: Scenario = {
  ...scenario,
  node: { ...node, resources: { cpuCount: 2, pressureTransitionMs: 20_000, figuresEveryMs: 0 } },
  actions: [...shortOfMemory.actions.slice(0, 2), { atMs: 15_000, do: 'pressure', forMs: 24_000 }],
};

const comesAndGoes: Scenario = {
  ...scenario,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1') },
    { atMs: 15_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: false },
  ],
};

const resized: Scenario = {
  ...scenario,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1') },
    { atMs: 10_000, do: 'apiResize', name: 'a1', uid: 'a1-u', cpu: { main: 900 } },
  ],
};

/** The kubelet is told that memory is short when it is not. */
function alarming(): Decorations {
  return {
    resources: {
      changeSummary: (summary) => async (options, signal) => {
        const told = await summary(options, signal);
        const memory = { time: told.node.memory?.time ?? null, availableBytes: 1, workingSetBytes: 2 ** 34 };
        return { ...told, node: { memory } };
      },
    },
  };
}

/** The kubelet is told once that memory is short, and never again. */
function forgetful(): Decorations {
  let isTold = false;
  return {
    resources: {
      changeSummary: (summary) => async (options, signal) => {
        const told = await summary(options, signal);
        const { memory } = told.node;
        if (memory === undefined || (memory.availableBytes ?? 0) > 2 ** 30) return told;
        if (isTold)
          return { ...told, node: { memory: { ...memory, availableBytes: 2 ** 32, workingSetBytes: 2 ** 32 } } };
        isTold = true;
        return told;
      },
    },
  };
}

/** What was applied is not what was asked for, and the runtime says that it is. */
function deafRuntime(): Decorations {
  return { cri: (cri) => changed(cri, { updateContainerResources: async () => ({}) }) };
}

/** A group that is said to be gone, and is not. */
function lastingGroups(): Decorations {
  return {
    resources: {
      changeCgroups: (cgroups) =>
        new Proxy(cgroups, {
          get: (target, name) => {
            if (name === 'destroy') return async () => {};
            const value: unknown = Reflect.get(target, name);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        }),
    },
  };
}

seenBroken([
  ['N2', 'memory is said to be short that is not', alarming, shortOfMemory],
  ['N3', 'the transition period is counted from when memory was short first', forgetful, shortForLong],
  ['N5', 'groups are left when their pods go', lastingGroups, comesAndGoes],
  ['P7', 'what a resize applies does not reach the container', deafRuntime, resized],
]);
