import { type Invariant, invariant, judged } from './invariant.ts';

function isTerminal(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** S1: a terminal phase stays as it is. */
export const terminalStays: Invariant = invariant('S1', () => {
  const phases = new Map<string, string | undefined>();
  return (observation) => {
    if (observation.kind === 'kubeletStarted') phases.clear();
    if (observation.kind !== 'status') return undefined;
    const { pod, status, version } = observation.status;
    const { uid } = pod.metadata;
    const before = version === 1 ? undefined : phases.get(uid);
    phases.set(uid, status.phase);
    return judged(
      isTerminal(before) && before !== status.phase && `pod ${uid} was ${before} and becomes ${status.phase}`,
    );
  };
});

/** S2: a pod is shown as terminal only when none of its containers runs. */
export const terminalIsStopped: Invariant = invariant('S2', () => (observation, facts) => {
  if (observation.kind !== 'status' || !isTerminal(observation.status.status.phase)) return undefined;
  const { uid } = observation.status.pod.metadata;
  const life = facts.liveOf(uid)[0];
  return judged(life && `pod ${uid} is ${observation.status.status.phase} while container ${life.name} runs`);
});

/** S3: versions of a status only grow, and so do restart counts. */
export const versionsGrow: Invariant = invariant('S3', () => {
  const seen = new Map<string, { readonly version: number; readonly restarts: ReadonlyMap<string, number> }>();
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') seen.clear();
    if (observation.kind !== 'status') return undefined;
    const { pod, status, version } = observation.status;
    const { uid } = pod.metadata;
    const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    const restarts = new Map(containers.map(({ name, restartCount }) => [name, restartCount]));
    const before = version === 1 ? undefined : seen.get(uid);
    seen.set(uid, { version, restarts });
    if (before === undefined) return undefined;
    if (version <= before.version) return { wrong: `status ${version} of pod ${uid} comes after ${before.version}` };
    // A UID that came again is another pod: what is left of the first in the runtime goes.
    if (facts.lastUnwantedAtMs(uid) > facts.kubeletStartedAtMs) return 'ok';
    for (const [name, count] of restarts) {
      const old = before.restarts.get(name) ?? 0;
      if (count < old) return { wrong: `container ${name} of pod ${uid} had ${old} restarts and now has ${count}` };
    }
    return 'ok';
  };
});
