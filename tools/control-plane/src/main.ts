import { parseArgs } from 'node:util';
import { findControlPlane } from './binaries.ts';
import { ControlPlane } from './control-plane.ts';
import { approveServingRequests } from './serving-certificates.ts';

const USAGE = `Usage: npm run control-plane -- COMMAND [options]
Runs a Kubernetes control plane on this machine's loopback interface: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.
  up                  start the processes that are not running, and print how to connect; they keep running
  down                stop the processes and remove all files
  kubeconfig          print the path of the administrator's kubeconfig
  kubeconfig --node N print the path of a kubeconfig with a certificate of node N
  approve             approve the pending serving certificate requests of kubelets
  programs            find, download or build the programs, and print their paths
  --directory DIR     directory of data, certificates and logs (/var/lib/node-agent-control-plane)
  --binaries DIR      directory of the programs (default: PATH, a cache, the published downloads, or built with Go)
  --from-pods         let pods reach the API server, at the service's address on the loopback interface (requires root)
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      directory: { type: 'string', default: '/var/lib/node-agent-control-plane' },
      binaries: { type: 'string' },
      node: { type: 'string' },
      'from-pods': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [command, ...rest] = positionals;
  if (values.help || command === undefined || rest.length > 0) {
    console.log(USAGE);
    return values.help ? 0 : 2;
  }
  const say = (text: string): void => console.error(text);
  const found = await findControlPlane({ say, ...(values.binaries && { directory: values.binaries }) });
  if ('reason' in found) {
    say(found.reason);
    return 1;
  }
  const { binaries } = found;
  const directory = values.directory;
  const plane = new ControlPlane({ binaries, directory, reachableFromPods: values['from-pods'] });
  switch (command) {
    case 'programs':
      for (const [name, file] of Object.entries(binaries)) console.log(`${name}: ${file}`);
      return 0;
    case 'up':
      await plane.start();
      console.log(`server:               ${plane.url}`);
      console.log(`kubeconfig:           ${plane.adminKubeconfig}`);
      console.log(`bootstrap kubeconfig: ${plane.bootstrapKubeconfig}`);
      console.log(`kubectl:              ${binaries.kubectl} --kubeconfig=${plane.adminKubeconfig}`);
      return 0;
    case 'down':
      await plane.stop();
      return 0;
    case 'kubeconfig':
      await plane.attach();
      console.log(values.node === undefined ? plane.adminKubeconfig : await plane.nodeKubeconfig(values.node));
      return 0;
    case 'approve':
      await plane.attach();
      for (const name of await approveServingRequests(plane)) console.log(name);
      return 0;
    default:
      say(`unknown command ${command}\n${USAGE}`);
      return 2;
  }
}

process.exitCode = await main();
