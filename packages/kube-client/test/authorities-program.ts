// Requests a node from the server in its argument, without a configured CA, and prints the result.
import { KubeClients, resources } from '@node-agent/kube-client';

const [server = ''] = process.argv.slice(2);
await using clients = new KubeClients({ environment: {} }, { connection: { cluster: { server }, user: {} } });
try {
  await clients.heartbeats.get(resources.nodes, { name: 'a' });
  process.stdout.write('answered');
} catch (error) {
  process.stdout.write(String(error));
}
