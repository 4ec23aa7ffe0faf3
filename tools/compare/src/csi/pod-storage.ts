import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '@node-agent/pod-spec';
import type { Json } from '../differences.ts';
import { callsOf } from './calls.ts';
import { CSI_CLAIMS, type CsiVolume, stagedName } from './csi-claims.ts';
import type { DriverCall } from './drivers.ts';
import { loopFilesBelow } from './loop-files.ts';
import { mountsOf } from './mounts.ts';
import { treeOf } from './tree.ts';

/** Observation of a file, a mount or a loop device, with its path. */
export interface Fact {
  readonly kind: 'disk' | 'mounts' | 'loops';
  /** Path relative to the kubelet's root directory. */
  readonly path: string;
  readonly facts: Json;
}

/** Returns the files, mounts and loop devices of CSI volumes below a kubelet's root directory. */
export async function csiFacts(rootDirectory: string, podUids: readonly string[]): Promise<readonly Fact[]> {
  const trees = [
    'plugins/kubernetes.io/csi',
    ...podUids.flatMap((uid) => ['volumes', 'volumeDevices'].map((part) => `pods/${uid}/${part}/kubernetes.io~csi`)),
    ...podUids.map((uid) => `pods/${uid}/volume-subpaths`),
  ];
  const relative = (path: string): string => path.slice(rootDirectory.length + 1);
  const facts: Fact[] = [];
  for (const tree of trees) {
    for (const { path, facts: found } of await treeOf(join(rootDirectory, tree))) {
      facts.push({ kind: 'disk', path: join(tree, path), facts: found });
    }
  }
  const isCsi = (path: string): boolean => trees.some((tree) => path.startsWith(`${tree}/`));
  for (const { point, text } of mountsOf(await readFile('/proc/self/mountinfo', 'utf8'), rootDirectory)) {
    if (isCsi(relative(point))) facts.push({ kind: 'mounts', path: relative(point), facts: text });
  }
  for (const { file, settings } of await loopFilesBelow(rootDirectory)) {
    facts.push({ kind: 'loops', path: relative(file), facts: settings });
  }
  return facts;
}

/** Reports whether a pod has a volume that may be a CSI volume. */
export function usesCsi(pod: Pod): boolean {
  const known = new Set<string>(Object.keys(CSI_CLAIMS));
  return (
    (pod.spec.volumes ?? []).some(({ csi }) => csi !== undefined) || claimsOf(pod).some((claim) => known.has(claim))
  );
}

/** Returns the names of a pod's claims, including those of generic ephemeral volumes. */
function claimsOf({ metadata, spec }: Pod): readonly string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => [
    ...(persistentVolumeClaim ? [persistentVolumeClaim.claimName] : []),
    ...(ephemeral ? [`${metadata.name}-${name}`] : []),
  ]);
}

/** Findings of one side about its storage. */
export interface StorageFindings {
  /** Pods with CSI volumes. */
  readonly pods: readonly Pod[];
  readonly volumes: readonly CsiVolume[];
  readonly facts: readonly Fact[];
  readonly calls: readonly DriverCall[];
  /** Status of each claim by its name. */
  readonly claims: ReadonlyMap<string, Json>;
}

/** Storage of each pod by its name, and the facts that belong to no pod. */
export interface SortedStorage {
  readonly pods: ReadonlyMap<string, Json>;
  readonly others: Json;
}

/** Assigns facts, calls and claims to the pods. The facts of a volume that two pods use are assigned to both pods. */
export function sortStorage({ pods, volumes, facts, calls, claims }: StorageFindings): SortedStorage {
  const assigned = new Set<Fact>();
  const byPod = pods.map((pod): readonly [string, Json] => {
    const { uid: podUid, name } = pod.metadata;
    const names = claimsOf(pod);
    const own = volumes.filter(({ claim }) => names.includes(claim));
    const words = new Set([podUid, ...own.flatMap((volume) => [volume.name, stagedName(volume.handle)])]);
    const found = facts.filter(({ path }) => path.split('/').some((part) => words.has(part)));
    for (const fact of found) assigned.add(fact);
    const storage = {
      ...byKind(found),
      calls: callsOf(calls, { podUid, handles: own.map(({ handle }) => handle) }),
      claims: Object.fromEntries([...claims].filter(([claim]) => names.includes(claim))),
    };
    return [name, storage];
  });
  return { pods: new Map(byPod), others: byKind(facts.filter((fact) => !assigned.has(fact))) };
}

/** Returns facts by kind and path. Several mounts at one path become a list, with the topmost mount last. */
function byKind(facts: readonly Fact[]): Readonly<Record<Fact['kind'], Json>> {
  const of = (wanted: Fact['kind']): Json => {
    const paths = new Map<string, readonly Json[]>();
    for (const { kind, path, facts: found } of facts) {
      if (kind === wanted) paths.set(path, [...(paths.get(path) ?? []), found]);
    }
    return Object.fromEntries(
      [...paths].map(([path, found]) => [path, found.length === 1 ? (found[0] ?? null) : found]),
    );
  };
  return { disk: of('disk'), mounts: of('mounts'), loops: of('loops') };
}
