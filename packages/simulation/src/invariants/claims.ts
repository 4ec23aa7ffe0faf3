import type { Facts } from '../facts/facts.ts';
import { claimName } from '../scenario/claim-plans.ts';
import type { PodPlan } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';

/** N11: a container starts with the device of its claim, which no container of another claim has. */
export const claimsAreOnes: Invariant = invariant('N11', ['containerStarted'], () => ({ life }, facts) => {
  const plan = facts.pods.planOf(life.podUid);
  if (plan?.claim === undefined || facts.node.claims === undefined) return undefined;
  // Ephemeral containers have no claims.
  if (![...plan.init, ...plan.containers].some(({ name }) => name === life.name)) return undefined;
  if (life.claimed.length !== 1)
    return { wrong: `${subject(life)} started with devices ${life.claimed.join() || 'none'}` };
  const other = facts.lives.running.find(
    (one) => isOfAnotherClaim(one, plan, facts) && one.claimed[0] === life.claimed[0],
  );
  return judged(
    other &&
      `${subject(life)} started with ${life.claimed[0]} while ${subject(other)} of another claim is running with it`,
  );
});

/** N11: a claim is prepared once, before its containers start, and is unprepared after the containers have stopped. */
export const claimsAreHeld: Invariant = invariant(
  'N11',
  ['containerStarted', 'claimCall'],
  () => (observation, facts) => {
    const { claims } = facts;
    if (observation.kind === 'containerStarted') {
      const { life } = observation;
      if (life.claimed.length === 0) return undefined;
      const claim = claimOf(life, facts);
      return judged(!claims.isPrepared(claim) && `${subject(life)} started although ${claim} is not prepared`);
    }
    const { claim, call, phase } = observation;
    if (phase !== 'began') return undefined;
    const users = facts.lives.running.filter((life) => life.claimed.length > 0 && claimOf(life, facts) === claim);
    if (call === 'unprepare') {
      return judged(users[0] && `${claim} is unprepared while ${subject(users[0])} is running with it`);
    }
    // A restarted kubelet prepares a shared claim again for the next pod, as upstream's kubelet does. Until then, it
    // starts containers in existing sandboxes with the devices in its checkpoint.
    const preparedAtMs = claims.answeredAtMs(claim);
    const mayRepeat = (life: Life): boolean =>
      facts.pods.planOf(life.podUid)?.claim === 'shared' && preparedAtMs < facts.kubeletStartedAtMs;
    const known = users.find((life) => life.startedAtMs >= preparedAtMs && !mayRepeat(life));
    return judged(known && `${claim} is prepared again while ${subject(known)} is running with it`);
  },
);

/** N11: a pod is shown as terminated, or deleted, after its claim was unprepared. */
export const claimsGoFirst: Invariant = invariant('N11', ['apiRequest'], () => {
  const shownOver = new Set<string>();
  return ({ request, shown }, facts) => {
    const { verb, resource, status, uid } = request;
    if (facts.node.claims === undefined || uid === undefined || resource.split('/')[0] !== 'pods') return undefined;
    const plan = facts.pods.planOf(uid);
    if (plan?.claim !== 'own' || shownOver.has(uid) || status !== 200) return undefined;
    const isOver = shown?.phase === 'Succeeded' || shown?.phase === 'Failed';
    if (!isOver && verb !== 'delete') return undefined;
    if (isOver) shownOver.add(uid);
    const claim = claimName(plan);
    return judged(facts.claims.isPrepared(claim) && `pod ${uid} is over in the API although ${claim} is prepared`);
  };
});

/** N11: in the final state, no claim is prepared that no wanted pod uses. */
export const claimsAreGivenBack: Invariant = invariant(
  'N11',
  ['end'],
  () => (_, facts) => (facts.node.claims === undefined ? undefined : judged(claimLeft(facts))),
);

/** W6: a DRA driver that hangs delays only pods with claims. */
export const claimsHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.claims.troubledUntilMs > facts.nowMs,
    (pod) =>
      pod.claim !== undefined || pod.foreign === true || pod.containers.some(({ slowImage }) => slowImage === true),
  ),
);

/** Returns a claim that is prepared although no pod wants it. */
export function claimLeft({ claims, pods }: Pick<Facts, 'claims' | 'pods'>): string | undefined {
  const wanted = new Set([...pods.wanted.values()].filter(({ claim }) => claim !== undefined).map(claimName));
  const left = claims.prepared.find((claim) => !wanted.has(claim));
  return left && `${left} is prepared although no pod wants it`;
}

function isOfAnotherClaim(life: Life, plan: PodPlan, facts: Facts): boolean {
  return life.claimed.length > 0 && claimOf(life, facts) !== claimName(plan);
}

function claimOf({ podUid }: Life, { pods }: Facts): string {
  const plan = pods.planOf(podUid);
  return plan === undefined ? '' : claimName(plan);
}

function subject({ podUid, name }: Life): string {
  return `container ${name} of pod ${podUid}`;
}
