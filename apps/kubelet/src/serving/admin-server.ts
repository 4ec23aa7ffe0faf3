import type { Clock } from '@node-agent/async';
import type { BackgroundService, KubeletView } from '@node-agent/kubelet-core';
import { AdminServer } from '@node-agent/server';
import type { Logger, Metrics } from '@node-agent/telemetry';
import type { NodeEndpoints } from './node-endpoints.ts';

/** Components of {@link adminServer}. */
interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly endpoints: Pick<NodeEndpoints, 'of'>;
}

/**
 * Returns the factory of the server on the admin socket; `undefined` if `--admin-socket` is not set.
 * @param path `--admin-socket`
 */
export function adminServer(
  path: string,
  { endpoints, ...components }: Components,
): ((kubelet: KubeletView) => BackgroundService) | undefined {
  if (path === '') return undefined;
  const logger = components.logger.child({ component: 'admin-server' });
  return (kubelet) => {
    const onListening = (): void => logger.info({ path }, 'Admin socket is listening');
    const server = new AdminServer({ ...components, logger, ...endpoints.of(kubelet) }, { path, onListening });
    return { name: 'admin socket', start: (signal) => server.start(signal) };
  };
}
