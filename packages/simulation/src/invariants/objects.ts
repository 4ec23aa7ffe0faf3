import type { Facts } from '../facts/facts.ts';
import type { ClusterLook } from '../observation.ts';
import type { MountedObject } from '../world/mounted-objects.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** W4: a container starts only after the secrets and config maps that its pod requires have existed. */
export const objectsFirst: Invariant = invariant('W4', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { podUid, name } = observation.life;
  const needed = (facts.pods.planOf(podUid)?.objects ?? []).filter(({ optional }) => !optional);
  if (needed.length === 0) return undefined;
  const missing = needed.find((object) => facts.objects.ever(object).size === 0);
  return judged(missing && `container ${name} of pod ${podUid} started although ${missing.name} has never existed`);
});

/**
 * W4: the files of a secret or config map change atomically. In the final state the content of these files equals the
 * content in the API.
 */
export const objectsAreWhole: Invariant = invariant('W4', ['end', 'health'], () => (observation, facts) => {
  const look = observation.kind === 'end' ? observation.look.cluster : undefined;
  const cluster = observation.kind === 'health' ? observation.cluster : look;
  const running = cluster?.mounted.filter(({ podUid }) => isInUse(podUid, facts)) ?? [];
  if (running.length === 0) return undefined;
  return judged(running.map((mounted) => fault(mounted, facts)).find(Boolean) ?? (look && mountedFault(facts, look)));
});

/** Returns a volume whose content differs from the API's. */
export function mountedFault(facts: Facts, { mounted }: ClusterLook): string | undefined {
  for (const { podUid, object, contents } of mounted) {
    const current = facts.objects.current(object);
    if (!isInUse(podUid, facts) || contents[0] === current) continue;
    // A volume that requires an object keeps the content of the object after its deletion.
    const optional = facts.pods.planOf(podUid)?.objects?.find(({ name }) => name === object.name)?.optional;
    if (current === undefined && !optional) continue;
    // The kubelet does not update any volume of a pod while an object that the pod requires is missing.
    const pod = facts.pods.planOf(podUid);
    if (pod === undefined || facts.objects.isHeldBack(pod)) continue;
    return `volume ${object.name} of pod ${podUid} contains ${contents[0]}, but the API has ${current}`;
  }
  return undefined;
}

function isInUse(podUid: string, facts: Facts): boolean {
  return facts.pods.wanted.has(podUid) && facts.lives.runningOf(podUid).length > 0;
}

function fault({ podUid, object, contents }: MountedObject, facts: Facts): string | undefined {
  const [first] = contents;
  const where = `volume ${object.name} of pod ${podUid}`;
  if (contents.some((text) => text !== first)) return `${where} mixes several versions: ${contents.join(', ')}`;
  if (first !== undefined) return facts.objects.ever(object).has(first) ? undefined : `${where} says ${first}`;
  const optional = facts.pods.planOf(podUid)?.objects?.find(({ name }) => name === object.name)?.optional;
  return optional ? undefined : `${where} is empty although a running container requires it`;
}
