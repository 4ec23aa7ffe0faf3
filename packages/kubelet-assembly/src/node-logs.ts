import type { Clock } from '@node-agent/async';
import { ContainerLogReader, type ContainerLogReaderComponents } from '@node-agent/container-logs';
import type { RuntimeService } from '@node-agent/cri-client';
import { parseContainerId } from '@node-agent/pod-spec';
import type { LogComponents } from '@node-agent/server';
import type { Logger } from '@node-agent/telemetry';

/**
 * Creates the reader of container logs. The runtime reports the path of each log (`GetContainerLogs`,
 * `pkg/kubelet/kuberuntime`).
 */
export function nodeLogs(
  cri: Pick<RuntimeService, 'containerStatus'>,
  { fs, clock, logger }: Pick<ContainerLogReaderComponents, 'fs'> & { readonly clock: Clock; readonly logger: Logger },
): LogComponents['readLog'] {
  const reader = new ContainerLogReader({ fs, cri, clock, logger });
  return async function* (containerId, { follow, previous: _previous, ...options }, signal) {
    const { id } = parseContainerId(containerId);
    let path = '';
    try {
      path = (await cri.containerStatus({ containerId: id }, signal)).status?.logPath ?? '';
    } catch (cause) {
      throw new Error(`unable to retrieve container logs for ${containerId}`, { cause });
    }
    yield* reader.readMixed(path, { ...options, ...(follow && { follow: { containerId: id } }) }, signal);
  };
}
