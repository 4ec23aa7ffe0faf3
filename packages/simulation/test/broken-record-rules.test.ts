import { ContainerState } from '@node-agent/cri-client';
import type { RuntimePodStatus } from '@node-agent/pod-spec';
import type { ContainerPlan, Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changed, healthy, quietNode, seenBroken, steps } from './mutants.ts';

function scenario(pod: Partial<PodPlan>, actions: Scenario['actions'] = []): Scenario {
  const comes = { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, ...pod } } as const;
  return { ...quietNode, actions: [comes, ...actions] };
}

/** Fails its liveness probe three times, and ends with exit code 0 each time. */
const ill: ContainerPlan = {
  ...{ name: 'main', runs: [{}], version: 1, termExitCode: 0 },
  probes: { liveness: { periodSeconds: 1, wellAfterMs: 0, illAfterMs: 2000, illRuns: 3 } },
};
const illUnderOnFailure = scenario({ restartPolicy: 'OnFailure', containers: [ill] });

/** A kubelet whose syncs look at statuses in which something is missing. */
function seeing(change: (status: RuntimePodStatus) => RuntimePodStatus): Decorations {
  return steps((inner) => ({
    syncPod: (type, pod, mirror, status, signal) => inner.syncPod(type, pod, mirror, change(status), signal),
  }));
}

/** A runtime of which every container is taken to run. */
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

/** One container runs for a long time to its end after SIGTERM, the other one ends at once. */
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
    'the decision to start a container again is forgotten once it has ended with 0',
    () =>
      seeing((status) => ({
        ...status,
        containers: status.containers.map(({ restartOwed: _, ...container }) => container),
      })),
    illUnderOnFailure,
  ],
  ['S7', 'the runtime is not believed that a container has ended before the last one of its pod', deafToEnds, slowEnd],
]);
