import type { Json } from './differences.ts';

/** The names that a side has of its own, and what stands for each: in both sides the same. */
export type OwnNames = Readonly<Record<string, string>>;

/** Times, numbers of processes and the like, by the name of their field: only whether they are there is compared. */
const CHANCE = new Set([
  ...['createdAt', 'startedAt', 'finishedAt', 'pid', 'CNIResult', 'cniResult', 'lastTransitionTime', 'startTime'],
  ...['creationTimestamp', 'resourceVersion', 'managedFields', 'uid', 'Port', 'lastHeartbeatTime', 'ip', 'podIP'],
]);
/** Lists that have no order. */
const UNORDERED = new Set(['envs', 'env', 'hugepage_limits']);

/** A document of one side without what is chance: times, ids, addresses, the side's own names. */
export function normalise(document: Json, names: OwnNames, field = ''): Json {
  if (CHANCE.has(field) && document !== null && document !== '') return `<${field}>`;
  if (typeof document === 'string') return normaliseText(document, names);
  if (typeof document !== 'object' || document === null) return document;
  if (Array.isArray(document)) {
    const items = document.map((item: Json) => normalise(item, names));
    if (!UNORDERED.has(field)) return items;
    return items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return Object.fromEntries(
    Object.entries(document).map(([key, value]) => [normaliseText(key, names), normalise(value, names, key)]),
  );
}

/** A text without times, ids, addresses of pods, and the side's own names. */
export function normaliseText(text: string, names: OwnNames): string {
  let result = text;
  // Longer ones first: one may be a part of another.
  for (const [name, stands] of Object.entries(names).sort(([a], [b]) => b.length - a.length)) {
    result = result.replaceAll(name, stands);
  }
  return (
    result
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/[0-9a-f]{64}/g, '<id>')
      // The UID of a manifest's pod is a hash of it, of its file and its node; its group is called `pod` and that.
      .replaceAll(/(?<=(?:^|[^0-9a-f])(?:pod)?)[0-9a-f]{32}(?![0-9a-f])/g, '<uid>')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')
      .replaceAll(/10\.2[23]\d\.\d+\.\d+/g, '<ip>')
      .replaceAll(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access')
      // Whether the token was there when the others were first waited for is chance.
      .replaceAll(/(?<=unmounted volumes=\[)kube-api-access (?=\S)/g, '')
      .replaceAll(/\/proc\/\d+/g, '/proc/<pid>')
      // Of a name that has the side's in it.
      .replaceAll(/\d+ characters requested/g, '<count> characters requested')
      .replaceAll(/back-off \w+ restarting/g, 'back-off <delay> restarting')
      .replace(/\/[0-9a-f]{8}$/, '/<hash>')
  );
}
