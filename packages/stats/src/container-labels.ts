import type { GroupCollection } from './group-collection.ts';

/** Labels of a cgroup in cAdvisor's form, with the pod and container that it belongs to. */
export interface ContainerLabels {
  readonly [label: string]: string;
  /** Path of the cgroup. */
  readonly id: string;
  /** Runtime's id of the container. */
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

/**
 * Looks up the labels of cgroups. All cgroups have the same label names, as Prometheus requires; labels that do not
 * apply are empty.
 */
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

  /** Returns when the runtime created the container; `undefined` if the runtime did not create it. */
  createdAtMs(path: string): number | undefined {
    return this.#byPath.get(path)?.createdAtMs;
  }
}
