import { networkInterfaces } from 'node:os';
import { type Clock, type Random, TaskGroup } from '@node-agent/async';
import { typicalLatencies } from '@node-agent/fake-cri';
import { KubeClients, loadKubeconfig } from '@node-agent/kube-client';
import { apiReviewer, SharedWatches } from '@node-agent/kubelet-assembly/cluster';
import type { Logger, MetricsRegistry } from '@node-agent/telemetry';
import { Fleet } from './fleet.ts';
import { HollowNode, type HollowNodeOptions, type MakeServer } from './hollow-node.ts';
import { type NodePlan, planNodes } from './node-plan.ts';
import { nodeServers, userFiles } from './node-servers.ts';
import type { HollowOptions } from './options.ts';
import { parseProfile } from './profile.ts';
import { HOLLOW_VERSION } from './version.ts';

/** Components of the process. */
interface ProcessComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Joins all nodes to their cluster and runs them until `signal` is aborted.
 * @param onStarted called when all nodes have been started
 * @throws Error that names the option or file that cannot be used
 */
export async function runFleet(
  options: HollowOptions,
  { environment, ...components }: ProcessComponents,
  signal: AbortSignal,
  onStarted: () => void,
): Promise<void> {
  const { clock, random, logger, metrics } = components;
  const plans = planNodes(options);
  const address = options.address ?? addressOfMachine();
  const { profileFile: file } = options;
  const script = file === undefined ? undefined : parseProfile(await textOf(file), file);
  const connection = await loadKubeconfig({ fs: userFiles }, options.kubeconfig);
  const version = `hollow-node/${HOLLOW_VERSION}`;
  await using clients = new KubeClients(
    { clock, logger, metrics, environment, fs: userFiles },
    // The shared client has no rate limit; each node limits its own requests as a kubelet does.
    { connection, requests: UNLIMITED, events: UNLIMITED, userAgent: version },
  );
  const watches = new SharedWatches({ clock, random, logger, client: clients.requests });
  const servers =
    options.port === 0
      ? undefined
      : await nodeServers({ ...components, reviewer: apiReviewer(clients.requests) }, options, address, connection);
  const nodeOptions: HollowNodeOptions = {
    ...options,
    address,
    kubeletVersion: HOLLOW_VERSION,
    runtime: { ...(script && { script }), ...(options.hasLatencies && { latencies: typicalLatencies }) },
  };
  const fleet = new Fleet({
    ...{ clock, logger },
    make: (plan) => hollowNode(plan, { components, nodeOptions, clients, watches, makeServer: servers?.make }),
  });
  logger.info({ nodes: plans.length, address, server: connection.cluster.server }, 'Starting hollow nodes');
  const group = new TaskGroup(signal);
  group.add((ending) => watches.start(ending));
  for (const service of servers?.services ?? []) group.add((ending) => service.start(ending));
  group.add((ending) => fleet.run(plans, options.startRate, ending, onStarted));
  await group.ended();
}

const UNLIMITED = { qps: 0, burst: 1 };

interface NodeParts {
  readonly components: Omit<ProcessComponents, 'environment'>;
  readonly nodeOptions: HollowNodeOptions;
  readonly clients: KubeClients;
  readonly watches: SharedWatches;
  readonly makeServer: MakeServer | undefined;
}

function hollowNode(plan: NodePlan, { components, nodeOptions, clients, watches, makeServer }: NodeParts): HollowNode {
  const user = { user: `system:node:${plan.name}`, group: 'system:nodes' };
  const connection = { clients: clients.as(user), watched: watches.of(plan.name) };
  return new HollowNode(components, plan, nodeOptions, connection, makeServer);
}

async function textOf(file: string): Promise<string> {
  return Buffer.from(await userFiles.readFile(file)).toString();
}

/** Returns an address of the machine that other machines can reach, or 127.0.0.1 if it has none. */
function addressOfMachine(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
