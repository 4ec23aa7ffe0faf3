import type { Json } from './differences.ts';

/** Placeholders for names that only one side has, by name. */
export type OwnNames = Readonly<Record<string, string>>;

/**
 * Names of fields with times, process IDs and similar values that depend on chance. Only the presence of these fields
 * is compared.
 */
const CHANCE = new Set([
  ...['createdAt', 'startedAt', 'finishedAt', 'pid', 'CNIResult', 'cniResult', 'lastTransitionTime', 'startTime'],
  ...['creationTimestamp', 'resourceVersion', 'managedFields', 'uid', 'Port', 'lastHeartbeatTime', 'ip', 'podIP'],
]);
/**
 * Names of fields with lists that have no defined order. Lists without a defined order are sorted before the
 * comparison.
 */
const UNORDERED = new Set(['envs', 'env', 'hugepage_limits', 'volumesInUse', 'volumesAttached', 'drivers']);
/** Major number of loop devices. Their minor numbers depend on which devices are free. */
const LOOP_MAJOR = 7;

/** Replaces times, IDs, addresses and the side's own names in a document by placeholders. */
export function normalise(document: Json, names: OwnNames, field = ''): Json {
  if (CHANCE.has(field) && document !== null && document !== '') return `<${field}>`;
  if (typeof document === 'string') return normaliseText(document, names);
  if (typeof document !== 'object' || document === null) return document;
  if (Array.isArray(document)) {
    const items = document.map((item: Json) => normalise(item, names));
    if (!UNORDERED.has(field)) return items;
    return items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  const isLoop = (document as { readonly [key: string]: Json }).major === LOOP_MAJOR;
  return Object.fromEntries(
    Object.entries(document).map(([key, value]) => [
      normaliseText(key, names),
      isLoop && key === 'minor' ? '<minor>' : normalise(value, names, key),
    ]),
  );
}

/** Replaces times, IDs, pod addresses and the side's own names in a text by placeholders. */
export function normaliseText(text: string, names: OwnNames): string {
  let result = text;
  // Longer names come first, because one name may be part of another.
  for (const [name, stands] of Object.entries(names).sort(([a], [b]) => b.length - a.length)) {
    result = result.replaceAll(name, stands);
  }
  return (
    result
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/[0-9a-f]{64}/g, '<id>')
      // The UID of a static pod is a hash of the pod, its file and its node. In the name of a cgroup, `pod` precedes
      // the UID.
      .replaceAll(/(?<=(?:^|[^0-9a-f])(?:pod)?)[0-9a-f]{32}(?![0-9a-f])/g, '<uid>')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')
      .replaceAll(/10\.2[23]\d\.\d+\.\d+/g, '<ip>')
      .replaceAll(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access')
      // The volume of the service account token is removed from the list, because timing decides whether it was mounted
      // at the first timeout.
      .replaceAll(/(?<=unmounted volumes=\[)kube-api-access (?=\S)/g, '')
      .replaceAll(/\/proc\/\d+/g, '/proc/<pid>')
      .replaceAll(/(?<=(^|\s|dev)\/)loop\d+/g, 'loop<n>')
      // The count depends on the length of the host name, which differs between the two compared kubelets.
      .replaceAll(/\d+ characters requested/g, '<count> characters requested')
      .replaceAll(/back-off \w+ restarting/g, 'back-off <delay> restarting')
      .replace(/\/[0-9a-f]{8}$/, '/<hash>')
  );
}
