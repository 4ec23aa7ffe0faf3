import type { Pod } from '@node-agent/pod-spec';
import type { ContainerPlan, Decorations, PodPlan, RestartRulePlan, Scenario } from '../src/index.ts';
import { healthy, quietNode, seenBroken, steps } from './mutants.ts';

const all: RestartRulePlan = { action: 'RestartAllContainers', operator: 'In', codes: [3] };
const init: ContainerPlan = { name: 'init', runs: [{ exitAfterMs: 300 }], version: 1 };
const side: ContainerPlan = { name: 'side', runs: [{}], version: 1, restartPolicy: 'Always' };
const done: ContainerPlan = { name: 'done', runs: [{ exitAfterMs: 1000 }], version: 1, restartPolicy: 'Never' };
const source: ContainerPlan = {
  ...{ name: 'main', runs: [{ exitAfterMs: 5000, exitCode: 3 }, {}], version: 1 },
  ...{ restartPolicy: 'Never', restartRules: [all] },
};

function scenario(pod: Partial<PodPlan>): Scenario {
  return { ...quietNode, actions: [{ atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, ...pod } }] };
}

const restartsAll = scenario({ init: [init, side], containers: [source, done] });
const initRestarts = scenario({
  ...{ restartPolicy: 'Never', containers: [{ ...done, name: 'main' }] },
  init: [
    {
      ...{ name: 'init', runs: [{ exitAfterMs: 300, exitCode: 2 }, { exitAfterMs: 300 }], version: 1 },
      ...{ restartPolicy: 'Never', restartRules: [{ operator: 'In', codes: [2] }] },
    },
  ],
});
const noRuleHolds = scenario({
  containers: [{ ...done, restartRules: [{ operator: 'In', codes: [2] }], runs: [{ exitAfterMs: 1000, exitCode: 1 }] }],
});
/** The first rule has the one container run again, the second would have all. */
const firstDecides = scenario({
  containers: [
    { ...source, restartRules: [{ operator: 'In', codes: [3] }, all] },
    { ...healthy.containers[0], ...done },
  ],
});

/** Pods whose containers have other rules, as the kubelet sees them. */
function rules(change: (rules: Rules) => Rules): Decorations {
  const with_ = (containers: Pod['spec']['containers'] = []): Pod['spec']['containers'] =>
    containers.map((container) => {
      const { restartPolicyRules = [] } = container;
      return restartPolicyRules.length === 0
        ? container
        : { ...container, restartPolicyRules: [...change(restartPolicyRules)] };
    });
  const changedPod = (pod: Pod): Pod => {
    const { containers, initContainers } = pod.spec;
    return { ...pod, spec: { ...pod.spec, containers: with_(containers), initContainers: with_(initContainers) } };
  };
  return steps((inner) => ({ syncPod: (type, pod, ...rest) => inner.syncPod(type, changedPod(pod), ...rest) }));
}

type Rules = NonNullable<Pod['spec']['containers'][number]['restartPolicyRules']>;

/** A sync that is to have all containers begin anew sees main containers alone. */
function mainOnes(): Decorations {
  return steps((inner) => ({
    syncPod: (type, pod, mirror, status, signal) => {
      const asks = status.containers.some(({ exitCode, state }) => state === 'exited' && exitCode === 3);
      const { initContainers: _, ...spec } = pod.spec;
      return inner.syncPod(type, asks ? { ...pod, spec } : pod, mirror, status, signal);
    },
  }));
}

seenBroken([
  [
    'P7',
    'an exit that has all containers begin anew has the one do so',
    () => rules((given) => given.map((rule) => ({ ...rule, action: 'Restart' }))),
    restartsAll,
  ],
  ['P7', 'rules of an init container are not looked at', () => rules(() => []), initRestarts],
  [
    'C6',
    'rules hold for other exit codes',
    () => rules((given) => given.map((rule) => ({ ...rule, exitCodes: { operator: 'NotIn', values: [7] } }))),
    noRuleHolds,
  ],
  ['C6', 'the last rule that holds decides', () => rules((given) => given.toReversed()), firstDecides],
  ['C4', 'sidecars do not begin anew where all containers are to', mainOnes, restartsAll],
  ['C3', 'init containers do not begin anew where all containers are to', mainOnes, restartsAll],
]);
