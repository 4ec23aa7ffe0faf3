import { type Invariant, invariant, judged } from './invariant.ts';

/** C1: never two live containers of the same name in one pod. */
export const oneOfAName: Invariant = invariant('C1', () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const twin = facts.liveOf(life.podUid).find((other) => other !== life && other.name === life.name);
  return judged(
    twin &&
      `container ${life.name} of pod ${life.podUid} starts as attempt ${life.attempt} while attempt ${twin.attempt} runs`,
  );
});
