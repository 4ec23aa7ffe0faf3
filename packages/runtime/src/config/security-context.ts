import {
  type Init,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  NamespaceMode,
  type SELinuxOption,
  SecurityProfileProfileType,
  SupplementalGroupsPolicy,
} from '@node-agent/cri-client';
import type { Container, Pod, PodSecurityContext } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import type { ContainerContext, PodContext } from './context.ts';
import { podNamespaces } from './namespaces.ts';
import { appArmorProfile, seccompProfile } from './security-profiles.ts';

/** Paths in `/proc` and `/sys` that containers must not see; the same list as in other container engines. */
const MASKED_PATHS: readonly string[] = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS: readonly string[] = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/**
 * Returns the security context of a sandbox (`generatePodSandboxLinuxConfig` upstream). The sandbox's seccomp profile
 * is always the runtime's default, because only the pause process runs in the sandbox.
 * @throws PodRuntimeError
 */
export function sandboxSecurityContext(pod: Pod, context: PodContext): Init<LinuxSandboxSecurityContext> {
  const pods = pod.spec.securityContext;
  return {
    privileged: hasPrivilegedContainer(pod),
    seccomp: { profileType: SecurityProfileProfileType.RuntimeDefault },
    namespaceOptions: podNamespaces(pod, context),
    runAsUser: int64(pods?.runAsUser),
    runAsGroup: int64(pods?.runAsGroup),
    supplementalGroups: [
      ...fsGroup(pods),
      ...(context.extraSupplementalGroups ?? []),
      ...(pods?.supplementalGroups ?? []),
    ],
    supplementalGroupsPolicy: supplementalGroupsPolicy(pods),
    selinuxOptions: selinuxOptions(pods?.seLinuxOptions),
  };
}

/**
 * Returns the security context of a container: its own settings take precedence over the pod's; if neither sets a user,
 * the image's user applies (`determineEffectiveSecurityContext` upstream).
 * @throws PodRuntimeError
 */
export function containerSecurityContext(
  pod: Pod,
  container: Container,
  context: ContainerContext,
): Init<LinuxContainerSecurityContext> {
  const pods = pod.spec.securityContext;
  const own = container.securityContext;
  const unmasked = own?.procMount === 'Unmasked';
  const capabilities = own?.capabilities;
  return {
    privileged: own?.privileged ?? false,
    readonlyRootfs: own?.readOnlyRootFilesystem ?? false,
    capabilities: capabilities
      ? { addCapabilities: capabilities.add ?? [], dropCapabilities: capabilities.drop ?? [] }
      : null,
    selinuxOptions: selinuxOptions(own?.seLinuxOptions ?? pods?.seLinuxOptions),
    ...runAs(own?.runAsUser ?? pods?.runAsUser, context),
    runAsGroup: int64(own?.runAsGroup ?? pods?.runAsGroup),
    supplementalGroups: [
      ...fsGroup(pods),
      ...(pods?.supplementalGroups ?? []),
      ...(context.extraSupplementalGroups ?? []),
    ],
    supplementalGroupsPolicy: supplementalGroupsPolicy(pods),
    noNewPrivs: own?.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...MASKED_PATHS, ...context.node.extraMaskedPaths],
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    seccomp: seccompProfile(pod, container, context.node),
    ...appArmorProfile(pod, container),
    namespaceOptions: containerNamespaces(pod, context),
  };
}

function containerNamespaces(pod: Pod, context: ContainerContext): ReturnType<typeof podNamespaces> {
  const options = podNamespaces(pod, context);
  // If the pod shares its process namespace, the target's processes are visible anyway.
  if (context.targetContainerId === undefined || options.pid !== NamespaceMode.CONTAINER) return options;
  return { ...options, pid: NamespaceMode.TARGET, targetId: context.targetContainerId };
}

function runAs(
  uid: number | null | undefined,
  { imageUser }: ContainerContext,
): Pick<Init<LinuxContainerSecurityContext>, 'runAsUser' | 'runAsUsername'> {
  if (uid != null) return { runAsUser: { value: uid } };
  return 'uid' in imageUser ? { runAsUser: { value: imageUser.uid } } : { runAsUsername: imageUser.username };
}

function hasPrivilegedContainer({ spec }: Pod): boolean {
  const all = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  return all.some((container) => container.securityContext?.privileged);
}

function supplementalGroupsPolicy(pods: PodSecurityContext | undefined): SupplementalGroupsPolicy {
  const policy = pods?.supplementalGroupsPolicy ?? 'Merge';
  if (policy === 'Merge' || policy === 'Strict') return SupplementalGroupsPolicy[policy];
  throw new PodRuntimeError('InvalidSpec', `unsupported supplementalGroupsPolicy: ${policy}`);
}

function fsGroup(pods: PodSecurityContext | undefined): readonly number[] {
  return pods?.fsGroup == null ? [] : [pods.fsGroup];
}

function int64(value: number | null | undefined): { readonly value: number } | null {
  return value == null ? null : { value };
}

function selinuxOptions(options: PodSecurityContext['seLinuxOptions']): Init<SELinuxOption> | null {
  if (!options) return null;
  const { user = '', role = '', type = '', level = '' } = options;
  return { user, role, type, level };
}
