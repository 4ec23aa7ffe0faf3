// From packages/container-gc/README.md, which explains the program.
import { defaultPolicy, type GcContainer, planContainerGc } from '@node-agent/container-gc';

// The rule alone: which containers go. `ContainerGc` carries it out against a runtime.
const containers: GcContainer[] = [
  { id: 'newest', podUid: 'a', name: 'app', attempt: 1, state: 'exited', createdAtMs: 3 },
  { id: 'older', podUid: 'a', name: 'app', attempt: 0, state: 'exited', createdAtMs: 2 },
  { id: 'busy', podUid: 'b', name: 'app', attempt: 0, state: 'running', createdAtMs: 1 },
];
const pods = { shouldPodContentBeRemoved: () => false, shouldPodRuntimeBeRemoved: () => false };
const options = { allSourcesReady: true, evictNonDeletedPods: false };
console.log(planContainerGc(containers, defaultPolicy, 1000, pods, options).map(({ id }) => id)); // [ 'older' ]
