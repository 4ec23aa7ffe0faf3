import type { Init, PodSandboxConfig } from '@node-agent/cri-client';
import { normalizeSysctlName, type Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import { sandboxResources } from './container-resources.ts';
import type { SandboxContext } from './context.ts';
import { sandboxAnnotations, sandboxLabels } from './labels.ts';
import { podLogsPath } from './log-paths.ts';
import { podPortMappings } from './port-mappings.ts';
import { sandboxSecurityContext } from './security-context.ts';

/** Maximum length of the kernel's node name. */
const MAX_FQDN_LENGTH = 64;

/**
 * Returns the CRI configuration of a pod's sandbox (`generatePodSandboxConfig` in
 * `pkg/kubelet/kuberuntime/kuberuntime_sandbox.go`).
 * @param attempt number of earlier sandboxes of the pod
 * @throws PodRuntimeError
 */
export function generateSandboxConfig(pod: Pod, attempt: number, context: SandboxContext): Init<PodSandboxConfig> {
  const { name, namespace, uid } = pod.metadata;
  const sysctls = pod.spec.securityContext?.sysctls ?? [];
  return {
    metadata: { name, namespace, uid, attempt },
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod),
    hostname: pod.spec.hostNetwork ? '' : kernelHostname(pod, context),
    dnsConfig: context.dns,
    logDirectory: podLogsPath(context.node.podLogsDirectory, namespace, name, uid),
    portMappings: podPortMappings(pod),
    linux: {
      cgroupParent: context.cgroupParent,
      securityContext: sandboxSecurityContext(pod, context),
      sysctls: Object.fromEntries(sysctls.map((sysctl) => [normalizeSysctlName(sysctl.name), sysctl.value])),
      ...sandboxResources(pod, context.node.resources, context.hasExclusiveCpus),
    },
  };
}

function kernelHostname(pod: Pod, { hostname, domain }: SandboxContext): string {
  if (domain === '' || !pod.spec.setHostnameAsFQDN) return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= MAX_FQDN_LENGTH) return fqdn;
  throw new PodRuntimeError(
    'InvalidSpec',
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ` +
      `(${MAX_FQDN_LENGTH} characters is the max, ${fqdn.length} characters requested)`,
  );
}
