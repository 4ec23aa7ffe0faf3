import type { GroupReader } from './group-reader.ts';
import type { StatsOptions } from './ports.ts';

/** The group of a pod, and those of its containers and sandboxes by their ids. */
interface PodGroup {
  readonly uid: string;
  readonly path: string;
  readonly containers: ReadonlyMap<string, string>;
}

/** The groups of all pods. */
export interface PodGroups {
  /** Those that pods are in: that of all pods, and those of the classes. */
  readonly parents: readonly string[];
  readonly pods: ReadonlyMap<string, PodGroup>;
}

/** The group that all pods are in, as it is called by now. */
export function kubepodsOf({ kubepods = '/kubepods' }: Pick<StatsOptions, 'kubepods'>): string {
  return typeof kubepods === 'string' ? kubepods : kubepods();
}

/** Looks which groups there are below that of all pods, as cgroupfs or systemd names them. */
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
      // The process of CRI-O that watches over a container may be in a group that is named after it, and is none of it.
      .filter((child) => !child.startsWith('crio-conmon-'))
      .map((child) => [containerIdOfGroup(child), `${path}/${child}`] as const);
    pods.set(uid, { uid, path, containers: new Map(containers) });
  }
  return { parents, pods };
}

function isQosClass(name: string): boolean {
  return /^(?:kubepods-|.+-kubepods-)?(?:burstable|besteffort)(?:\.slice)?$/.test(name);
}

/** `pod1234-ab` of cgroupfs, `kubepods-burstable-pod1234_ab.slice` of systemd; `undefined` for what is no pod's group. */
export function podUidOfGroup(name: string): string | undefined {
  const slice = /^(?:.+-)?pod([^-]+)\.slice$/.exec(name);
  if (slice) return slice[1]?.replaceAll('_', '-');
  return /^pod([^/]+)$/.exec(name)?.[1];
}

/** The container whose group this is: the name itself, or what a runtime's scope ends with (`extractIDFromCgroupPath`). */
export function containerIdOfGroup(name: string): string {
  if (!name.endsWith('.scope')) return name;
  return name.slice(0, -'.scope'.length).split('-').at(-1) ?? name;
}
