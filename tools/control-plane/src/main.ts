import { parseArgs } from 'node:util';
import { findControlPlane } from './binaries.ts';
import { ControlPlane } from './control-plane.ts';
import { approveServingRequests } from './serving-certificates.ts';

const USAGE = `Usage: npm run control-plane -- COMMAND [options]

A Kubernetes control plane on this machine's loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.

  up                  start it, or what of it does not run, and print how it is reached; it runs on
  down                end it, and take away all that it has made
  kubeconfig          print the path of the administrator's kubeconfig
  kubeconfig --node N print the path of a kubeconfig with a certificate of node N
  approve             approve the open requests of kubelets for certificates of their servers
  programs            find, download or build the programs, and print where they are

  --directory DIR     where its data, certificates and logs are; /var/lib/node-agent-control-plane by default
  --binaries DIR      where the programs are; else PATH, a cache, the published downloads, or built with Go
  --from-pods         let pods reach it, at the service's address, which the loopback interface is given (as root)
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
      say(`${command}: there is no such command\n${USAGE}`);
      return 2;
  }
}

process.exitCode = await main();
