import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Processes in start order. */
export const PROCESS_NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** Process of the control plane. */
export type ProcessName = (typeof PROCESS_NAMES)[number];

/** Addresses and ports of a control plane. Addresses and ports stay the same as long as the directory exists. */
export interface Layout {
  /** Loopback address of this control plane, so that two control planes never use the same port. */
  readonly address: string;
  /** Address of the API server. */
  readonly apiAddress: string;
  readonly apiPort: number;
  readonly etcdPort: number;
  readonly etcdPeerPort: number;
  readonly controllerManagerPort: number;
  readonly schedulerPort: number;
  /** Subnet of the services. The first address of the subnet is the API server's. */
  readonly serviceSubnet: string;
}

/** Returns the first usable address of a subnet. */
export function firstAddress(subnet: string): string {
  const [network = ''] = subnet.split('/');
  return network.replace(/\d+$/, (last) => String(Number(last) + 1));
}

/** Returns a loopback address and a service subnet that depend on the directory. */
export function addressesOf(directory: string): { readonly address: string; readonly serviceSubnet: string } {
  const [a = 0, b = 0, c = 0, d = 0] = createHash('sha256').update(directory).digest();
  return { address: `127.${1 + (a % 254)}.${b}.1`, serviceSubnet: `10.${200 + (c % 50)}.${d}.0/24` };
}

/** Paths of a control plane's files. */
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
