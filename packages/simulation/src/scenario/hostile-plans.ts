import type { Action } from './actions.ts';
import { diceOf } from './dice.ts';
import type { PodPlan } from './plans.ts';
import { mapPods, podsOf } from './pods-of-actions.ts';

/** Kinds of content that a container leaves in its files. See `HostileWriter`. */
export type HostileKind = 'names' | 'special' | 'links' | 'deep' | 'many' | 'hosts' | 'message';
const HOSTILE_KINDS: readonly HostileKind[] = ['names', 'special', 'links', 'deep', 'many', 'hosts', 'message'];

/**
 * Adds pods that fill their files with hostile content (W5), and pods that mount a file system which hangs for some
 * time (W6). Both kinds of pods are drawn with random numbers of their own, so that the rest of a scenario stays the
 * same.
 */
export function withHostility(seed: number, actions: readonly Action[]): readonly Action[] {
  const drawn = mapPods(actions, (pod) => withForeign(seed, pod));
  const pods = drawn.flatMap((action) => podsOf(action).map((pod) => ({ atMs: action.atMs, pod })));
  return [...drawn, ...hangs(seed, pods), ...pods.flatMap(({ atMs, pod }) => writes(seed, atMs, pod))];
}

/** Adds the foreign mount to some pods. Every version of a pod gets the same mounts. */
function withForeign(seed: number, pod: PodPlan): PodPlan {
  return diceOf(seed, pod.uid, 'foreign').chance(0.12) ? { ...pod, foreign: true } : pod;
}

/** Draws a hang of the foreign file system around the time at which the first pod that mounts it is created. */
function hangs(seed: number, pods: readonly { readonly atMs: number; readonly pod: PodPlan }[]): readonly Action[] {
  const first = pods.find(({ pod }) => pod.foreign);
  if (first === undefined) return [];
  const dice = diceOf(seed, first.pod.uid, 'hang');
  const atMs = Math.max(0, first.atMs + dice.between(-2000, 2000));
  return [{ atMs, do: 'hangForeign', forMs: dice.between(1000, 60_000) }];
}

function writes(seed: number, atMs: number, { uid, emptyDir }: PodPlan): readonly Action[] {
  const dice = diceOf(seed, uid, 'files');
  if (!emptyDir || !dice.chance(0.4)) return [];
  const what = HOSTILE_KINDS.filter(() => dice.chance(0.5));
  return what.length === 0 ? [] : [{ atMs: atMs + dice.between(500, 30_000), do: 'hostileFiles', uid, what }];
}
