import type { CgroupDriver } from '@node-agent/cm-cgroups';
import {
  type KubeletConfiguration,
  type KubeletConfigurationV1beta1,
  maskSecrets,
  renderConfiguration,
} from '@node-agent/config';

/**
 * Returns the configuration that `/configz` serves: without secrets, and with the cgroup driver in use, by which
 * clients find the cgroups of pods. The driver that the runtime reports takes precedence over the configured one
 * (`getCgroupDriverFromCRI`, `cmd/kubelet/app/server.go`).
 * @param driver `undefined` until the runtime has reported the driver, and if the kubelet does not manage cgroups
 */
export function shownConfiguration(
  configuration: KubeletConfiguration,
  driver: CgroupDriver | undefined,
): KubeletConfigurationV1beta1 {
  const { cgroupDriver } = configuration;
  return renderConfiguration(maskSecrets({ ...configuration, cgroupDriver: driver ?? cgroupDriver }));
}
