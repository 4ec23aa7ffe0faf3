import type { ContainerPlan, Decorations, ProbePlans, Scenario } from '../src/index.ts';
import { healthy, quietNode, seenBroken } from './mutants.ts';

function probed(probes: ProbePlans): Scenario {
  const main: ContainerPlan = { name: 'main', runs: [{}], version: 1, probes };
  const pod = { ...healthy, containers: [main] };
  return { ...quietNode, actions: [{ atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod }] };
}

const slow = { periodSeconds: 1, wellAfterMs: 5000 };
const steady = { periodSeconds: 1, wellAfterMs: 0 };

/** Makes every probe succeed for the kubelet. */
const deaf: () => Decorations = () => ({
  probes: (ask) => async (request, timeoutMs, signal) => {
    await ask(request, timeoutMs, signal);
    return { kind: 'answer', status: 200, body: '' };
  },
});

/** Makes every fifth probe hang forever. */
function slowPort(): Decorations {
  let count = 0;
  return {
    probes: (ask) => async (request, timeoutMs, signal) => {
      count++;
      return count % 5 === 0 ? await new Promise(() => {}) : await ask(request, timeoutMs, signal);
    },
  };
}

const ill = { ...steady, illAfterMs: 2000, illRuns: 1 };

seenBroken([
  ['R2', 'a failed liveness probe of a reported run counts as succeeded', deaf, probed({ liveness: ill })],
  ['R1', 'a failed startup probe counts as succeeded', deaf, probed({ startup: slow, readiness: steady })],
  ['R3', 'a probe exceeds its timeout', slowPort, probed({ readiness: steady })],
]);
