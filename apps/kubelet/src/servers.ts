import type { Clock } from '@node-agent/async';
import type { KubeletConfiguration } from '@node-agent/config';
import type { Kubelet } from '@node-agent/kubelet-core';
import { type HealthCheck, HealthzServer, ReadOnlyServer } from '@node-agent/server';
import { type Logger, type MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';

/** What the servers show. */
interface Shown {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly events: MemoryEventRecorder;
  readonly kubelet: Kubelet;
}

/** Runs the HTTP servers that the configuration asks for until `signal` is aborted. */
export async function startServers(
  configuration: KubeletConfiguration,
  { clock, logger, metrics, events, kubelet }: Shown,
  signal: AbortSignal,
): Promise<void> {
  const health = (name: 'syncloop' | 'pleg' | 'runtime'): HealthCheck => ({
    name,
    check: () => kubelet.health()[name],
  });
  const checks = [health('syncloop'), health('pleg'), health('runtime')];
  const servers: Promise<void>[] = [];
  if (configuration.healthzPort > 0) {
    const options = { address: configuration.healthzBindAddress, port: configuration.healthzPort };
    const server = new HealthzServer({ clock, logger: logger.child({ component: 'healthz' }), checks }, options);
    servers.push(server.start(signal));
  }
  if (configuration.readOnlyPort > 0) {
    const server = new ReadOnlyServer(
      {
        clock,
        logger: logger.child({ component: 'read-only-server' }),
        metrics,
        checks,
        getPods: () => kubelet.getPods(),
        getRunningPods: (requestSignal) => kubelet.getRunningPods(requestSignal),
        renderMetrics: () => ({ contentType: MetricsRegistry.contentType, text: metrics.text() }),
        explain: (namespace, name) => {
          const explanation = kubelet.explain(namespace, name);
          if (explanation === undefined) return undefined;
          return { ...explanation, events: events.eventsOf({ kind: 'Pod', ...explanation.pod }) };
        },
      },
      { address: '127.0.0.1', port: configuration.readOnlyPort },
    );
    servers.push(server.start(signal));
  }
  await Promise.all(servers);
}
