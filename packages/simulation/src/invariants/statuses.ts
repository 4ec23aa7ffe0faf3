import { bareContainerId } from '@node-agent/pod-spec';
import { SEEN_MS } from '../facts/manifest-facts.ts';
import type { Observation } from '../observation.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

function isTerminal(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Start times of terminations, until the next sync of each pod. */
class Endings {
  readonly #atMs = new Map<string, number>();

  observe(observation: Observation): void {
    if (observation.kind === 'kubeletStarted') this.#atMs.clear();
    if (observation.kind !== 'stepBegan') return;
    const { step, uid, atMs } = observation;
    if (step === 'syncPod') this.#atMs.delete(uid);
    if (step === 'syncTerminatingPod' && !this.#atMs.has(uid)) this.#atMs.set(uid, atMs);
  }

  atMs(uid: string): number | undefined {
    return this.#atMs.get(uid);
  }
}

/** S1: a terminal phase never changes. */
export const terminalStays: Invariant = invariant('S1', ['kubeletStarted', 'stepBegan', 'status'], () => {
  const phases = new Map<string, { readonly phase: string | undefined; readonly atMs: number }>();
  const endings = new Endings();
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') phases.clear();
    if (observation.kind === 'stepBegan' && observation.step === 'syncPod') {
      const { uid } = observation;
      const endingAtMs = endings.atMs(uid);
      // The terminated pod was unwanted for some time. The kubelet may have noticed late that the pod is wanted again.
      if (endingAtMs !== undefined && facts.pods.lastUnwantedAtMs(uid) >= endingAtMs - SEEN_MS) phases.delete(uid);
    }
    endings.observe(observation);
    if (observation.kind !== 'status') return undefined;
    const { pod, status, version } = observation.status;
    const { uid } = pod.metadata;
    const last = phases.get(uid);
    // A pod that was added again under the same UID counts as another pod.
    const before = version === 1 || facts.pods.lastUnwantedAtMs(uid) >= (last?.atMs ?? 0) ? undefined : last?.phase;
    phases.set(uid, { phase: status.phase, atMs: observation.atMs });
    return judged(
      isTerminal(before) && before !== status.phase && `pod ${uid} changed from ${before} to ${status.phase}`,
    );
  };
});

/** S2: a pod is finished only when none of its containers is running, and no container starts afterwards. */
export const terminalIsStopped: Invariant = invariant(
  'S2',
  ['kubeletStarted', 'stepBegan', 'containerStarted', 'status'],
  () => {
    const endings = new Endings();
    const finished = new Set<string>();
    return (observation, facts) => {
      if (observation.kind === 'kubeletStarted') finished.clear();
      endings.observe(observation);
      if (observation.kind === 'containerStarted') {
        const { podUid, name } = observation.life;
        if (!finished.has(podUid) || facts.pods.lastUnwantedAtMs(podUid) > facts.kubeletStartedAtMs) return undefined;
        // A pod that was added again under the same UID counts as another pod.
        if (facts.pods.lastUnwantedAtMs(podUid) >= (endings.atMs(podUid) ?? 0) - SEEN_MS) return undefined;
        return { wrong: `container ${name} of pod ${podUid} started after its pod was finished` };
      }
      if (observation.kind !== 'status' || !observation.status.finished) return undefined;
      const { uid } = observation.status.pod.metadata;
      finished.add(uid);
      const life = facts.lives.runningOf(uid)[0];
      return judged(life && `pod ${uid} was finished while container ${life.name} is running`);
    };
  },
);

/** S3: status versions and restart counts never decrease. */
export const versionsGrow: Invariant = invariant('S3', ['kubeletStarted', 'status'], () => {
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
    if (version <= before.version)
      return { wrong: `status version ${version} of pod ${uid} follows version ${before.version}` };
    // A pod that was added again under the same UID counts as another pod, and the runtime's records of the previous
    // pod are removed.
    if (facts.pods.lastUnwantedAtMs(uid) > facts.kubeletStartedAtMs) return 'ok';
    for (const [name, count] of restarts) {
      const old = before.restarts.get(name) ?? 0;
      if (count < old) return { wrong: `container ${name} of pod ${uid} had ${old} restarts and now has ${count}` };
    }
    return 'ok';
  };
});

/** S3: the API shows a pod with its own status, and not with the status of an earlier pod of the same name. */
export const statusesAreOwn: Invariant = invariant('S3', ['apiRequest'], () => (observation, facts) => {
  const { shown } = observation;
  if (shown === undefined || shown.mirror || shown.containers === '') return undefined;
  for (const text of shown.containers.split('; ')) {
    const [name, id = ''] = text.split(' ');
    const life = facts.lives.byId(bareContainerId(id));
    if (life !== undefined && life.podUid !== shown.uid) {
      return { wrong: `pod ${shown.uid} is shown with container ${name} of pod ${life.podUid}` };
    }
  }
  return 'ok';
});
