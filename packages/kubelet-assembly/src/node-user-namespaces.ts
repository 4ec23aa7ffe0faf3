import type { Pod } from '@node-agent/pod-spec';
import { type UserNamespaceMappings, UserNamespaces } from '@node-agent/userns';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** Facts about the runtime that decide whether a pod can have a user namespace. */
interface Sources {
  readonly facts: Pick<RuntimeFacts, 'handler' | 'handlers'>;
  /** Returns the runtime handler of a pod's RuntimeClass. An empty name stands for the default handler. */
  readonly runtimeHandler: (pod: Pod, signal: AbortSignal) => Promise<string>;
}

/** User namespaces of this node's pods, if the runtime and the kernel support them. */
export class NodeUserNamespaces {
  readonly #namespaces: UserNamespaces | undefined;
  readonly #unavailable: string;
  readonly #sources: Sources;

  /** @throws UserNamespaceError if the configured ID range cannot be used */
  constructor(
    child: (component: string) => PartComponents,
    { fs }: Pick<NodePorts, 'fs'>,
    settings: NonNullable<AssemblySettings['userNamespaces']>,
    rootDirectory: string,
    sources: Sources,
  ) {
    this.#sources = sources;
    this.#unavailable = 'unavailable' in settings ? settings.unavailable : '';
    if ('unavailable' in settings) return;
    this.#namespaces = new UserNamespaces(
      { ...child('userns'), fs },
      { ...settings, podsDirectory: `${rootDirectory}/pods` },
    );
  }

  /**
   * Returns the ID mappings of a pod.
   * @throws Error with upstream's message if the pod cannot have a user namespace (`GetOrCreateUserNamespaceMappings`)
   */
  async mappings(pod: Pod, signal: AbortSignal): Promise<UserNamespaceMappings> {
    const handler = await this.#sources.runtimeHandler(pod, signal);
    const { facts } = this.#sources;
    const whose = handler === '' ? 'runtime' : `RuntimeClass handler "${handler}"`;
    const cannot = `can't set \`spec.hostUsers: false\`, ${whose} does not support user namespaces`;
    // An old runtime reports no handlers at all. Then the error does not claim that the handler is unknown.
    const known = (facts.handlers() ?? []).length > 0;
    const features = facts.handler(handler);
    if (known && features === undefined) throw new Error(`${cannot}: the handler "${handler}" is not known`);
    if (features?.userNamespaces !== true) throw new Error(cannot);
    if (this.#namespaces === undefined) {
      throw new Error(`can't set \`spec.hostUsers: false\`, ${this.#unavailable}`);
    }
    return await this.#namespaces.mappings(pod.metadata.uid);
  }

  async release(uid: string): Promise<void> {
    await this.#namespaces?.release(uid);
  }

  async releaseOrphans(isKnown: (uid: string) => boolean): Promise<void> {
    await this.#namespaces?.releaseOrphans(isKnown);
  }
}
