import { readFileSync } from 'node:fs';
import { ContainerState } from '@node-agent/cri-client';
import type { RuntimePodStatus } from '@node-agent/pod-spec';
import type { ContainerPlan, Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changed, changedFiles, healthy, quietNode, seenBroken, steps } from './mutants.ts';

function scenario(pod: Partial<PodPlan>, actions: Scenario['actions'] = []): Scenario {
  const comes = { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, ...pod } } as const;
  return { ...quietNode, actions: [comes, ...actions] };
}

/** A container that fails its liveness probe in its first three runs, and exits with code 0 each time. */
const ill: ContainerPlan = {
  ...{ name: 'main', runs: [{}], version: 1, termExitCode: 0 },
  probes: { liveness: { periodSeconds: 1, wellAfterMs: 0, illAfterMs: 2000, illRuns: 3 } },
};
const illUnderOnFailure = scenario({ restartPolicy: 'OnFailure', containers: [ill] });

/** The kubelet is killed while the container waits for its back-off after the third run. */
const illAndKilled = scenario({ restartPolicy: 'OnFailure', containers: [ill] }, [
  { atMs: 17_500, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 100 },
]);

/** Hides the container notes of an earlier kubelet process from the next one. */
function losesNotes(): Decorations {
  return {
    files: (fs) =>
      changedFiles(fs, {
        open: (path, ...rest) => fs.open(path.endsWith('.notes.json') ? `${path}.lost` : path, ...rest),
      }),
  };
}

/** Changes the runtime status of the pod that the kubelet's syncs get. */
function seeing(change: (status: RuntimePodStatus) => RuntimePodStatus): Decorations {
  return steps((inner) => ({
    syncPod: (type, pod, mirror, status, signal) => inner.syncPod(type, pod, mirror, change(status), signal),
  }));
}

/** Makes the runtime report every container as running. */
function deafToEnds(): Decorations {
  const state = ContainerState.CONTAINER_RUNNING;
  return {
    cri: (cri) =>
      changed(cri, {
        listContainers: async (request, signal) => {
          const { containers } = await cri.listContainers(request, signal);
          return { containers: containers.map((container) => ({ ...container, state })) };
        },
        containerStatus: async (request, signal) => {
          const answer = await cri.containerStatus(request, signal);
          return { ...answer, status: answer.status && { ...answer.status, state } };
        },
      }),
  };
}

/** After SIGTERM, one container runs for a long time and the other exits immediately. */
const slowEnd = scenario(
  {
    graceSeconds: 120,
    containers: [
      { name: 'main', runs: [{}], version: 1 },
      { name: 'slow', runs: [{}], version: 1, stopDelayMs: 100_000 },
    ],
  },
  [{ atMs: 60_000, do: 'removeManifest', file: 'p1.yaml' }],
);

/** One container of a pod of the API exits and is not restarted, and its record is removed while no kubelet runs. */
const endedForGood: Scenario = {
  ...quietNode,
  node: { ...quietNode.node, cluster: true },
  actions: [
    {
      ...{ atMs: 100, do: 'apiCreate' },
      pod: {
        ...healthy,
        restartPolicy: 'OnFailure',
        containers: [
          { name: 'main', runs: [{ exitAfterMs: 1000, exitCode: 1 }, { exitAfterMs: 3000 }], version: 1 },
          { name: 'two', runs: [{}], version: 1 },
        ],
      },
    },
    { atMs: 30_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 3000 },
    { atMs: 31_000, do: 'removeRecords' },
  ],
};

/** An ephemeral container has run, and its record is removed while no kubelet runs. */
const debugged: Scenario = {
  ...endedForGood,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: healthy },
    ...[{ atMs: 5000, do: 'apiDebug', name: 'p1', uid: 'u1' } as const].map((action) => ({
      ...action,
      container: { name: 'debug', runs: [{ exitAfterMs: 2000 }], version: 1 },
    })),
    ...endedForGood.actions.slice(1),
  ],
};

/** A container with a preStop hook and a liveness probe that never fails exits with code 0. */
const endsWell = scenario({
  restartPolicy: 'OnFailure',
  containers: [
    {
      ...{ name: 'main', runs: [{ exitAfterMs: 5000 }], version: 1, preStopSeconds: 1 },
      probes: { liveness: { periodSeconds: 1, wellAfterMs: 0 } },
    },
  ],
});

/**
 * A trace in which a restarted kubelet has read the records of init containers, which are then removed. In the trace,
 * the clock was set back before the removal.
 */
const { scenario: readBeforeRemoval } = JSON.parse(
  readFileSync(new URL('./once-broken/c3-99003687.json', import.meta.url), 'utf8'),
) as { readonly scenario: Scenario };

/** Removes the statuses of some containers of the pod from the API when the second kubelet starts. */
function losesStatuses(list: 'containerStatuses' | 'ephemeralContainerStatuses' = 'containerStatuses'): Decorations {
  let kubelets = 0;
  return {
    api: (inner) => {
      let isDue = ++kubelets === 2;
      return async (request, signal) => {
        if (!isDue) return inner(request, signal);
        isDue = false;
        const path = '/api/v1/namespaces/default/pods/p1/status';
        const headers = { 'content-type': 'application/strategic-merge-patch+json' };
        const body = JSON.stringify({ status: { [list]: null } });
        await inner({ ...request, method: 'PATCH', path, headers, body }, signal);
        return inner(request, signal);
      };
    },
  };
}

/** An init container completes, and its record is kept. */
const initCompletes = scenario({
  restartPolicy: 'Never',
  init: [
    { name: 'side', runs: [{}], version: 1, restartPolicy: 'Always' },
    { name: 'init', runs: [{ exitAfterMs: 3000 }], version: 1 },
  ],
});

/** Hides the record of the exited init container from the kubelet. */
function overlooksExit(): Decorations {
  return seeing((status) => ({
    ...status,
    containers: status.containers.filter(({ name, state }) => name !== 'init' || state !== 'exited'),
  }));
}

seenBroken([
  ['C6', 'the kubelet overlooks the exit of an init container with policy Never', overlooksExit, initCompletes],
  [
    'C6',
    'a kubelet that starts finds no statuses of containers whose records are gone',
    () => losesStatuses(),
    endedForGood,
  ],
  [
    'C6',
    'a kubelet that starts finds no status of an ephemeral container that was shown running',
    () => losesStatuses('ephemeralContainerStatuses'),
    debugged,
  ],
  [
    'C6',
    'exit code 0 counts as failed if the liveness probe had not reached its failure threshold',
    () =>
      seeing((status) => ({
        ...status,
        containers: status.containers.map((one) => (one.state === 'exited' ? { ...one, exitCode: 1 } : one)),
      })),
    endsWell,
  ],
  [
    'C3',
    'a kubelet forgets in which sandbox it has seen the containers whose records are gone',
    () => seeing(({ removed: _, ...status }) => status),
    readBeforeRemoval,
  ],
  [
    'P7',
    'the decision to restart a container is lost after it has exited with 0',
    () =>
      seeing((status) => ({
        ...status,
        containers: status.containers.map(({ restartOwed: _, ...container }) => container),
      })),
    illUnderOnFailure,
  ],
  ['P7', 'the notes about a container that must be restarted are lost with the kubelet', losesNotes, illAndKilled],
  ['S7', 'an exited container is reported as running until all containers of the pod have exited', deafToEnds, slowEnd],
]);
