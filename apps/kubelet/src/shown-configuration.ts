import type { CgroupDriver } from '@node-agent/cm-cgroups';
import {
  type KubeletConfiguration,
  type KubeletConfigurationV1beta1,
  maskSecrets,
  renderConfiguration,
} from '@node-agent/config';

/**
 * What `/configz` shows: the configuration without its secrets, and with the cgroup driver that is used, by which programs find the groups of
 * pods. The runtime decides on that one, whatever was configured (`getCgroupDriverFromCRI`, `cmd/kubelet/app/server.go`).
 * @param driver `undefined` as long as the runtime has not been asked, and where the kubelet makes no groups
 */
export function shownConfiguration(
  configuration: KubeletConfiguration,
  driver: CgroupDriver | undefined,
): KubeletConfigurationV1beta1 {
  const { cgroupDriver } = configuration;
  return renderConfiguration(maskSecrets({ ...configuration, cgroupDriver: driver ?? cgroupDriver }));
}
