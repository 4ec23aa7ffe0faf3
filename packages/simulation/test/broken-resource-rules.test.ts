import type { CgroupManager } from '@node-agent/cm-cgroups';
import type { Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changed, changedFiles, healthy, quietNode, seenBroken, steps } from './mutants.ts';

const node: Scenario['node'] = {
  ...quietNode.node,
  cluster: true,
  resources: { cpuCount: 2, pressureTransitionMs: 60_000, figuresEveryMs: 0 },
};
const scenario: Omit<Scenario, 'actions'> = { ...quietNode, node };

function pod(name: string, more: Partial<PodPlan> = {}): PodPlan {
  return { ...healthy, name, uid: `${name}-u`, cpu: { main: 400 }, ...more };
}

/** Three pods, one of them critical, and memory pressure for some time. */
const shortOfMemory: Scenario = {
  ...scenario,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1', { graceSeconds: 5 }) },
    { atMs: 100, do: 'apiCreate', pod: pod('a2', { critical: true }) },
    { atMs: 100, do: 'apiCreate', pod: pod('a3', { emptyDir: true }) },
    { atMs: 15_000, do: 'pressure', of: 'memory', unused: false, forMs: 4000 },
  ],
};

const shortForLong: Scenario = {
  ...scenario,
  faultsEndMs: 70_000,
  node: { ...node, resources: { cpuCount: 2, pressureTransitionMs: 20_000, figuresEveryMs: 0 } },
  actions: [
    ...shortOfMemory.actions.slice(0, 3),
    { atMs: 15_000, do: 'pressure', of: 'memory', unused: false, forMs: 44_000 },
  ],
};

/** Scenario like `shortForLong`, with stats that can be 15 s old. */
const seldomMeasured: Scenario = {
  ...shortForLong,
  node: { ...node, resources: { cpuCount: 2, pressureTransitionMs: 60_000, figuresEveryMs: 15_000 } },
};

/** An unused image fills the disk. */
const shortOfDisk: Scenario = {
  ...shortOfMemory,
  actions: [
    ...shortOfMemory.actions.slice(0, 3),
    { atMs: 15_000, do: 'pressure', of: 'disk', unused: true, forMs: 20_000 },
  ],
};

const comesAndGoes: Scenario = {
  ...scenario,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1', { emptyDir: true }) },
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

const staticPod: PodPlan = { ...healthy, cpu: { main: 400 } };
const resizedStatic: Scenario = {
  ...scenario,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: staticPod },
    { atMs: 10_000, do: 'writeManifest', file: 'p1.yaml', pod: { ...staticPod, cpu: { main: 900 } } },
  ],
};

/** Three pods request more than the node has. */
const tooMuch: Scenario = {
  ...scenario,
  actions: ['a1', 'a2', 'a3'].map((name, index) => ({
    ...{ atMs: 100 + index * 1000, do: 'apiCreate' as const },
    pod: pod(name, { cpu: { main: 900 } }),
  })),
};

/** The second pod fits only after the first one has completed. */
const oneAfterAnother: Scenario = {
  ...scenario,
  actions: [
    {
      ...{ atMs: 100, do: 'apiCreate' },
      pod: pod('a1', {
        ...{ restartPolicy: 'Never', cpu: { main: 1500 } },
        containers: [{ name: 'main', runs: [{ exitAfterMs: 3000 }], version: 1 }],
      }),
    },
    { atMs: 20_000, do: 'apiCreate', pod: pod('a2', { cpu: { main: 1500 } }) },
  ],
};

/** A pod that fits is added long after an API outage that followed a resize of another pod. */
const longAfterTrouble: Scenario = {
  ...scenario,
  faultsEndMs: 161_000,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1', { cpu: { main: 100 } }) },
    { atMs: 10_000, do: 'apiResize', name: 'a1', uid: 'a1-u', cpu: { main: 200 } },
    { atMs: 11_000, do: 'apiAway', forMs: 3000 },
    { atMs: 160_000, do: 'apiCreate', pod: pod('a2', { cpu: { main: 1500 } }) },
  ],
};

/** A resize is pending while the kubelet is restarted. */
const waitsOverRestart: Scenario = {
  ...scenario,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: pod('a1', { cpu: { main: 900 } }) },
    { atMs: 200, do: 'apiCreate', pod: pod('a2', { cpu: { main: 900 } }) },
    { atMs: 10_000, do: 'apiResize', name: 'a1', uid: 'a1-u', cpu: { main: 1800 } },
    { atMs: 20_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 500 },
  ],
};

type Summary = NonNullable<NonNullable<Decorations['resources']>['changeSummary']>;

/** Changes the memory stats of the node that the kubelet receives. */
function told(change: (memory: Told, nth: number) => Told): Decorations {
  let nth = 0;
  const changeSummary: Summary = (summary) => async (options, signal) => {
    const is = await summary(options, signal);
    const { memory } = is.node;
    return memory === undefined ? is : { ...is, node: { ...is.node, memory: { ...memory, ...change(memory, nth++) } } };
  };
  return { resources: { changeSummary } };
}

interface Told {
  readonly time?: string | null;
  readonly availableBytes?: number;
  readonly workingSetBytes?: number;
}

const SHORT: Told = { availableBytes: 1, workingSetBytes: 2 ** 34 };
const ENOUGH: Told = { availableBytes: 2 ** 32, workingSetBytes: 2 ** 32 };
const isShort = ({ availableBytes = 0 }: Told): boolean => availableBytes < 2 ** 30;

/** Gives the kubelet stats with memory pressure once, and all later stats without memory pressure. */
function forgetful(): Decorations {
  let isTold = false;
  return told((memory) => {
    if (!isShort(memory)) return {};
    const again = isTold;
    isTold = true;
    return again ? ENOUGH : {};
  });
}

/** Gives all stats a new timestamp, regardless of the time of measurement. */
function alwaysNew(): Decorations {
  let nowMs = 0;
  return told(({ time }) => {
    nowMs = Math.max(nowMs + 1, Date.parse(time ?? ''));
    return { time: new Date(nowMs + 100_000).toISOString() };
  });
}

/** Makes the runtime ignore resource updates but report success. */
function deafRuntime(): Decorations {
  return { cri: (cri) => changed(cri, { updateContainerResources: async () => ({}) }) };
}

/** Changes some methods of the cgroup manager. */
function groups(change: (inner: CgroupManager) => Partial<CgroupManager>): Decorations['resources'] {
  return {
    changeCgroups: (cgroups) => {
      const calls = change(cgroups);
      return new Proxy(cgroups, {
        get: (target, name) => {
          const value: unknown = Reflect.get(calls, name) ?? Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
}

/**
 * Removes the cgroup of an API pod at the given operation of its pod worker, regardless of what else exists of the pod.
 */
function removedEarly(at: 'syncPod' | 'syncTerminatingPod' | 'syncTerminatedPod', again = false): Decorations {
  let cgroups: CgroupManager | undefined;
  const remove = async (uid: string): Promise<void> => {
    await cgroups?.destroy(['kubepods', 'burstable', `pod${uid}`], new AbortController().signal);
  };
  const seen = new Set<string>();
  return {
    resources: {
      changeCgroups: (inner) => {
        cgroups = inner;
        return inner;
      },
    },
    podSyncer: (inner) => ({
      ...inner,
      [at]: async (...args: never[]) => {
        const pod = (args as readonly unknown[]).find(
          (arg): arg is { readonly metadata: { readonly uid: string } } =>
            typeof arg === 'object' && arg !== null && 'metadata' in arg,
        );
        const uid = pod?.metadata.uid ?? '';
        if (!again || seen.has(uid)) await remove(uid);
        seen.add(uid);
        return await (inner[at] as (...of: never[]) => Promise<unknown>)(...args);
      },
    }),
  };
}

/** Hides the priority of critical pods from the kubelet. */
function ordinary(): Decorations {
  return {
    api:
      (request) =>
      async (...args) => {
        const response = await request(...args);
        return { ...response, body: replaced(/"priority":\d+/g, '"priority":0', response.body) };
      },
  };
}

async function* replaced(what: RegExp, by: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield Buffer.from(Buffer.from(chunk).toString().replace(what, by));
}

/** Hides the file of allocated resources from the kubelet. */
function forgottenGrants(): Decorations {
  return {
    files: (fs) =>
      changedFiles(fs, {
        open: (path, ...rest) => fs.open(path.includes('allocated_pods_state') ? `${path}.gone` : path, ...rest),
      }),
  };
}

seenBroken([
  ['N1', 'the kubelet assumes more CPUs than the node has', () => ({ resources: { cpuCount: 8 } }), tooMuch],
  [
    'N1',
    'terminated pods still count against the node’s resources',
    () => ({ resources: { cpuCount: 1 } }),
    oneAfterAnother,
  ],
  ['N1', 'the kubelet assumes fewer CPUs than the node has', () => ({ resources: { cpuCount: 1 } }), longAfterTrouble],
  ['N1', 'allocated resources are lost when the kubelet restarts', forgottenGrants, waitsOverRestart],
  ['N2', 'the stats show memory pressure that does not exist', () => told(() => SHORT), shortOfMemory],
  ['N2', 'the stats do not show existing memory pressure', () => told(() => ENOUGH), shortForLong],
  ['N2', 'old stats have a new timestamp', alwaysNew, seldomMeasured],
  ['N2', 'pods are evicted before unused images are removed', () => ({ resources: { keepImages: true } }), shortOfDisk],
  [
    'N2',
    'running pods are reported as terminated',
    () => steps(() => ({ syncTerminatingPod: async () => ({}) })),
    shortForLong,
  ],
  [
    'N2',
    'pods with volumes and cgroups are reported as cleaned up',
    () => steps(() => ({ syncTerminatedPod: async () => {} })),
    shortForLong,
  ],
  ['N2', 'critical pods are treated like other pods', ordinary, shortForLong],
  ['N3', 'the transition period is counted from the start of the memory pressure', forgetful, shortForLong],
  [
    'N5',
    'cgroups of removed pods are left behind',
    () => ({ resources: groups(() => ({ destroy: async () => {} })) ?? {} }),
    comesAndGoes,
  ],
  ['N5', 'cgroups are removed while containers run in them', () => removedEarly('syncTerminatingPod'), comesAndGoes],
  ['N5', 'cgroups are removed before the volumes of their pods', () => removedEarly('syncTerminatedPod'), comesAndGoes],
  ['P7', 'a resize does not reach the container', deafRuntime, resized],
  ['P7', 'changed resources of a manifest do not reach the container', deafRuntime, resizedStatic],
]);
