import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Paths and names of a cluster. */
export interface Places {
  readonly directory: string;
  /** State file, which marks the directory as that of a cluster and lists what must be removed outside of it. */
  readonly state: string;
  /** File with the data of a kept cluster that stay the same for all runs. */
  readonly kept: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** File with the input for the programs in namespaces. */
  readonly plan: string;
  readonly log: string;
  readonly controlPlane: string;
  readonly coreDnsImage: string;
  node(name: string): NodePlaces;
  /** Name of the cluster's cgroup. */
  readonly group: string;
  /** Name of the network link on this machine, with at most 15 characters. */
  readonly link: string;
}

/** Paths of a node of a cluster. */
export interface NodePlaces {
  readonly directory: string;
  readonly containerd: string;
  readonly containerdLog: string;
  readonly kubeletConfig: string;
  readonly kubeletLog: string;
  readonly kubeletKubeconfig: string;
  /** Certificate of the CA for servers and clients. */
  readonly caFile: string;
  readonly proxyConfig: string;
  readonly proxyKubeconfig: string;
  readonly proxyLog: string;
  /** Log of the program that runs the node, if the program is a separate process. */
  readonly log: string;
  /** Parent of the node's own `/var/lib/kubelet` and similar directories. */
  readonly own: string;
}

/** Maximum length of a socket path in bytes: `sun_path` has 108 bytes, including the terminating zero. */
const SOCKET_PATH_BYTES = 107;

/** Returns the paths of a cluster in a directory. */
export function placesIn(directory: string): Places {
  const at = (...names: string[]): string => join(directory, ...names);
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 8);
  return {
    directory,
    state: at('state.json'),
    kept: at('cluster.json'),
    kubeconfig: at('kubeconfig'),
    plan: at('plan.json'),
    log: at('cluster.log'),
    controlPlane: at('control-plane'),
    coreDnsImage: at('coredns.tar'),
    node: (name) => ({
      directory: at(name),
      containerd: at(name, 'c'),
      containerdLog: at(name, 'containerd.log'),
      kubeletConfig: at(name, 'kubelet.json'),
      kubeletLog: at(name, 'kubelet.log'),
      kubeletKubeconfig: at(name, 'kubelet.kubeconfig'),
      caFile: at(name, 'ca.crt'),
      proxyConfig: at(name, 'kube-proxy.json'),
      proxyKubeconfig: at(name, 'kube-proxy.kubeconfig'),
      proxyLog: at(name, 'kube-proxy.log'),
      log: at(name, 'node.log'),
      own: at(name, 'own'),
    }),
    group: `node-agent-cluster-${hash}`,
    link: `nac-${hash}`,
  };
}

/** Returns why a directory cannot be used, or `undefined` if it can. */
export function directoryProblem(directory: string): string | undefined {
  const socket = join(placesIn(directory).node('node-1').containerd, 'c.sock.ttrpc');
  const excess = Buffer.byteLength(socket) - SOCKET_PATH_BYTES;
  return excess <= 0 ? undefined : `path is too long by ${excess} bytes for the socket ${socket}`;
}
