import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approveServingRequests, ControlPlane } from '@node-agent/tools-control-plane';
import { makeGroup, remountCgroups } from '@node-agent/tools-isolation';
import { PARTS } from '../call.ts';
import { IsolatedProgram } from '../isolated-program.ts';
import type { NodeAddresses } from '../network.ts';
import { placesIn } from '../places.ts';
import { clusterDnsObjects, writeCoreDnsImage } from './cluster-dns.ts';
import { ClusterNode } from './cluster-node.ts';
import { prepareNamespaces } from './node-namespace.ts';
import { type Parent, runInside } from './parent.ts';
import { type Plan, readPlan } from './plan.ts';
import { untilReady } from './readiness.ts';
import { addNodeLink, connectFirstNode } from './routes.ts';

/**
 * Maximum time in ms to start each process of the control plane. The limit is long, because a busy machine starts
 * processes slowly.
 */
const START_MS = 180_000;
/** Period in ms of approving serving certificates, which kubelets renew weeks after the start. */
const APPROVAL_MS = 60_000;

/**
 * Runs a cluster in its own network, mount, PID and cgroup namespaces: the control plane and the first node in this
 * process's namespaces, further nodes in network and mount namespaces of their own.
 */
export function runCluster(planFile: string): Promise<never> {
  return runInside((parent) => cluster(planFile, parent));
}

async function cluster(planFile: string, parent: Parent): Promise<void> {
  const plan = await readPlan(planFile);
  // If an error is thrown here, this process exits, and the kernel kills all other processes of the PID namespace.
  const { plane, member, further, failed } = await parent.unlessEnding(start(plan, planFile, parent));
  await parent.send({ type: 'ready' });
  void approveForever(plane, parent.ending);
  await Promise.race([parent.ended, failed]);
  if (!plan.keeps) return;
  parent.hurry.addEventListener('abort', () => {
    for (const one of further) one.hurry();
  });
  await Promise.all([member.end(parent.hurry), ...further.map((one) => one.end())]);
  // etcd must write its data before the end of the PID namespace kills it.
  for (const name of ['kube-scheduler', 'kube-controller-manager', 'kube-apiserver', 'etcd'] as const)
    await plane.killProcess(name, 'SIGTERM');
}

/** Parts of a cluster that is ready. */
interface Running {
  readonly plane: ControlPlane;
  readonly member: ClusterNode;
  readonly further: readonly IsolatedProgram[];
  /** Promise that rejects if a process of a node keeps exiting. */
  readonly failed: Promise<never>;
}

/** Starts all parts of a cluster and waits until it is ready. */
async function start(plan: Plan, planFile: string, parent: Parent): Promise<Running> {
  const places = placesIn(plan.directory);
  const say = (text: string): void => void parent.send({ type: 'say', text });
  const [first, ...others] = plan.network.nodes;
  if (first === undefined) throw new Error(`${planFile}: must have a node`);
  await remountCgroups();
  for (const { name } of plan.network.nodes) {
    await makeGroup(name);
    await mkdir(places.node(name).directory, { recursive: true });
  }
  await prepareNamespaces(places.node(first.name).own, plan.nameServers);
  await parent.attach();
  await connectFirstNode(plan.network);

  const plane = new ControlPlane({
    binaries: plan.binaries,
    directory: places.controlPlane,
    reachableFromPods: true,
    serviceSubnet: plan.network.serviceSubnet,
    startTimeoutMs: START_MS,
  });
  await removeProcessIds(places.controlPlane);
  const issued = Promise.withResolvers<void>();
  issued.promise.catch(() => {}); // If there are no further nodes, nothing waits for this promise.
  // Further nodes copy the mounts of this process, so they start before this node has network namespaces and volumes.
  const further = others.map((node) => startFurtherNode(plan, planFile, node, issued.promise, say));
  const member = new ClusterNode(plan, first, say);
  await writeCoreDnsImage(plan.binaries.coredns, places.coreDnsImage);
  const runtime = member.startRuntime();
  try {
    await Promise.all([plane.start(), runtime]);
    say('control plane and container runtime started');
    await copyFile(plane.adminKubeconfig, places.kubeconfig);
    for (const { name } of plan.network.nodes) await writeCredentials(plan, plane, name);
    issued.resolve();
  } catch (error) {
    issued.reject(error);
    throw error;
  }
  await member.join();
  const { dnsAddress } = plan.network;
  for (const { collection, object } of clusterDnsObjects(dnsAddress, plan.nameServers)) {
    // A kept cluster already has these objects, and its user may have changed them.
    const { status } = await plane.request('GET', `${collection}/${object.metadata.name}`);
    if (status !== 200) await plane.json('POST', collection, object);
  }
  const failed = Promise.race([
    member.failed,
    ...further.map(async (one): Promise<never> => {
      throw new Error(`further node: ${await one.exit}`);
    }),
  ]);
  failed.catch(() => {}); // `Promise.race` below reports this error.
  await Promise.race([untilReady(plane, plan.network, say, parent.ending), failed]);
  return { plane, member, further, failed };
}

/**
 * Removes the process IDs that a killed run has left in a kept directory. In the new PID namespace, other processes
 * have these IDs.
 */
async function removeProcessIds(directory: string): Promise<void> {
  const files = await readdir(directory).catch(() => []);
  for (const name of files.filter((file) => file.endsWith('.pid'))) await rm(join(directory, name));
}

function startFurtherNode(
  plan: Plan,
  planFile: string,
  node: NodeAddresses,
  issued: Promise<void>,
  say: (text: string) => void,
): IsolatedProgram {
  return new IsolatedProgram({
    args: [PARTS.node, planFile, node.name],
    namespaces: 'node',
    logFile: placesIn(plan.directory).node(node.name).log,
    say,
    async attach(pid) {
      await issued;
      await addNodeLink(node, pid);
    },
  });
}

async function writeCredentials(plan: Plan, plane: ControlPlane, nodeName: string): Promise<void> {
  const node = placesIn(plan.directory).node(nodeName);
  await copyFile(await plane.nodeKubeconfig(nodeName), node.kubeletKubeconfig);
  await copyFile(await plane.userKubeconfig('system:kube-proxy'), node.proxyKubeconfig);
  await copyFile(plane.caFile, node.caFile);
}

async function approveForever(plane: ControlPlane, ending: AbortSignal): Promise<void> {
  while (!ending.aborted) {
    // A failure is ignored, because the API server may be restarting and the next period tries again.
    await approveServingRequests(plane).catch(() => []);
    await sleep(APPROVAL_MS, undefined, { signal: ending }).catch(() => {});
  }
}
