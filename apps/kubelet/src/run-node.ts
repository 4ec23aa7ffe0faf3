import { connect as connectSocket } from 'node:net';
import os from 'node:os';
import { posix } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type Clock, every, type Random, TaskGroup } from '@node-agent/async';
import { refuseOtherNode } from '@node-agent/certificates';
import {
  type CgroupDriver,
  DbusSystemd,
  openCgroups,
  openGroups,
  ProcessGroups,
  readHierarchy,
} from '@node-agent/cm-cgroups';
import type { KubeletConfiguration, LoadedConfiguration } from '@node-agent/config';
import { CriClient } from '@node-agent/cri-client';
import { kernelFileSystem, nodeFileSystem, nodeForeignFiles, nodeKernelFiles } from '@node-agent/host';
import { type AssembledKubelet, assembleKubelet, type NodePorts } from '@node-agent/kubelet-assembly';
import type { KubeletView } from '@node-agent/kubelet-core';
import { DbusLogind, SystemdInhibit } from '@node-agent/node-shutdown';
import { openKmsg } from '@node-agent/oom-watcher';
import { HealthcheckSlis } from '@node-agent/server';
import {
  fanOutEvents,
  type Logger,
  LoggingEventRecorder,
  type LogLevelSwitch,
  levelOfVerbosity,
  MemoryEventRecorder,
  MetricsRegistry,
  processMetrics,
} from '@node-agent/telemetry';
import {
  DiskCommand,
  DiskToolCommand,
  FlexVolumeCommand,
  LoopCommand,
  MountCommand,
  readNoswapSupport,
} from '@node-agent/volumes';
import { ConfigurationReload } from './configuration/configuration-reload.ts';
import { watchConfiguration } from './configuration/configuration-watch.ts';
import { readNodeResources } from './configuration/node-resources.ts';
import { resourceManagerSettings } from './configuration/resource-managers.ts';
import { assemblySettings, nodeLimits } from './configuration/settings.ts';
import { criTransport } from './node/cri-transport.ts';
import { nodeGauges } from './node/gauges.ts';
import { IptablesChains } from './node/iptables-chains.ts';
import { adjustKernel } from './node/kernel-settings.ts';
import type { Machine } from './node/machine.ts';
import { manifestFetch } from './node/manifest-fetch.ts';
import { nodeIdentity } from './node/node-identity.ts';
import { nodeInventory } from './node/node-inventory.ts';
import { nodeMetrics } from './node/node-metrics.ts';
import { nodeWarnings } from './node/node-warnings.ts';
import { podResourcesServer } from './node/pod-resources.ts';
import { podSources } from './node/pod-sources.ts';
import { processFigures } from './node/process-figures.ts';
import { withImageService } from './node/runtime-services.ts';
import { labelForContainers } from './node/selinux-label.ts';
import { userNamespaceSettings } from './node/user-namespaces.ts';
import { HeapKeeper } from './process/heap-keeper.ts';
import { acquireLockFile, lockContention } from './process/lock-file.ts';
import { Notifier } from './process/notifier.ts';
import { canExec, startNotifyProcess } from './process/notify-process.ts';
import { adjustOomScore } from './process/oom-score.ts';
import { adjustOpenFiles } from './process/open-files.ts';
import { operatorFiles } from './process/operator-files.ts';
import type { Parts } from './process/parts.ts';
import { shareRootDirectory } from './process/root-directory.ts';
import { lockRootDirectory } from './process/root-lock.ts';
import { runCommand } from './process/run-command.ts';
import { ServiceManager } from './process/service-manager.ts';
import { nodeTracing } from './process/tracing.ts';
import { adminServer } from './serving/admin-server.ts';
import { NodeDashboard } from './serving/dashboard.ts';
import { nodeEndpoints } from './serving/node-endpoints.ts';
import { securedServer } from './serving/secured-server.ts';
import { kubeletServers } from './serving/servers.ts';
import { NodePages } from './serving/stats-pages.ts';

/** Components that the process passes to {@link runNode}. */
interface ProcessPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Current log level, which can be changed at runtime. */
  readonly levels: LogLevelSwitch;
  /** Registry of the program's running parts. */
  readonly parts: Parts;
  /** Reads the configuration from its files again. */
  readonly reload: () => Promise<LoadedConfiguration>;
  /** Calls a listener for each SIGHUP. @returns a function that removes the listener */
  readonly onHangUp: (listener: () => void) => () => void;
  /** Starts the shutdown of the program, as SIGTERM does. */
  readonly shutDown: (because: string) => void;
  /** Called when a part has failed; all other parts are stopped. */
  readonly onFailure: (error: unknown) => void;
}

/** Runs a node from its configuration until `signal` is aborted. @throws Error if a part cannot start or fails */
export async function runNode(
  loaded: LoadedConfiguration,
  machine: Machine,
  { clock, random, logger, levels, parts, reload, onHangUp, shutDown, onFailure }: ProcessPorts,
  signal: AbortSignal,
): Promise<void> {
  const { configuration, featureGates } = loaded;
  const flags = { ...loaded.flags, rootDir: posix.resolve(loaded.flags.rootDir) };
  const environment = process.env;
  using notifier = new Notifier({
    clock,
    start: (mode) => startNotifyProcess(mode, environment),
    canExec: (looking) => canExec(environment, looking),
  });
  const serviceManager = new ServiceManager(
    { clock, logger: logger.child({ component: 'service-manager' }), environment, notifier },
    { pid: process.pid },
  );
  await serviceManager.prepare(signal);
  const identity = nodeIdentity(flags, machine);
  if (identity.invalidNodeIps.length > 0) {
    logger.warn({ ips: identity.invalidNodeIps }, 'Could not parse some node IP(s), ignoring them');
  }
  const fs = nodeFileSystem;
  // Mode 0750: other users of the machine must not read what containers write.
  const pluginsDir = posix.join(flags.rootDir, 'plugins');
  for (const directory of [flags.rootDir, configuration.podLogsDir, pluginsDir]) {
    await fs.mkdir(directory, { mode: 0o750 });
  }
  await using fileLock =
    flags.lockFile === '' ? undefined : await acquireLockFile({ logger }, posix.resolve(flags.lockFile), signal);
  await using _lock = await lockRootDirectory({ logger }, flags.rootDir);
  await refuseOtherNode(operatorFiles, { directory: posix.resolve(flags.certDir), nodeName: identity.nodeName });
  if (machine.selinux) {
    await labelForContainers(pluginsDir).catch((err: unknown) => {
      const message = 'Unprivileged containerized plugins might not work, could not set selinux context on plugins dir';
      logger.info({ err, path: pluginsDir }, message);
    });
  }
  if (machine.swapOn && configuration.failSwapOn) throw new Error(SWAP_IS_ON);
  await adjustKernel(fs, configuration.protectKernelDefaults, logger);
  const mounter = new MountCommand({ fs: kernelFileSystem, clock });
  await shareRootDirectory({ fs, mounter, logger }, flags.rootDir, signal);
  const resources = await readNodeResources(configuration, flags, fs);
  await adjustOomScore(fs, configuration.oomScoreAdj, logger);
  await adjustOpenFiles({ fs, logger, run: runCommand }, process.pid, configuration.maxOpenFiles, signal);

  const metrics = new MetricsRegistry();
  metrics.addCollector(processMetrics(metrics, processFigures, performance.timeOrigin));
  nodeMetrics(metrics, { nodeName: identity.nodeName, cgroupVersion: machine.cgroupVersion, featureGates });
  const probeMetrics = new MetricsRegistry();
  probeMetrics
    .gauge({ name: 'process_start_time_seconds', help: 'Start time of the process since unix epoch in seconds.' })
    .set({}, performance.timeOrigin / 1000);
  const tracing = await nodeTracing(configuration.tracing, { clock, random, logger }, identity.nodeName);
  const tracer = tracing?.tracer;
  const events = new MemoryEventRecorder(() => clock.now());
  // Modules for the API server are loaded only if the node is in a cluster.
  using _cluster = parts.begin('API server clients');
  await using cluster = flags.kubeconfig
    ? await (await import('./cluster/cluster.ts')).joinCluster(
        configuration,
        flags,
        featureGates,
        { nodeName: identity.nodeName, reservations: resources.reservations },
        { clock, random, logger, metrics, tracer },
      )
    : undefined;
  if (cluster) metrics.addCollector(() => cluster.reportTtl());
  const recorder = fanOutEvents([
    events,
    // In a cluster, the API server keeps the events (`kubectl describe`), so they are logged at debug level.
    new LoggingEventRecorder(logger.child({ component: 'events' }), cluster ? 'debug' : 'info'),
    ...(cluster ? [cluster.events] : []),
  ]);

  // The code for registry credentials is loaded with the first pull. Configured credential provider plugins are checked
  // now, before any part is started.
  const pullCredentials = async (): Promise<NonNullable<NodePorts['pullCredentials']>> => {
    const child = { clock, logger: logger.child({ component: 'images' }), metrics, recorder, fs: operatorFiles };
    const load = async () => (await import('./cluster/image-credentials.ts')).standaloneCredentials(child, flags);
    let loaded = flags.imageCredentialProviderConfig === '' ? undefined : Promise.resolve(await load());
    return {
      async lookup(pod, image, ending) {
        loaded ??= load();
        return await (await loaded).lookup(pod, image, ending);
      },
    };
  };

  const timeoutMs = configuration.runtimeRequestTimeoutMs;
  const transport = criTransport(environment);
  const components = { clock, logger: logger.child({ component: 'cri' }), metrics, ...(tracer && { tracer }) };
  // Calls fail immediately while the runtime is unavailable, so that its error is known; the kubelet retries.
  const connect = (endpoint: string): CriClient =>
    new CriClient(components, { endpoint, timeoutMs, waitForRuntime: 'never', transport });
  using _runtime = parts.begin('runtime client');
  await using runtimeClient = connect(configuration.containerRuntimeEndpoint);
  const imageEndpoint = configuration.imageServiceEndpoint || configuration.containerRuntimeEndpoint;
  await using imageClient =
    imageEndpoint === configuration.containerRuntimeEndpoint ? runtimeClient : connect(imageEndpoint);
  const cri = withImageService(runtimeClient, imageClient);

  const kill = process.kill.bind(process);
  // The connection to systemd is opened only if the cgroup driver is systemd.
  const bus = { connect: (path: string) => connectSocket(path), clock };
  const userId = process.getuid?.() ?? 0;
  const systemd = new DbusSystemd(bus, { userId });
  using _closing = { [Symbol.dispose]: () => systemd.close() };
  const foreignFiles = nodeForeignFiles({ clock });
  const heap = new HeapKeeper({ setFlags: setFlagsFromString, logger });
  let cgroupDriver: CgroupDriver | undefined;
  const volumesLogger = logger.child({ component: 'volumes' });
  const networkMounter = new MountCommand({ fs: kernelFileSystem, clock }, NETWORK_MOUNTS);
  const { maxAbandoned } = NETWORK_MOUNTS;
  const ports = {
    ...{ clock, random, logger, metrics, probeMetrics, tracer, recorder, fs, cri, mounter },
    networkMounter,
    networkDevices: new DiskCommand({ mounter: networkMounter, clock, logger: volumesLogger }, { maxAbandoned }),
    flexPrograms: new FlexVolumeCommand({ clock }),
    diskTools: new DiskToolCommand({ clock }),
    localDevices: new DiskCommand({ mounter, clock, logger: volumesLogger }),
    loopDevices: new LoopCommand({ fs, clock }),
    ...{ foreignFiles, disks: foreignFiles },
    ...(machine.selinux && { labelForContainers: (directory: string) => labelForContainers(directory) }),
    stats: { cgroups: () => readHierarchy(fs), disks: foreignFiles, kernelFiles: nodeKernelFiles },
    gauges: await nodeGauges({ fs, kernel: kernelFileSystem }, configuration, () => cgroupDriver),
    shutdown: {
      logind: new DbusLogind({ ...bus, logger: logger.child({ component: 'node-shutdown' }) }, { userId }),
      inhibitor: new SystemdInhibit({ clock }),
    },
    kernelLog: { open: openKmsg, uptimeMs: () => os.uptime() * 1000 },
    ...(configuration.cgroupsPerQOS && {
      openCgroups: (driver: CgroupDriver) => {
        cgroupDriver = driver;
        return openCgroups({ fs: kernelFileSystem, clock, kill, systemd }, driver);
      },
    }),
    onPodCountChanged: (pods: number) => heap.podCountChanged(pods),
    ...(cluster ? { cluster: cluster.part } : { pullCredentials: await pullCredentials() }),
  };
  const sources = podSources(configuration, identity.nodeName, flags.rootDir, {
    fs,
    foreign: foreignFiles,
    clock,
    logger: logger.child({ component: 'pod-source' }),
    fetch: manifestFetch({ clock, logger }, process.env),
  });
  const pages = new NodePages({ clock, logger, metrics });
  const slis = new HealthcheckSlis(performance.timeOrigin);
  const shown = { clock, random, logger, levels, metrics, tracer, probeMetrics, events, cri, pages, slis };
  const inForce = new ConfigurationReload(
    {
      logger: logger.child({ component: 'configuration' }),
      load: reload,
      apply(next, before) {
        assembled.setLimits(nodeLimits(next, flags, resources.allocatableWith(next)));
        cluster?.setRates(next);
        // A log level that was set through `/debug/flags/v` is kept unless the configured log level has changed.
        const { verbosity } = next.logging;
        if (verbosity !== before.logging.verbosity) levels.level = levelOfVerbosity(verbosity);
      },
      tell: (type, reason, message) => recorder.event(assembled.kubelet.nodeRef, type, reason, message),
    },
    configuration,
  );
  const described = {
    configuration: () => inForce.current,
    flags,
    featureGates,
    ...identity,
    reservations: resources.reservations,
  };
  const inventory = nodeInventory(shown, described, () => assembled);
  const dashboard = new NodeDashboard(
    { ...shown, inventory, stats: () => assembled.stats, logger: logger.child({ component: 'dashboard' }) },
    identity.nodeName,
  );
  const endpoints = nodeEndpoints(loaded, flags.rootDir, {
    ...shown,
    inventory,
    ...(flags.dashboard && { dashboard }),
    inForce,
    cgroupDriver: () => cgroupDriver,
  });
  const facts = { nodeName: identity.nodeName, certDir: flags.certDir };
  const secured = await securedServer(loaded, facts, { ...shown, endpoints }, cluster);
  const admin = adminServer(flags.adminSocket, { clock, logger, metrics, endpoints });
  const isDebuggable = (secured && configuration.enableDebuggingHandlers) || admin !== undefined;
  const endpointServices = isDebuggable ? endpoints.services : [];
  const servers = {
    ...kubeletServers(configuration, shown, { main: secured?.make, admin }),
    podResources: podResourcesServer({ clock, logger, metrics }, { rootDir: flags.rootDir, featureGates }, () => ({
      ...assembled,
      resources: assembled.resourceManagers,
    })),
  };
  const userNamespaces = await userNamespaceSettings(configuration, { fs }, signal);
  const resourceManagers = await resourceManagerSettings(
    configuration,
    featureGates,
    kernelFileSystem,
    resources.reservation,
  );
  const found = { machine, identity, resources, userNamespaces, resourceManagers };
  const settings = assemblySettings({ ...loaded, flags, ...found, sources, servers });
  const assembled: AssembledKubelet<KubeletConfiguration> = assembleKubelet(ports, settings);
  const { kubelet, stats } = assembled;
  // The state files are loaded before any pod is admitted. An unusable state file stops the start, so that an operator
  // notices it.
  await assembled.resourceManagers?.load();
  pages.join(stats);

  logger.info(
    {
      node: identity.nodeName,
      ips: identity.nodeIps,
      root: flags.rootDir,
      runtime: configuration.containerRuntimeEndpoint,
    },
    'Starting kubelet',
  );
  kubelet.birthCry();
  for (const { reason, message } of await nodeWarnings(machine, () => readNoswapSupport(fs))) {
    recorder.event(kubelet.nodeRef, 'Warning', reason, message);
  }
  // If one part fails, the whole node stops, and the service manager restarts it.
  const group = new TaskGroup(signal);
  group.signal.addEventListener('abort', () => {
    if (!signal.aborted) onFailure(group.signal.reason);
  });
  const start = (name: string, task: (ending: AbortSignal) => Promise<void>): void => group.add(parts.task(name, task));
  if (tracing) start('traces', (ending) => tracing.exporter.start(ending));
  if (cluster) start('events', (ending) => cluster.events.start(ending));
  for (const service of [...(cluster?.certificates ?? []), ...(secured?.services ?? []), ...endpointServices]) {
    start(service.name, (ending) => service.start(ending));
  }
  start('heap size', async (ending) => {
    await assembled.podConfig.allSourcesSeen(ending);
    heap.sourcesReady();
  });
  start('kubelet', (ending) => kubelet.run(ending));
  start('garbage collection', (ending) => kubelet.startGarbageCollection(ending));
  if (servers.healthz) start('healthz server', (ending) => kubelet.listenAndServeHealthz(ending));
  if (servers.main) start('secured server', (ending) => kubelet.listenAndServe(ending));
  if (servers.admin) start('admin socket', (ending) => kubelet.listenAndServeAdmin(ending));
  if (flags.dashboardPort > 0) {
    const { dashboardPort: port, rootDir } = flags;
    const page = dashboard.loopback(operatorFiles, { port, rootDir }, () => kubelet);
    start(page.name, (ending) => page.start(ending));
  }
  if (servers.readOnly) start('read-only server', (ending) => kubelet.listenAndServeReadOnly(ending));
  start('pod resources', (ending) => kubelet.listenAndServePodResources(ending));
  const ownGroups = new ProcessGroups(
    { fs, clock, logger: logger.child({ component: 'cgroups' }), open: () => openGroups({ fs, clock, kill }) },
    { pid: process.pid, kubelet: configuration.kubeletCgroups, system: configuration.systemCgroups },
  );
  if (configuration.kubeletCgroups || configuration.systemCgroups) {
    start('kubelet and system cgroups', (ending) => ownGroups.start(ending));
  }
  if (flags.config !== '' || flags.configDir !== '') {
    const watched = {
      file: flags.config === '' ? '' : posix.resolve(flags.config),
      directory: flags.configDir === '' ? '' : posix.resolve(flags.configDir),
    };
    const watching = {
      ...{ fs, clock, logger: logger.child({ component: 'configuration' }), onRequest: onHangUp },
      reload: () => inForce.reload(),
    };
    start('configuration', (ending) => watchConfiguration(watching, watched, ending));
  }
  if (configuration.makeIPTablesUtilChains) {
    const chains = new IptablesChains({ clock, logger: logger.child({ component: 'iptables' }), run: runCommand });
    start('iptables chains', (ending) => chains.start(ending));
  }
  if (fileLock !== undefined && flags.exitOnLockContention) {
    start('lock file', async (ending) => shutDown(await lockContention({ fs, clock }, fileLock, ending)));
  }
  start('event expiry', (ending) => forgetEvents(kubelet, events, clock, ending));
  start('service manager', (ending) => serviceManager.ready(ending));
  if (serviceManager.isWatched)
    start('watchdog', (ending) => serviceManager.watch(() => watchdogProblem(kubelet), ending));
  await group.ended();
}

/**
 * Returns the kubelet's problem for systemd's watchdog, or `undefined` if the kubelet is healthy (`SetHealthCheckers`
 * of `pkg/kubelet/watchdog`).
 */
function watchdogProblem(kubelet: Pick<KubeletView, 'health'>): string | undefined {
  const { syncloop, devicePlugins } = kubelet.health();
  return syncloop ?? devicePlugins;
}

/**
 * Limits of mount commands for network volumes. `mount.nfs` gives up after two minutes. The deadline is later, so that
 * the kubelet reports the error message of `mount.nfs`.
 */
const NETWORK_MOUNTS = { deadlineMs: 180_000, maxAbandoned: 256, killsChildren: true };

const SWAP_IS_ON = 'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false';

/** Interval at which events of deleted pods are dropped. */
const FORGET_EVENTS_MS = 600_000;

async function forgetEvents(
  kubelet: Pick<KubeletView, 'getPods'>,
  events: MemoryEventRecorder,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const forget = (): void => {
    const known = new Set(kubelet.getPods().map((pod) => pod.metadata.uid));
    events.retain(({ kind, uid }) => kind !== 'Pod' || known.has(uid ?? ''));
  };
  await every(clock, FORGET_EVENTS_MS, forget, signal);
}
