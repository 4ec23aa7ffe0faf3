import type { Device, Mount } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { ContainerAllocateResponse } from './generated/types.ts';

/** Container settings for devices, in the form that package `runtime` expects. */
export interface ContainerDevices {
  readonly envs: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** Annotations for the runtime. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Qualified names of CDI devices. */
  readonly cdiDevices: readonly string[];
}

/**
 * Merges the plugins' responses for one container. If two resources set the same name or path, the first one's value is
 * used, and a difference is logged (`deviceRunContainerOptions`, `pkg/kubelet/cm/devicemanager/pod_devices.go`).
 * @param answers responses by resource, sorted
 */
export function joinAnswers(
  answers: readonly (readonly [resource: string, answer: ContainerAllocateResponse])[],
  logger: Pick<Logger, 'error'>,
): ContainerDevices {
  const envs = new Map<string, string>();
  const annotations = new Map<string, string>();
  const mounts = new Map<string, Mount>();
  const devices = new Map<string, Device>();
  const cdiDevices = new Set<string>();
  for (const [resource, answer] of answers) {
    const add = <T>(map: Map<string, T>, what: string, key: string, value: T, text: (value: T) => string): void => {
      const before = map.get(key);
      if (before === undefined) map.set(key, value);
      else if (text(before) !== text(value)) {
        logger.error({ resource, key, got: text(before), expected: text(value) }, `${what} has conflicting setting`);
      }
    };
    for (const [name, value] of Object.entries(answer.envs)) add(envs, 'Environment variable', name, value, String);
    for (const { containerPath, hostPath, permissions } of answer.devices) {
      add(devices, 'Container device', containerPath, { containerPath, hostPath, permissions }, (one) => one.hostPath);
    }
    for (const { containerPath, hostPath, readOnly } of answer.mounts) {
      const mount: Mount = {
        ...{ containerPath, hostPath, readOnly },
        recursiveReadOnly: false,
        selinuxRelabel: false,
        propagation: 'None',
      };
      add(mounts, 'Container mount', containerPath, mount, (one) => one.hostPath);
    }
    for (const [name, value] of Object.entries(answer.annotations)) add(annotations, 'Annotation', name, value, String);
    for (const { name } of answer.cdiDevices) cdiDevices.add(name);
  }
  return {
    envs: [...envs].map(([name, value]) => ({ name, value })),
    mounts: [...mounts.values()],
    devices: [...devices.values()],
    annotations: Object.fromEntries(annotations),
    cdiDevices: [...cdiDevices],
  };
}
