import type { Action, Decorations, PodPlan, Scenario, SoftThresholdsPlan } from '../src/index.ts';
import { healthy, quietNode, seenBroken } from './mutants.ts';

const stubborn: PodPlan = {
  ...{ ...healthy, name: 'a1', uid: 'a1-u', cpu: { main: 400 }, graceSeconds: 30 },
  containers: [{ name: 'main', runs: [{}], version: 1, ignoreTerm: true }],
};

/** Memory is below the soft threshold for a time, on a node with a pod that keeps running. */
function lowFor(forMs: number, soft: SoftThresholdsPlan, ...more: readonly Action[]): Scenario {
  return {
    ...{ ...quietNode, faultsEndMs: 100_000 },
    node: {
      ...{ ...quietNode.node, cluster: true },
      resources: { cpuCount: 2, pressureTransitionMs: 20_000, figuresEveryMs: 0, soft },
    },
    actions: [
      { atMs: 100, do: 'apiCreate', pod: stubborn },
      { atMs: 10_000, do: 'lowOn', of: 'memory', forMs },
      ...more,
    ],
  };
}

const slow: SoftThresholdsPlan = { graceSeconds: 25, maxPodGraceSeconds: 10 };
const quick: SoftThresholdsPlan = { graceSeconds: 2, maxPodGraceSeconds: 10 };

/** Gives the kubelet other soft thresholds than the node's plan has. */
function set(change: (soft: SoftThresholdsPlan) => SoftThresholdsPlan | undefined): () => Decorations {
  return () => ({ resources: { changeSoft: (soft) => soft && change(soft) } });
}

seenBroken([
  [
    'N2',
    'the grace period of a soft threshold is too short',
    set((soft) => ({ ...soft, graceSeconds: 1 })),
    lowFor(40_000, slow),
  ],
  ['N2', 'there are no soft thresholds', set(() => undefined), lowFor(80_000, quick)],
  [
    'N2',
    'a pod evicted by a soft threshold gets its full grace period',
    set((soft) => ({ ...soft, maxPodGraceSeconds: -1 })),
    lowFor(60_000, { ...quick, maxPodGraceSeconds: 3 }),
  ],
  [
    'C5',
    'a pod evicted by a soft threshold gets no grace period',
    set((soft) => ({ ...soft, maxPodGraceSeconds: 0 })),
    lowFor(60_000, quick),
  ],
]);
