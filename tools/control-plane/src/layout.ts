import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** The processes, in the order in which they are started. */
export const PROCESS_NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** A process of the control plane. */
export type ProcessName = (typeof PROCESS_NAMES)[number];

/** The addresses and ports of a control plane, for as long as its directory is there. */
export interface Layout {
  /** An address of the loopback of its own: two control planes never quarrel for a port. */
  readonly address: string;
  /** Where the API server listens. */
  readonly apiAddress: string;
  readonly apiPort: number;
  readonly etcdPort: number;
  readonly etcdPeerPort: number;
  readonly controllerManagerPort: number;
  readonly schedulerPort: number;
  /** The addresses of services; the first is the API server's. */
  readonly serviceSubnet: string;
}

/** The first address of a subnet that can be given to something. */
export function firstAddress(subnet: string): string {
  const [network = ''] = subnet.split('/');
  return network.replace(/\d+$/, (last) => String(Number(last) + 1));
}

/** An address of the loopback, and a subnet for services, that belong to a directory. */
export function addressesOf(directory: string): { readonly address: string; readonly serviceSubnet: string } {
  const [a = 0, b = 0, c = 0, d = 0] = createHash('sha256').update(directory).digest();
  return { address: `127.${1 + (a % 254)}.${b}.1`, serviceSubnet: `10.${200 + (c % 50)}.${d}.0/24` };
}

/** Where everything of a control plane is. */
export interface Places {
  readonly layout: string;
  readonly token: string;
  readonly pki: string;
  readonly etcdPki: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
  readonly etcdData: string;
  readonly bootstrapKubeconfig: string;
  kubeconfig(name: string): string;
  log(name: ProcessName): string;
  pid(name: ProcessName): string;
}

export function placesIn(directory: string): Places {
  const at = (...names: string[]): string => join(directory, ...names);
  return {
    layout: at('layout.json'),
    token: at('bootstrap-token'),
    pki: at('pki'),
    etcdPki: at('pki', 'etcd'),
    serviceAccountKey: at('pki', 'sa.key'),
    serviceAccountPublicKey: at('pki', 'sa.pub'),
    etcdData: at('etcd'),
    bootstrapKubeconfig: at('bootstrap.kubeconfig'),
    kubeconfig: (name) => at(`${name}.kubeconfig`),
    log: (name) => at(`${name}.log`),
    pid: (name) => at(`${name}.pid`),
  };
}
