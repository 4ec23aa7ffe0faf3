import { join } from 'node:path';
import type { Clock } from '@node-agent/async';
import type { CgroupDriver } from '@node-agent/cm-cgroups';
import type { LoadedConfiguration } from '@node-agent/config';
import type { RuntimeService } from '@node-agent/cri-client';
import { nodeFileSystem as fs } from '@node-agent/host';
import { nodeLogs } from '@node-agent/kubelet-assembly';
import { type BackgroundService, explainNode, type KubeletView } from '@node-agent/kubelet-core';
import {
  checkpointEndpoints,
  disabledEndpoints,
  type Endpoints,
  type HealthcheckSlis,
  hostLogEndpoints,
  InspectorProfiler,
  type InventoryComponents,
  inventoryEndpoints,
  journalctl,
  logEndpoints,
  type Profiler,
  pprofEndpoints,
  stateEndpoints,
  statsEndpoints,
  streamEndpoints,
  type UpgradeEndpoints,
  verbosityEndpoints,
  zpageEndpoints,
} from '@node-agent/server';
import {
  type Logger,
  type LogLevelSwitch,
  levelOfVerbosity,
  type MemoryEventRecorder,
  MetricsRegistry,
} from '@node-agent/telemetry';
import type { ConfigurationReload } from '../configuration/configuration-reload.ts';
import { shownConfiguration } from '../configuration/shown-configuration.ts';
import { KUBELET_VERSION } from '../version.ts';
import type { NodeDashboard } from './dashboard.ts';
import { explanationText } from './explanation-text.ts';
import { explanationOf, healthChecks } from './servers.ts';
import type { NodePages } from './stats-pages.ts';
import { underWay } from './under-way.ts';

/** Components that the program passes to {@link nodeEndpoints}. */
interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  readonly events: MemoryEventRecorder;
  readonly cri: RuntimeService;
  readonly pages: NodePages;
  readonly slis: HealthcheckSlis;
  readonly inventory: InventoryComponents;
  /** The page about the node; absent if `--dashboard` is not set. */
  readonly dashboard?: Pick<NodeDashboard, 'endpoint'> | undefined;
  /** The configuration in force, which may change while the kubelet runs. */
  readonly inForce: Pick<ConfigurationReload, 'current' | 'state'>;
  /** Current log level, which `/debug/flags/v` changes. */
  readonly levels: LogLevelSwitch;
  /** Returns the cgroup driver; `undefined` until the driver is known. */
  readonly cgroupDriver: () => CgroupDriver | undefined;
}

/** The endpoints of a kubelet, shared by the secured port and the admin socket. */
export interface NodeEndpoints {
  /** Returns the handlers of a kubelet. Each call returns the same handlers. */
  of(kubelet: KubeletView): { readonly endpoints: Endpoints; readonly upgrades: UpgradeEndpoints };
  /** Services that the endpoints need. The caller must start them. */
  readonly services: readonly BackgroundService[];
  /** Longest silence of a stream, in milliseconds. */
  readonly idleTimeoutMs: number;
}

/** Creates the endpoints that the configuration enables. */
export function nodeEndpoints(
  loaded: LoadedConfiguration,
  rootDir: string,
  {
    clock,
    metrics,
    probeMetrics,
    events,
    cri,
    levels,
    pages,
    slis,
    inventory,
    dashboard,
    inForce,
    cgroupDriver,
    ...rest
  }: Components,
): NodeEndpoints {
  const { configuration, featureGates } = loaded;
  const logger = rest.logger.child({ component: 'server' });
  const profiler = new InspectorProfiler({ clock, logger });
  const services: BackgroundService[] = [];
  if (configuration.enableProfilingHandler) {
    services.push({ name: 'profiler', start: (signal) => profiler.start(signal) });
  }
  // `--streaming-connection-idle-timeout=0` means no timeout, as upstream's help documents.
  const configuredMs = configuration.streamingConnectionIdleTimeoutMs;
  const idleTimeoutMs = configuredMs > 0 ? configuredMs : Number.POSITIVE_INFINITY;
  const make = (kubelet: KubeletView): ReturnType<NodeEndpoints['of']> => {
    const streams = streamEndpoints(
      { clock, logger, metrics, runtime: cri, ...podsOf(kubelet) },
      { idleTimeoutMs, extendWebSockets: featureGates.enabled('ExtendWebSocketsToKubelet') },
    );
    const logs = logEndpoints(
      { ...podsOf(kubelet), readLog: nodeLogs(cri, { fs, clock, logger }) },
      { splitStreams: featureGates.enabled('PodLogsQuerySplitStreams') },
    );
    const state = stateEndpoints({
      ...{ clock, logger, slis, ...podsOf(kubelet) },
      checks: healthChecks(kubelet),
      renderMetrics: (requestSignal) => pages.renderMetrics(requestSignal),
      renderProbeMetrics: (requestSignal) => ({
        contentType: MetricsRegistry.contentType,
        text: probeMetrics.portions({ clock }, requestSignal),
      }),
      explain: (namespace, name) => explanationOf(kubelet, events, namespace, name),
      explainNode: () => explainNode(kubelet),
      explanationText: (value) => explanationText(value, clock.now()),
      configuration: () => shownConfiguration(inForce.current, cgroupDriver()),
      configurationReload: () => inForce.state,
    });
    const others = otherEndpoints(loaded, rootDir, { clock, cri, levels, profiler }, kubelet);
    const statistics = statsEndpoints({ clock, logger, stats: pages });
    const endpoints = {
      ...state,
      ...statistics,
      ...inventoryEndpoints({ clock, ...inventory }),
      ...logs,
      ...streams.endpoints,
    };
    const page = dashboard && { dashboard: dashboard.endpoint(kubelet) };
    return { endpoints: { ...endpoints, ...others, ...page }, upgrades: streams.upgrades };
  };
  const made = new WeakMap<KubeletView, ReturnType<NodeEndpoints['of']>>();
  return {
    services,
    idleTimeoutMs,
    of(kubelet) {
      const endpoints = made.get(kubelet) ?? make(kubelet);
      made.set(kubelet, endpoints);
      return endpoints;
    },
  };
}

/** Returns the debugging endpoints that the configuration enables. */
function otherEndpoints(
  { configuration, featureGates, flagValues }: LoadedConfiguration,
  rootDir: string,
  { clock, cri, levels, profiler }: Pick<Components, 'clock' | 'cri' | 'levels'> & { readonly profiler: Profiler },
  kubelet: KubeletView,
): Endpoints {
  const set = (verbosity: number): void => {
    levels.level = levelOfVerbosity(verbosity);
  };
  const statusz = {
    startTimeMs: performance.timeOrigin,
    binaryVersion: KUBELET_VERSION,
    runtimeVersion: `node ${process.version}`,
    paths: ['/configz', '/debug', '/flagz', '/healthz', '/logs', '/metrics', '/pods', '/runningpods', '/stats'],
  };
  return {
    ...(featureGates.enabled('ContainerCheckpoint') &&
      checkpointEndpoints(
        { clock, runtime: cri, ...podsOf(kubelet) },
        { directory: join(rootDir, 'checkpoints'), fs },
      )),
    ...zpageEndpoints({
      clock,
      ...(featureGates.enabled('ComponentStatusz') && { statusz }),
      ...(featureGates.enabled('ComponentFlagz') && { flagz: () => flagValues }),
    }),
    ...(configuration.enableDebugFlagsHandler ? verbosityEndpoints({ set }) : disabledEndpoints(['verbosity'])),
    ...(configuration.enableProfilingHandler
      ? pprofEndpoints({ clock, profiler, tasks: () => underWay(kubelet), commandLine: process.argv })
      : disabledEndpoints(['pprof'])),
    ...(configuration.enableSystemLogHandler
      ? hostLogEndpoints({ files: fs, clock, ...(configuration.enableSystemLogQuery && { journal: journalctl() }) })
      : disabledEndpoints(['logs'])),
  };
}

function podsOf(kubelet: KubeletView) {
  return {
    getPods: () => kubelet.getPods(),
    getPodByName: (namespace: string, name: string) => kubelet.getPodByName(namespace, name),
    translatePodUid: (uid: string) => kubelet.translatePodUid(uid),
    getRunningPods: (signal: AbortSignal) => kubelet.getRunningPods(signal),
    getRunningPod: (uid: string, signal: AbortSignal) => kubelet.getRunningPod(uid, signal),
  };
}
