import type { ImageService, Init, PodSandboxConfig } from '@node-agent/cri-client';
import type { Container, Pod } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { ContainerContext, NodeSettings } from './config/context.ts';
import { makeEnvironment } from './config/environment.ts';
import { type ObjectSource, readEnvironmentObjects } from './config/object-source.ts';
import { generateSandboxConfig } from './config/sandbox-config.ts';
import type { ContainerFiles } from './container-files.ts';
import { containerHash } from './container-hash.ts';
import { ImageUsers } from './image-users.ts';
import type { PodMounts, PodNetworkPort } from './ports.ts';

/** What the node and its managers know, of which sandboxes and containers are made. */
export interface ContextComponents {
  readonly imageService: Pick<ImageService, 'imageStatus'>;
  readonly files: ContainerFiles;
  readonly logger: Logger;
  readonly network: PodNetworkPort;
  readonly mounts: PodMounts;
  readonly node: NodeSettings;
  readonly cgroups?: PodCgroups | undefined;
  readonly objects?: ObjectSource | undefined;
  readonly hostIps?: (() => readonly string[]) | undefined;
  readonly nodeAllocatable?: (() => Readonly<Record<string, string>>) | undefined;
  readonly selinuxEnabled?: boolean | undefined;
}

/** The cgroups of pods: package `cm-cgroups`. */
export interface PodCgroups {
  /** The pod's cgroup, as the cgroup driver words it. */
  podCgroupParent(pod: Pod): string;
}

/** Gathers what {@link generateSandboxConfig} and `generateContainerConfig` need. */
export class ConfigContexts {
  readonly #components: ContextComponents;
  readonly #imageUsers: ImageUsers;

  constructor(components: ContextComponents) {
    this.#components = components;
    this.#imageUsers = new ImageUsers(components);
  }

  /** @throws ContainerConfigError, and what the network's port throws */
  async sandboxConfig(pod: Pod, attempt: number): Promise<Init<PodSandboxConfig>> {
    const { network, node, cgroups } = this.#components;
    return generateSandboxConfig(pod, attempt, {
      node,
      dns: await network.podDns(pod),
      ...(pod.spec.hostNetwork ? { hostname: '', domain: '' } : network.hostname(pod)),
      cgroupParent: cgroups?.podCgroupParent(pod) ?? '',
    });
  }

  /** @throws ContainerConfigError, CriError, and what the ports throw */
  async container(
    pod: Pod,
    container: Container,
    imageRef: string,
    podIps: readonly string[],
    targetContainerId: string | undefined,
    signal: AbortSignal,
  ): Promise<ContainerContext> {
    const { files, mounts, node, selinuxEnabled, objects } = this.#components;
    // Side by side: most of them wait for something else.
    const [user, environmentObjects, containerMounts] = await Promise.all([
      this.#imageUsers.get(imageRef, signal),
      readEnvironmentObjects(pod, container, objects, signal),
      mounts.containerMounts(pod, container, podIps),
    ]);
    const environment = makeEnvironment(pod, container, {
      podIps,
      hostIps: this.#components.hostIps?.() ?? [],
      nodeAllocatable: this.#components.nodeAllocatable?.() ?? {},
      objects: environmentObjects,
    });
    await files.makeContainerLogs(pod, container);
    const terminationMessageFile = await this.#terminationMessageFile(pod, container);
    return {
      node,
      hash: containerHash(container),
      imageRef,
      imageUser: user,
      environment,
      mounts: containerMounts,
      ...(terminationMessageFile !== undefined && { terminationMessageFile }),
      ...(selinuxEnabled !== undefined && { selinuxEnabled }),
      ...(targetContainerId !== undefined && { targetContainerId }),
    };
  }

  /** A container that cannot leave a message is better than none: a full disk ends here in a log line. */
  async #terminationMessageFile(pod: Pod, container: Container): Promise<string | undefined> {
    try {
      return await this.#components.files.makeTerminationMessageFile(pod, container);
    } catch (err) {
      const fields = { podUid: pod.metadata.uid, container: container.name, reason: errorText(err) };
      this.#components.logger.warn(fields, 'The file for the termination message could not be made');
      return undefined;
    }
  }
}
