import {
  type ContainerConfig,
  type Init,
  NamespaceMode,
  type PodSandboxConfig,
  SecurityProfileProfileType,
} from '@node-agent/cri-client';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { COMMAND } from './manifest.ts';

/** What the runtime is told of a pod when nobody but a loop asks it: as much as any kubelet has to tell it. */
export interface BarePod {
  readonly sandbox: Init<PodSandboxConfig>;
  readonly container: Init<ContainerConfig>;
}

const MASKED_PATHS: readonly string[] = ['/proc/asound', '/proc/acpi', '/proc/kcore', '/proc/keys', '/sys/firmware'];
const READONLY_PATHS: readonly string[] = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** What kubelets ask for each sandbox. */
const RUNTIME_DEFAULT = { profileType: SecurityProfileProfileType.RuntimeDefault };

/**
 * The pod of {@link podManifest} without a kubelet: no annotations and no hash, but the same namespaces, mounts,
 * resources and log.
 * @param directory holds the pod's log directory and files; they exist
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
