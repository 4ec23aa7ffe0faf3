import type { Action } from './actions.ts';
import { diceOf } from './dice.ts';
import { generatePod } from './generate-pod.ts';

type Deletion = Extract<Action, { readonly do: 'apiDelete' }>;

/** Fraction of additional pods to delete, and fraction of deleted pods that are recreated under the same name. */
const GO = 0.25;
const COME_AGAIN = 0.5;
/**
 * Fraction of deletions with an explicit grace period, and fraction of deletions that are repeated with a shorter grace
 * period.
 */
const OWN_GRACE = 0.2;
const ASKED_AGAIN = 0.25;
/** Pods deleted after this time are not recreated, so a scenario can end without pods. */
const LAST_MS = 60_000;

/**
 * Adds pods of the API that are recreated under another UID, as by a StatefulSet, and users who shorten the grace
 * period of a deletion. These pods and deletions are drawn with random numbers of their own, so that the rest of a
 * scenario stays the same.
 */
export function withDeletions(seed: number, actions: readonly Action[]): readonly Action[] {
  const more = [
    ...actions,
    ...actions.flatMap((action) => (action.do === 'apiCreate' ? gone(seed, action, actions) : [])),
  ];
  const all = [...more, ...more.flatMap((action) => (action.do === 'apiDelete' ? successor(seed, action) : []))];
  const graceOf = new Map(
    all.flatMap((action) => (action.do === 'apiCreate' ? [[action.pod.uid, action.pod.graceSeconds] as const] : [])),
  );
  return all.flatMap((action) =>
    action.do === 'apiDelete' ? impatient(seed, action, graceOf.get(action.uid) ?? 1) : [action],
  );
}

function gone(
  seed: number,
  { atMs, pod: { name, uid } }: Extract<Action, { readonly do: 'apiCreate' }>,
  actions: readonly Action[],
): readonly Deletion[] {
  const dice = diceOf(seed, uid, 'goes');
  const isLeft = actions.every((one) => one.do !== 'apiDelete' || one.uid !== uid || one.atMs >= LAST_MS);
  if (!isLeft || !dice.chance(GO)) return [];
  const goesMs = Math.min(LAST_MS - 1, atMs + dice.between(0, 40_000));
  return [{ atMs: goesMs, do: 'apiDelete', name, uid, force: dice.chance(0.3) }];
}

function successor(seed: number, { atMs: deletedMs, name, uid }: Deletion): readonly Action[] {
  const dice = diceOf(seed, uid, 'successor');
  if (deletedMs >= LAST_MS || !dice.chance(COME_AGAIN)) return [];
  const atMs = deletedMs + (dice.chance(0.5) ? 0 : dice.between(1, 4000));
  const pod = generatePod(dice, name, `${uid}-next`);
  const goesMs = Math.min(LAST_MS - 1, atMs + dice.between(0, 30_000));
  const goes: Deletion = { atMs: goesMs, do: 'apiDelete', name, uid: pod.uid, force: dice.chance(0.3) };
  const created: Action = { atMs, do: 'apiCreate', pod };
  return dice.chance(0.5) ? [created, goes, ...successor(seed, goes)] : [created];
}

/**
 * Returns a deletion together with the repetition by which an impatient user shortens its grace period, if any.
 * @param most the grace period in the pod's spec
 */
function impatient(seed: number, deletion: Deletion, most: number): readonly Action[] {
  const dice = diceOf(seed, deletion.uid, 'grace');
  if (deletion.force) return [deletion];
  const first = dice.chance(OWN_GRACE) ? { ...deletion, graceSeconds: dice.between(1, most) } : deletion;
  if (!dice.chance(ASKED_AGAIN)) return [first];
  const atMs = deletion.atMs + dice.between(100, 8000);
  const force = dice.chance(0.3);
  return [first, { ...deletion, atMs, force, ...(!force && { graceSeconds: dice.between(1, Math.min(3, most)) }) }];
}
