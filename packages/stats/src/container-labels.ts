import type { GroupCollection } from './group-collection.ts';

/** What cAdvisor calls a group, and the kubelet the pod and container that it is of. */
export interface ContainerLabels {
  readonly [label: string]: string;
  /** The group's path. */
  readonly id: string;
  /** The runtime's id of the container. */
  readonly name: string;
  readonly image: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
}

type OwnLabels = Readonly<Record<'name' | 'image' | 'container' | 'pod' | 'namespace', string>>;

const NOBODY: OwnLabels = { name: '', image: '', container: '', pod: '', namespace: '' };

interface Known {
  readonly labels: OwnLabels;
  readonly createdAtMs: number;
}

/** Finds the labels of groups. All have the same ones, as Prometheus wants it: what does not apply is empty. */
export class CgroupLabels {
  readonly #byPath = new Map<string, Known>();

  constructor({ podGroups, pods }: Pick<GroupCollection, 'podGroups' | 'pods'>) {
    if (pods.status === 'rejected') return;
    for (const { ref, sandboxId, createdAtMs, containers } of pods.value.pods) {
      const group = podGroups.pods.get(ref.uid);
      if (group === undefined) continue;
      const ofPod = { pod: ref.name, namespace: ref.namespace };
      const add = (path: string | undefined, createdMs: number, name: string, container: string): void => {
        if (path === undefined) return;
        const image = pods.value.images.get(name) ?? '';
        this.#byPath.set(path, { labels: { name, image, container, ...ofPod }, createdAtMs: createdMs });
      };
      add(group.path, createdAtMs, '', '');
      add(group.containers.get(sandboxId), createdAtMs, sandboxId, '');
      for (const { id, name, createdAtMs: at } of containers) add(group.containers.get(id), at, id, name);
    }
  }

  of(path: string): ContainerLabels {
    const known = this.#byPath.get(path)?.labels;
    return known === undefined ? { id: path, ...NOBODY } : { id: path, ...known };
  }

  /** When the runtime made it; `undefined` where it did not. */
  createdAtMs(path: string): number | undefined {
    return this.#byPath.get(path)?.createdAtMs;
  }
}
