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
/** The first rule restarts only the container. The second would restart all containers. */
const firstDecides = scenario({
  containers: [
    { ...source, restartRules: [{ operator: 'In', codes: [3] }, all] },
    { ...healthy.containers[0], ...done },
  ],
});

/** A container that exits and is restarted by its rule, against its policy. */
const ruled: ContainerPlan = {
  ...{ name: 'main', runs: [{ exitAfterMs: 4000, exitCode: 2 }, {}], version: 1, restartPolicy: 'Never' },
  restartRules: [{ operator: 'In', codes: [2, 143] }],
  probes: { liveness: { periodSeconds: 1, wellAfterMs: 0, illAfterMs: 6000, illRuns: 1 } },
};
/** A container that runs until it is stopped for its liveness probe. */
const ill: ContainerPlan = { ...ruled, runs: [{}] };
const besideSidecar = (main: ContainerPlan): Scenario => scenario({ init: [side], containers: [main] });

/** Makes the kubelet see all containers with restartPolicy Never. */
function neverRestarted(): Decorations {
  return steps((inner) => ({
    syncPod: (type, pod, ...rest) => {
      const containers = pod.spec.containers.map((container) => ({ ...container, restartPolicy: 'Never' }));
      return inner.syncPod(type, { ...pod, spec: { ...pod.spec, containers } }, ...rest);
    },
  }));
}

/** Changes the restart rules of the pods that the kubelet sees. */
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

/** Hides the init containers from the sync that must restart all containers. */
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
    'an exit that must restart all containers restarts only one',
    () => rules((given) => given.map((rule) => ({ ...rule, action: 'Restart' }))),
    restartsAll,
  ],
  ['P7', 'restart rules of an init container are ignored', () => rules(() => []), initRestarts],
  [
    'C6',
    'restart rules apply to wrong exit codes',
    () => rules((given) => given.map((rule) => ({ ...rule, exitCodes: { operator: 'NotIn', values: [7] } }))),
    noRuleHolds,
  ],
  ['C6', 'the last matching restart rule decides', () => rules((given) => given.toReversed()), firstDecides],
  [
    'C6',
    'a sidecar stops although a rule restarts the last main container',
    () => rules(() => []),
    besideSidecar(ruled),
  ],
  [
    'C6',
    'a sidecar stops with the last main container although its policy restarts it after a failed liveness probe',
    neverRestarted,
    besideSidecar({ ...ill, restartPolicy: 'OnFailure' }),
  ],
  [
    'P7',
    'a pod that stopped with its last main container is not restarted by the rule for its exit code',
    () => rules(() => []),
    besideSidecar(ill),
  ],
  ['C4', 'sidecars are not restarted when all containers must be', mainOnes, restartsAll],
  ['C3', 'init containers are not restarted when all containers must be', mainOnes, restartsAll],
]);
