import { type ContainerConfig, type Init, Signal } from '@node-agent/cri-client';
import { bytesOfText } from '@node-agent/host';
import { type Container, type ContainerType, expandAll, type Pod } from '@node-agent/pod-spec';
import { containerMounts } from './container-mounts.ts';
import { containerResources } from './container-resources.ts';
import type { ContainerContext } from './context.ts';
import { asInvalidSpec } from './field-path.ts';
import { containerAnnotations, containerLabels } from './labels.ts';
import { containerLogPath } from './log-paths.ts';
import { verifyRunAsNonRoot } from './non-root.ts';
import { containerSecurityContext } from './security-context.ts';
import { stopSignal } from './stop-signal.ts';

/**
 * Returns the CRI configuration of a container (`generateContainerConfig` in
 * `pkg/kubelet/kuberuntime/kuberuntime_container.go`).
 * @param attempt number of earlier starts of the container in this pod: its restart count
 * @throws PodRuntimeError
 */
export function generateContainerConfig(
  pod: Pod,
  container: Container,
  type: ContainerType,
  attempt: number,
  context: ContainerContext,
): Init<ContainerConfig> {
  const { node, imageUser, imageRef, imageRuntimeHandler = '' } = context;
  verifyRunAsNonRoot(pod, container, imageUser);
  const variables = new Map(context.environment.map(({ name, value }) => [name, value]));
  const expanded = (texts: readonly string[] | undefined): readonly string[] =>
    asInvalidSpec(() => expandAll(texts ?? [], (name) => variables.get(name)), 'the command: ');
  const securityContext = containerSecurityContext(pod, container, context);
  const { placement } = context;
  return {
    metadata: { name: container.name, attempt },
    image: { image: imageRef, userSpecifiedImage: container.image ?? '', runtimeHandler: imageRuntimeHandler },
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? '',
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, attempt, context.hash, context.annotations),
    envs: context.environment.map(({ name, value }) => ({ key: name, value: bytesOfText(value) })),
    mounts: containerMounts(container, context, securityContext.namespaceOptions?.usernsOptions),
    devices: context.devices ?? [],
    CDIDevices: (context.cdiDevices ?? []).map((name) => ({ name })),
    logPath: containerLogPath(container.name, attempt),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    stopSignal: node.containerStopSignals ? stopSignal(container) : Signal.RUNTIME_DEFAULT,
    linux: {
      resources: {
        ...containerResources(pod, container, type, node.resources, placement?.hasExclusiveCpus),
        ...(placement && { cpusetCpus: placement.cpus, cpusetMems: placement.mems }),
      },
      securityContext,
    },
  };
}
