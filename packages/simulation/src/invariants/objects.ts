import type { Facts } from '../facts/facts.ts';
import type { ClusterLook } from '../observation.ts';
import type { MountedObject } from '../world/mounted-objects.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** W4: a container starts only when there has been what its pod must have. */
export const objectsFirst: Invariant = invariant('W4', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { podUid, name } = observation.life;
  const needed = (facts.pods.planOf(podUid)?.objects ?? []).filter(({ optional }) => !optional);
  if (needed.length === 0) return undefined;
  const missing = needed.find((object) => facts.objects.ever(object).size === 0);
  return judged(missing && `container ${name} of pod ${podUid} starts, and there has never been ${missing.name}`);
});

/** W4: the files of a secret or config map change all at once; in the end they say what the API says. */
export const objectsAreWhole: Invariant = invariant('W4', ['end', 'health'], () => (observation, facts) => {
  const look = observation.kind === 'end' ? observation.look.cluster : undefined;
  const cluster = observation.kind === 'health' ? observation.cluster : look;
  const running = cluster?.mounted.filter(({ podUid }) => isInUse(podUid, facts)) ?? [];
  if (running.length === 0) return undefined;
  return judged(running.map((mounted) => fault(mounted, facts)).find(Boolean) ?? (look && mountedFault(facts, look)));
});

/** Which volumes do not say what the API says. */
export function mountedFault(facts: Facts, { mounted }: ClusterLook): string | undefined {
  for (const { podUid, object, contents } of mounted) {
    const current = facts.objects.current(object);
    if (!isInUse(podUid, facts) || contents[0] === current) continue;
    // What is gone stays as it was for those who cannot do without it.
    const optional = facts.pods.planOf(podUid)?.objects?.find(({ name }) => name === object.name)?.optional;
    if (current === undefined && !optional) continue;
    // Where another is missing, the pod's volumes are not brought up to date.
    const pod = facts.pods.planOf(podUid);
    if (pod === undefined || facts.objects.isHeldBack(pod)) continue;
    return `volume ${object.name} of pod ${podUid} says ${contents[0]}, the API ${current}`;
  }
  return undefined;
}

function isInUse(podUid: string, facts: Facts): boolean {
  return facts.pods.wanted.has(podUid) && facts.lives.runningOf(podUid).length > 0;
}

function fault({ podUid, object, contents }: MountedObject, facts: Facts): string | undefined {
  const [first] = contents;
  const where = `volume ${object.name} of pod ${podUid}`;
  if (contents.some((text) => text !== first)) return `${where} is of several versions: ${contents.join(', ')}`;
  if (first !== undefined) return facts.objects.ever(object).has(first) ? undefined : `${where} says ${first}`;
  const optional = facts.pods.planOf(podUid)?.objects?.find(({ name }) => name === object.name)?.optional;
  return optional ? undefined : `${where} is empty, and a container runs that must have it`;
}
