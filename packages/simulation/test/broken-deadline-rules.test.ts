import type { Pod } from '@node-agent/pod-spec';
import type { PodPlan, Scenario } from '../src/index.ts';
import { healthy, quietNode, seenBroken, steps } from './mutants.ts';

const pod: PodPlan = { ...healthy, deadlineSeconds: 10 };
const overdue: Scenario = {
  ...quietNode,
  actions: [{ atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod }],
};
/** Scenario like `overdue`, but after a fault: a container was killed. */
const overdueLater: Scenario = {
  ...overdue,
  actions: [...overdue.actions, { atMs: 5000, do: 'killContainer', nth: 0, exitCode: 1, oomKilled: false }],
};

function withDeadline(seconds: number | undefined): () => ReturnType<typeof steps> {
  const changed = (one: Pod): Pod => {
    const { activeDeadlineSeconds: _own, ...spec } = one.spec;
    return { ...one, spec: { ...spec, ...(seconds !== undefined && { activeDeadlineSeconds: seconds }) } };
  };
  return () => steps((inner) => ({ syncPod: (type, one, ...rest) => inner.syncPod(type, changed(one), ...rest) }));
}

seenBroken([
  ['C6', 'the kubelet ignores activeDeadlineSeconds', withDeadline(undefined), overdue],
  ['P7', 'the kubelet ignores activeDeadlineSeconds', withDeadline(undefined), overdueLater],
  ['C6', 'activeDeadlineSeconds is applied too early', withDeadline(5), overdueLater],
]);
