import type { Pod } from '@node-agent/pod-spec';
import { type UserNamespaceMappings, UserNamespaces } from '@node-agent/userns';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** Who knows of what a pod is to run in. */
interface Sources {
  readonly facts: Pick<RuntimeFacts, 'handler' | 'handlers'>;
  /** The runtime handler of a pod's RuntimeClass; '' is the default one. */
  readonly runtimeHandler: (pod: Pod, signal: AbortSignal) => Promise<string>;
}

/** The user namespaces of this node's pods, where runtime and kernel have any. */
export class NodeUserNamespaces {
  readonly #namespaces: UserNamespaces | undefined;
  readonly #unavailable: string;
  readonly #sources: Sources;

  /** @throws UserNamespaceError where the IDs that there are cannot be used */
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

  /** @throws Error in upstream's words where the pod cannot have one (`GetOrCreateUserNamespaceMappings`) */
  async mappings(pod: Pod, signal: AbortSignal): Promise<UserNamespaceMappings> {
    const handler = await this.#sources.runtimeHandler(pod, signal);
    const { facts } = this.#sources;
    const whose = handler === '' ? 'runtime' : `RuntimeClass handler "${handler}"`;
    const cannot = `can't set \`spec.hostUsers: false\`, ${whose} does not support user namespaces`;
    // An old runtime names no handlers.
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
