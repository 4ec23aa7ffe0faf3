import { join, resolve } from 'node:path';
import type { Clock, Random } from '@node-agent/async';
import type { CgroupDriver } from '@node-agent/cm-cgroups';
import type { LoadedConfiguration } from '@node-agent/config';
import type { RuntimeService } from '@node-agent/cri-client';
import { nodeFileSystem as fs } from '@node-agent/host';
import { type BackgroundService, explainNode, type KubeletView } from '@node-agent/kubelet-core';
import {
  ClientCaFile,
  checkpointEndpoints,
  disabledEndpoints,
  type Endpoints,
  type HealthcheckSlis,
  hostLogEndpoints,
  InspectorProfiler,
  journalctl,
  logEndpoints,
  type Profiler,
  pprofEndpoints,
  type Reviewer,
  SecuredServer,
  type ServingCertificate,
  stateEndpoints,
  statsEndpoints,
  streamEndpoints,
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
import { accessOf } from './access.ts';
import { explanationText } from './explanation-text.ts';
import { nodeLogs } from './node-logs.ts';
import { explanationOf, healthChecks } from './servers.ts';
import { servingFiles } from './serving-files.ts';
import { shownConfiguration } from './shown-configuration.ts';
import type { NodePages } from './stats-pages.ts';
import { underWay } from './under-way.ts';
import { KUBELET_VERSION } from './version.ts';

/** Components that the program passes to {@link securedServer}. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  readonly events: MemoryEventRecorder;
  readonly cri: RuntimeService;
  readonly pages: NodePages;
  readonly slis: HealthcheckSlis;
  /** Current log level, which `/debug/flags/v` changes. */
  readonly levels: LogLevelSwitch;
  /** Returns the cgroup driver; `undefined` until the driver is known. */
  readonly cgroupDriver: () => CgroupDriver | undefined;
}

interface NodeFacts {
  readonly nodeName: string;
  readonly certDir: string;
  readonly rootDir: string;
}

/** Parts of the cluster connection that the server uses. */
interface ClusterSide {
  readonly reviewer: Reviewer;
  readonly servingCertificate?: ServingCertificate;
}

/** Factory of the secured server, and the background services it needs. The caller must start the services. */
interface PreparedServer {
  readonly make: (kubelet: KubeletView) => BackgroundService;
  readonly services: readonly BackgroundService[];
}

/**
 * Prepares the secured server: loads its serving certificate and client CA bundle. Returns `undefined` if the
 * configuration disables the server or no client could be let in; the second case is logged with its reason.
 * @throws Error naming the invalid configuration field
 * @throws Error if a file that the configuration names cannot be loaded
 */
export async function securedServer(
  loaded: LoadedConfiguration,
  { nodeName, certDir, rootDir }: NodeFacts,
  { clock, random, metrics, probeMetrics, events, cri, levels, pages, slis, cgroupDriver, ...rest }: Components,
  cluster: ClusterSide | undefined,
): Promise<PreparedServer | undefined> {
  const { configuration, featureGates } = loaded;
  if (!configuration.enableServer) return undefined;
  const logger = rest.logger.child({ component: 'server' });
  const { clientCAFile } = configuration.authentication.x509;
  const authorities = clientCAFile === '' ? undefined : new ClientCaFile({ fs, clock, logger }, resolve(clientCAFile));
  await authorities?.load();
  const access = accessOf(loaded, nodeName, {
    ...{ clock, random },
    ...(cluster && { reviewer: cluster.reviewer }),
    ...(authorities && { authorities }),
  });
  if (access.authentication === undefined) {
    logger.warn({ because: access.because, port: configuration.port }, 'Not starting the secured server');
    return undefined;
  }
  const reload = featureGates.enabled('ReloadKubeletServerCertificateFile');
  const serving = cluster?.servingCertificate
    ? { certificate: cluster.servingCertificate, services: [] }
    : await servingFiles({ ...configuration, certDir, nodeName, reload }, { clock, logger });

  const services = [...serving.services];
  if (authorities && featureGates.enabled('ReloadKubeletClientCAFile')) {
    services.push({ name: 'client CA bundle', start: (signal) => authorities.start(signal) });
  }
  const profiler = new InspectorProfiler({ clock, logger });
  if (configuration.enableDebuggingHandlers && configuration.enableProfilingHandler) {
    services.push({ name: 'profiler', start: (signal) => profiler.start(signal) });
  }
  // `--streaming-connection-idle-timeout=0` means no timeout, as upstream's help documents.
  const configuredMs = configuration.streamingConnectionIdleTimeoutMs;
  const idleTimeoutMs = configuredMs > 0 ? configuredMs : Number.POSITIVE_INFINITY;
  const make = (kubelet: KubeletView): BackgroundService => {
    const streams = streamEndpoints(
      { clock, logger, metrics, runtime: cri, ...podsOf(kubelet) },
      {
        idleTimeoutMs,
        extendWebSockets: featureGates.enabled('ExtendWebSocketsToKubelet'),
      },
    );
    const logs = logEndpoints(
      { ...podsOf(kubelet), readLog: nodeLogs(cri, { clock, logger }) },
      { splitStreams: featureGates.enabled('PodLogsQuerySplitStreams') },
    );
    const state = stateEndpoints({
      ...{ logger, slis, ...podsOf(kubelet) },
      checks: healthChecks(kubelet),
      renderMetrics: (requestSignal) => pages.renderMetrics(requestSignal),
      renderProbeMetrics: () => ({ contentType: MetricsRegistry.contentType, text: probeMetrics.text() }),
      explain: (namespace, name) => explanationOf(kubelet, events, namespace, name),
      explainNode: () => explainNode(kubelet),
      explanationText: (value) => explanationText(value, clock.now()),
      configuration: () => shownConfiguration(configuration, cgroupDriver()),
    });
    const others = otherEndpoints(loaded, rootDir, { clock, cri, levels, profiler }, kubelet);
    const server = new SecuredServer(
      {
        ...{ clock, logger, metrics, certificate: serving.certificate },
        ...(authorities && { authorities }),
        ...access,
        endpoints: { ...state, ...statsEndpoints({ logger, stats: pages }), ...logs, ...streams.endpoints, ...others },
        upgrades: streams.upgrades,
      },
      {
        address: configuration.address,
        port: configuration.port,
        debugging: configuration.enableDebuggingHandlers,
        limits: { stallMs: idleTimeoutMs },
        tls: {
          cipherSuites: configuration.tlsCipherSuites,
          minVersion: configuration.tlsMinVersion,
          curvePreferences: configuration.tlsCurvePreferences,
        },
        onListening: (listening) => logger.info({ ...listening }, 'Secured server is listening'),
      },
    );
    return { name: 'secured server', start: (signal) => server.start(signal) };
  };
  return { make, services };
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
  };
}
