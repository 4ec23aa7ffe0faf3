import type { Clock } from '@node-agent/async';
import type { KubeletConfiguration } from '@node-agent/config';
import type { BackgroundService, Dependencies, KubeletView, PodExplanation } from '@node-agent/kubelet-core';
import { type HealthCheck, type HealthcheckSlis, HealthzServer, ReadOnlyServer } from '@node-agent/server';
import { type Logger, type MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';
import type { NodePages } from './stats-pages.ts';

/** Components that provide the served data, in addition to the kubelet itself. */
interface Shown {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  readonly events: MemoryEventRecorder;
  readonly pages: NodePages;
  readonly slis: HealthcheckSlis;
}

/** Factory of a server. */
type MakeServer = (kubelet: KubeletView) => BackgroundService;

/**
 * Creates the HTTP servers that the configuration enables.
 * @param others factories of the secured server and of the admin socket, if the node has them
 */
export function kubeletServers(
  configuration: KubeletConfiguration,
  { clock, logger, metrics, probeMetrics, events, pages, slis }: Shown,
  { main, admin }: { readonly main?: MakeServer | undefined; readonly admin?: MakeServer | undefined } = {},
): NonNullable<Dependencies['servers']> {
  const { healthzBindAddress, healthzPort, readOnlyPort } = configuration;
  const healthz = (kubelet: KubeletView) => {
    const components = { clock, logger: logger.child({ component: 'healthz' }), checks: healthChecks(kubelet), slis };
    const server = new HealthzServer(components, { address: healthzBindAddress, port: healthzPort });
    return { name: 'healthz server', start: (signal: AbortSignal) => server.start(signal) };
  };
  const readOnly = (kubelet: KubeletView) => {
    const server = new ReadOnlyServer(
      {
        clock,
        logger: logger.child({ component: 'read-only-server' }),
        metrics,
        checks: healthChecks(kubelet),
        getPods: () => kubelet.getPods(),
        getRunningPods: (requestSignal) => kubelet.getRunningPods(requestSignal),
        renderMetrics: (requestSignal) => pages.renderMetrics(requestSignal),
        renderProbeMetrics: (requestSignal) => ({
          contentType: MetricsRegistry.contentType,
          text: probeMetrics.portions({ clock }, requestSignal),
        }),
        ...{ stats: pages, slis },
        explain: (namespace, name) => explanationOf(kubelet, events, namespace, name),
      },
      { address: '127.0.0.1', port: readOnlyPort },
    );
    return { name: 'read-only server', start: (signal: AbortSignal) => server.start(signal) };
  };
  return {
    ...(healthzPort > 0 && { healthz }),
    ...(readOnlyPort > 0 && { readOnly }),
    ...(main && { main }),
    ...(admin && { admin }),
  };
}

/** Returns the explanation of a pod's state with the pod's events, or `undefined` if the pod is unknown. */
export function explanationOf(
  kubelet: KubeletView,
  events: Pick<MemoryEventRecorder, 'eventsOf'>,
  namespace: string,
  name: string,
): (PodExplanation & { readonly events: ReturnType<MemoryEventRecorder['eventsOf']> }) | undefined {
  const explanation = kubelet.explain(namespace, name);
  if (explanation === undefined) return undefined;
  return { ...explanation, events: events.eventsOf({ kind: 'Pod', ...explanation.pod }) };
}

export function healthChecks(kubelet: KubeletView): readonly HealthCheck[] {
  const checks = ['syncloop', 'pleg', 'runtime'] as const;
  return [
    ...checks.map((name) => ({
      name,
      check: () => kubelet.health()[name],
      ...(name === 'runtime' && { early: () => kubelet.health().runtimeSilence }),
    })),
    { name: 'device-plugin', check: () => kubelet.health().devicePlugins },
  ];
}
