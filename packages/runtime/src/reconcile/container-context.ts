import { type ImageService, type Init, NamespaceMode, type PodSandboxConfig } from '@node-agent/cri-client';
import { type Container, isStaticPod, type Pod, podAddresses } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { ContainerContext, NodeSettings, PodContext } from '../config/context.ts';
import { type EnvironmentVariable, makeEnvironment } from '../config/environment.ts';
import { verifyRunAsNonRoot } from '../config/non-root.ts';
import { type ObjectSource, readEnvironmentObjects } from '../config/object-source.ts';
import { generateSandboxConfig } from '../config/sandbox-config.ts';
import { type ServiceData, serviceVariables } from '../config/service-variables.ts';
import { PodRuntimeError } from '../errors.ts';
import type { ContainerGrants, ContainerPlacements, PodMounts, PodNetworkPort, PodUserNamespaces } from '../ports.ts';
import type { ContainerFiles } from './container-files.ts';
import { containerHash } from './container-hash.ts';
import { type EnvironmentFileComponents, readEnvironmentFiles } from './env-files.ts';
import { ImageUsers } from './image-users.ts';
import type { PulledImages } from './image-volumes.ts';

/** Facts of the node and its managers from which sandbox and container configurations are generated. */
export interface ContextComponents {
  readonly fs: EnvironmentFileComponents['fs'];
  readonly imageService: Pick<ImageService, 'imageStatus'>;
  readonly files: ContainerFiles;
  readonly logger: Logger;
  readonly network: PodNetworkPort;
  readonly mounts: PodMounts;
  readonly node: NodeSettings;
  readonly cgroups?: PodCgroups | undefined;
  readonly objects?: ObjectSource | undefined;
  readonly services?: (() => Iterable<ServiceData> | undefined) | undefined;
  readonly hostIps?: (() => readonly string[]) | undefined;
  readonly nodeAllocatable?: (() => Readonly<Record<string, string>>) | undefined;
  readonly selinuxEnabled?: boolean | undefined;
  readonly userNamespaces?: PodUserNamespaces | undefined;
  readonly grants?: ContainerGrants | undefined;
  readonly placements?: ContainerPlacements | undefined;
}

/** Cgroups of pods. Implemented by package `cm-cgroups`. */
export interface PodCgroups {
  /** Returns the pod's cgroup in the form of the cgroup driver. */
  podCgroupParent(pod: Pod): string;
}

/** Gathers the inputs of {@link generateSandboxConfig} and `generateContainerConfig`. */
export class ConfigContexts {
  readonly #components: ContextComponents;
  readonly #imageUsers: ImageUsers;

  constructor(components: ContextComponents) {
    this.#components = components;
    this.#imageUsers = new ImageUsers(components);
  }

  /**
   * Returns the CRI configuration of a pod's sandbox.
   * @throws PodRuntimeError
   * @throws the errors of the ports
   */
  async sandboxConfig(pod: Pod, attempt: number, signal: AbortSignal): Promise<Init<PodSandboxConfig>> {
    const { network, node, cgroups, mounts, placements } = this.#components;
    return generateSandboxConfig(pod, attempt, {
      node,
      ...(await this.#userNamespace(pod, signal)),
      extraSupplementalGroups: mounts.extraSupplementalGroups?.(pod) ?? [],
      dns: await network.podDns(pod),
      ...(pod.spec.hostNetwork ? { hostname: '', domain: '' } : network.hostname(pod)),
      cgroupParent: cgroups?.podCgroupParent(pod) ?? '',
      ...(placements && { hasExclusiveCpus: placements.hasExclusiveCpus(pod) }),
    });
  }

  /**
   * Returns the inputs of a container's CRI configuration.
   * @throws PodRuntimeError
   * @throws CriError
   * @throws the errors of the ports
   */
  async container(
    pod: Pod,
    container: Container,
    { imageRef, imageVolumes }: PulledImages,
    sandboxIps: readonly string[],
    targetContainerId: string | undefined,
    signal: AbortSignal,
  ): Promise<ContainerContext> {
    const { files, mounts, node, selinuxEnabled, objects, grants } = this.#components;
    const services = this.#serviceVariables(pod);
    const hostIps = this.#components.hostIps?.() ?? [];
    const podIps = podAddresses(pod, sandboxIps, hostIps, node.podIpFamily);
    // The calls run in parallel, because most of them wait for different components.
    const [user, userNamespace, environmentObjects, environmentFiles, granted] = await Promise.all([
      this.#imageUsers.get(imageRef, signal),
      this.#userNamespace(pod, signal),
      readEnvironmentObjects(pod, container, objects, signal),
      readEnvironmentFiles(pod, container, this.#environmentFiles()),
      grants?.options(pod, container, signal),
    ]);
    const own = makeEnvironment(pod, container, {
      services,
      files: environmentFiles,
      podIps,
      hostIps,
      nodeAllocatable: this.#components.nodeAllocatable?.() ?? {},
      objects: environmentObjects,
    });
    const environment = [...(granted?.envs ?? []), ...own];
    const containerMounts = await mounts.containerMounts(pod, container, { podIps, environment }, signal);
    // `runAsNonRoot` is verified before the termination message file is created, because a rejected container is
    // retried again and again, and each retry would create another file.
    verifyRunAsNonRoot(pod, container, user);
    await files.makeContainerLogs(pod, container);
    const terminationMessageFile = await this.#terminationMessageFile(pod, container);
    return {
      node,
      hash: containerHash(container),
      imageRef,
      imageUser: user,
      ...userNamespace,
      extraSupplementalGroups: mounts.extraSupplementalGroups?.(pod) ?? [],
      environment,
      mounts: [...(granted?.mounts ?? []), ...containerMounts],
      ...(granted && { devices: granted.devices, cdiDevices: granted.cdiDevices, annotations: granted.annotations }),
      imageVolumes,
      ...(terminationMessageFile !== undefined && { terminationMessageFile }),
      ...(selinuxEnabled !== undefined && { selinuxEnabled }),
      ...(targetContainerId !== undefined && { targetContainerId }),
    };
  }

  /**
   * Returns the environment variables of the services. A pod of the API server waits for the services, because without
   * the address of the API server its programs would not find it. A static pod does not wait, because it may have to
   * run before there is an API server (F4).
   */
  #serviceVariables(pod: Pod): readonly EnvironmentVariable[] {
    const { services } = this.#components;
    if (services === undefined) return [];
    const known = services();
    if (known === undefined && !isStaticPod(pod)) {
      const message = 'services have not yet been read at least once, cannot construct envvars';
      throw new PodRuntimeError('MissingObject', message);
    }
    return serviceVariables(known ?? [], pod.metadata.namespace, pod.spec.enableServiceLinks ?? true);
  }

  async #userNamespace(pod: Pod, signal: AbortSignal): Promise<Pick<PodContext, 'userNamespace'>> {
    const { userNamespaces } = this.#components;
    if (pod.spec.hostUsers !== false || userNamespaces === undefined) return {};
    return { userNamespace: { mode: NamespaceMode.POD, ...(await userNamespaces.mappings(pod, signal)) } };
  }

  #environmentFiles(): EnvironmentFileComponents {
    const { fs, mounts } = this.#components;
    return { fs, volumePath: (pod, volumeName) => mounts.volumePath?.(pod, volumeName) };
  }

  /**
   * Creates the file for the termination message. A container without a termination message file is better than none,
   * so a full disk causes only a log message.
   */
  async #terminationMessageFile(pod: Pod, container: Container): Promise<string | undefined> {
    try {
      return await this.#components.files.makeTerminationMessageFile(pod, container);
    } catch (err) {
      const fields = { podUid: pod.metadata.uid, container: container.name, reason: errorText(err) };
      this.#components.logger.warn(fields, 'Failed to create the termination message file');
      return undefined;
    }
  }
}
