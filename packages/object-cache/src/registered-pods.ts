import { type Pod, podFullName } from '@node-agent/pod-spec';
import type { ConfigObject, ObjectStore } from './object-store.ts';

/** Keeps a store's references in sync with the registered pods. */
export class RegisteredPods {
  readonly #store: Pick<ObjectStore<ConfigObject>, 'addReference' | 'deleteReference'>;
  readonly #namesOf: (pod: Pod) => ReadonlySet<string>;
  /** The names to which each pod refers, by UID and full name. */
  readonly #registered = new Map<string, ReadonlySet<string>>();

  constructor(
    store: Pick<ObjectStore<ConfigObject>, 'addReference' | 'deleteReference'>,
    namesOf: (pod: Pod) => ReadonlySet<string>,
  ) {
    this.#store = store;
    this.#namesOf = namesOf;
  }

  /**
   * Adds the pod's new references, and drops the references that it no longer has. Known references are not added
   * again, because a store may read an object again when a reference is added.
   */
  register(pod: Pod): void {
    const names = this.#namesOf(pod);
    const before = this.#registered.get(keyOf(pod)) ?? new Set();
    this.#registered.set(keyOf(pod), names);
    const { namespace, uid } = pod.metadata;
    for (const name of names) if (!before.has(name)) this.#store.addReference(namespace, name, uid);
    for (const name of before) if (!names.has(name)) this.#store.deleteReference(namespace, name, uid);
  }

  /** Drops the references of the pod's last registration. */
  unregister(pod: Pod): void {
    const names = this.#registered.get(keyOf(pod)) ?? new Set();
    this.#registered.delete(keyOf(pod));
    const { namespace, uid } = pod.metadata;
    for (const name of names) this.#store.deleteReference(namespace, name, uid);
  }
}

function keyOf(pod: Pod): string {
  return `${pod.metadata.uid}/${podFullName(pod)}`;
}
