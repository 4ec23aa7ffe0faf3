import {
  type ContainerConfig,
  type Init,
  NamespaceMode,
  type PodSandboxConfig,
  SecurityProfileProfileType,
} from '@node-agent/cri-client';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { COMMAND } from './manifest.ts';

/**
 * Runtime requests for one pod without a kubelet. The requests contain only the fields that every kubelet must send.
 */
export interface BarePod {
  readonly sandbox: Init<PodSandboxConfig>;
  readonly container: Init<ContainerConfig>;
}

const MASKED_PATHS: readonly string[] = ['/proc/asound', '/proc/acpi', '/proc/kcore', '/proc/keys', '/sys/firmware'];
const READONLY_PATHS: readonly string[] = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** Security profile that kubelets set for each sandbox. */
const RUNTIME_DEFAULT = { profileType: SecurityProfileProfileType.RuntimeDefault };

/**
 * Returns the pod of {@link podManifest} as a loop without a kubelet creates it: without annotations and hash, but with
 * the same namespaces, mounts, resources and log.
 * @param directory existing directory with the pod's logs and files
 */
export function barePod(name: string, directory: string, attempt = 0, command: readonly string[] = COMMAND): BarePod {
  const uid = `uid-${name}`;
  const labels = {
    'io.kubernetes.pod.name': name,
    'io.kubernetes.pod.namespace': 'bench',
    'io.kubernetes.pod.uid': uid,
  };
  const namespaceOptions = {
    network: NamespaceMode.POD,
    pid: NamespaceMode.CONTAINER,
    ipc: NamespaceMode.POD,
  };
  const resources = { cpuShares: 2, oomScoreAdj: 1000 };
  return {
    sandbox: {
      metadata: { name, namespace: 'bench', uid, attempt: 0 },
      labels,
      hostname: name,
      logDirectory: directory,
      linux: { securityContext: { namespaceOptions, seccomp: RUNTIME_DEFAULT }, resources: { cpuShares: 2 } },
    },
    container: {
      metadata: { name: 'main', attempt },
      image: { image: PAUSE_IMAGE },
      command,
      labels: { ...labels, 'io.kubernetes.container.name': 'main' },
      logPath: `main-${attempt}.log`,
      mounts: [
        { hostPath: `${directory}/hosts`, containerPath: '/etc/hosts' },
        { hostPath: `${directory}/termination-log`, containerPath: '/dev/termination-log' },
      ],
      linux: {
        resources,
        securityContext: {
          namespaceOptions,
          runAsUser: { value: 0 },
          maskedPaths: MASKED_PATHS,
          readonlyPaths: READONLY_PATHS,
        },
      },
    },
  };
}
