import { ContainerState } from '@node-agent/cri-client';
import type { RuntimePodStatus } from '@node-agent/pod-spec';
import type { ContainerPlan, Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changed, healthy, quietNode, seenBroken, steps } from './mutants.ts';

function scenario(pod: Partial<PodPlan>, actions: Scenario['actions'] = []): Scenario {
  const comes = { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, ...pod } } as const;
  return { ...quietNode, actions: [comes, ...actions] };
}

/** Fails its liveness probe in its first three runs, and exits with code 0 each time. */
const ill: ContainerPlan = {
  ...{ name: 'main', runs: [{}], version: 1, termExitCode: 0 },
  probes: { liveness: { periodSeconds: 1, wellAfterMs: 0, illAfterMs: 2000, illRuns: 3 } },
};
const illUnderOnFailure = scenario({ restartPolicy: 'OnFailure', containers: [ill] });

/** The kubelet's syncs see a changed runtime status of the pod. */
function seeing(change: (status: RuntimePodStatus) => RuntimePodStatus): Decorations {
  return steps((inner) => ({
    syncPod: (type, pod, mirror, status, signal) => inner.syncPod(type, pod, mirror, change(status), signal),
  }));
}

/** The runtime reports every container as running. */
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

seenBroken([
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
  ['S7', 'an exited container is reported as running until all containers of the pod have exited', deafToEnds, slowEnd],
]);
