import type { Action, Decorations, PodPlan, Scenario, SoftThresholdsPlan } from '../src/index.ts';
import { healthy, quietNode, seenBroken } from './mutants.ts';

const stubborn: PodPlan = {
  ...{ ...healthy, name: 'a1', uid: 'a1-u', cpu: { main: 400 }, graceSeconds: 30 },
  containers: [{ name: 'main', runs: [{}], version: 1, ignoreTerm: true }],
};

/** Memory is low for so long, on a node with these soft thresholds, on which a pod runs that does not end by itself. */
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

/** The kubelet is set in another way than the node is to be. */
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
    'who goes for a soft threshold has as long as it likes',
    set((soft) => ({ ...soft, maxPodGraceSeconds: -1 })),
    lowFor(60_000, { ...quick, maxPodGraceSeconds: 3 }),
  ],
  [
    'C5',
    'who goes for a soft threshold has no time',
    set((soft) => ({ ...soft, maxPodGraceSeconds: 0 })),
    lowFor(60_000, quick),
  ],
]);
