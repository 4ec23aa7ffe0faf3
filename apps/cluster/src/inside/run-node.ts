import { placesIn } from '../places.ts';
import { ClusterNode } from './cluster-node.ts';
import { prepareNamespaces } from './node-namespace.ts';
import { type Parent, runInside } from './parent.ts';
import { readPlan } from './plan.ts';
import { connectFurtherNode } from './routes.ts';

/** Runs a further node of a cluster in its own network and mount namespaces. */
export function runNode(planFile: string, nodeName: string): Promise<never> {
  return runInside((parent) => furtherNode(planFile, nodeName, parent));
}

async function furtherNode(planFile: string, nodeName: string, parent: Parent): Promise<void> {
  const plan = await readPlan(planFile);
  const node = plan.network.nodes.find(({ name }) => name === nodeName);
  if (node === undefined) throw new Error(`${planFile}: must have the node ${nodeName}`);
  await prepareNamespaces(placesIn(plan.directory).node(nodeName).own, plan.nameServers);
  // The parent adds the link after the control plane has issued the node's credentials.
  await parent.attach();
  await connectFurtherNode(plan.network, node);
  const member = new ClusterNode(plan, node, (text) => void parent.send({ type: 'say', text }));
  await member.startRuntime();
  await member.join();
  await parent.send({ type: 'ready' });
  await Promise.race([parent.ended, member.failed]);
  if (plan.keeps) await member.end(parent.hurry);
}
