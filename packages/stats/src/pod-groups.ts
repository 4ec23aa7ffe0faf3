import type { GroupReader } from './group-reader.ts';
import type { StatsOptions } from './ports.ts';

/** Cgroup of a pod, with the cgroups of its containers and sandboxes by id. */
interface PodGroup {
  readonly uid: string;
  readonly path: string;
  readonly containers: ReadonlyMap<string, string>;
}

/** Cgroups of all pods. */
export interface PodGroups {
  /** Parents of pods' cgroups: the cgroup of all pods, and the cgroups of the QoS classes. */
  readonly parents: readonly string[];
  readonly pods: ReadonlyMap<string, PodGroup>;
}

/** Returns the current path of the cgroup of all pods. */
export function kubepodsOf({ kubepods = '/kubepods' }: Pick<StatsOptions, 'kubepods'>): string {
  return typeof kubepods === 'string' ? kubepods : kubepods();
}

/** Finds the cgroups below that of all pods, with the names of cgroupfs or systemd. */
export async function readPodGroups(reader: Pick<GroupReader, 'children'>, kubepods: string): Promise<PodGroups> {
  const parents = [kubepods];
  const pods = new Map<string, PodGroup>();
  const top = await reader.children(kubepods);
  const classes = top.filter(isQosClass).map((name) => ({ parent: `${kubepods}/${name}` }));
  for (const { parent } of classes) parents.push(parent);
  const found = [
    ...top.map((name) => ({ parent: kubepods, name })),
    ...(await Promise.all(
      classes.map(async ({ parent }) => (await reader.children(parent)).map((name) => ({ parent, name }))),
    )),
  ].flat();
  for (const { parent, name } of found) {
    const uid = podUidOfGroup(name);
    if (uid === undefined) continue;
    const path = `${parent}/${name}`;
    const containers = (await reader.children(path))
      // CRI-O's monitor process may have its own cgroup, which is named after the container but does not belong to it.
      .filter((child) => !child.startsWith('crio-conmon-'))
      .map((child) => [containerIdOfGroup(child), `${path}/${child}`] as const);
    pods.set(uid, { uid, path, containers: new Map(containers) });
  }
  return { parents, pods };
}

function isQosClass(name: string): boolean {
  return /^(?:kubepods-|.+-kubepods-)?(?:burstable|besteffort)(?:\.slice)?$/.test(name);
}

/**
 * Returns the pod UID from `pod1234-ab` (cgroupfs) or `kubepods-burstable-pod1234_ab.slice` (systemd); `undefined` if
 * it is not a pod's cgroup.
 */
export function podUidOfGroup(name: string): string | undefined {
  const slice = /^(?:.+-)?pod([^-]+)\.slice$/.exec(name);
  if (slice) return slice[1]?.replaceAll('_', '-');
  return /^pod([^/]+)$/.exec(name)?.[1];
}

/**
 * Returns the container id of a cgroup: the name itself, or the end of a runtime's scope name (upstream:
 * `extractIDFromCgroupPath`).
 */
export function containerIdOfGroup(name: string): string {
  if (!name.endsWith('.scope')) return name;
  return name.slice(0, -'.scope'.length).split('-').at(-1) ?? name;
}
