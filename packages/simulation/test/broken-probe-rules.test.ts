import type { ContainerPlan, Decorations, ProbePlans, Scenario } from '../src/index.ts';
import { healthy, quietNode, seenBroken } from './mutants.ts';

function probed(probes: ProbePlans): Scenario {
  const main: ContainerPlan = { name: 'main', runs: [{}], version: 1, probes };
  const pod = { ...healthy, containers: [main] };
  return { ...quietNode, actions: [{ atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod }] };
}

const slow = { periodSeconds: 1, wellAfterMs: 5000 };
const steady = { periodSeconds: 1, wellAfterMs: 0 };

/** What the kubelet hears of probes is not what was said. */
const deaf: () => Decorations = () => ({
  probes: (ask) => async (request, timeoutMs, signal) => {
    await ask(request, timeoutMs, signal);
    return { kind: 'answer', status: 200, body: '' };
  },
});

/** Every so often a probe takes ten times as long as it may. */
function slowPort(): Decorations {
  let count = 0;
  return {
    probes: (ask) => async (request, timeoutMs, signal) => {
      count++;
      return count % 5 === 0 ? await new Promise(() => {}) : await ask(request, timeoutMs, signal);
    },
  };
}

seenBroken([
  [
    'R1',
    'a startup probe that fails is taken for one that succeeds',
    deaf,
    probed({ startup: slow, readiness: steady }),
  ],
  ['R3', 'a probe outlives its timeout', slowPort, probed({ readiness: steady })],
]);
