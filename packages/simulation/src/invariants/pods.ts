import { type Invariant, invariant, judged } from './invariant.ts';

/** P4: one running pod per static pod full name. */
export const oneOfAFullName: Invariant = invariant('P4', () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const other = facts.live.find(({ podName, podUid }) => podName === life.podName && podUid !== life.podUid);
  return judged(
    other &&
      `container ${life.name} of pod ${life.podUid} starts while container ${other.name} of pod ${other.podUid} runs: both pods are ${life.podName}`,
  );
});
