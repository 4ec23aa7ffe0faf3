import type { KeyPair } from './authority.ts';
import { type Layout, type ProcessName, placesIn } from './layout.ts';

/** Certificates of the processes. */
export interface Certificates {
  readonly ca: KeyPair;
  readonly apiServer: KeyPair;
  readonly kubeletClient: KeyPair;
  readonly controllerManager: KeyPair;
  readonly scheduler: KeyPair;
  readonly etcdCa: KeyPair;
  readonly etcd: KeyPair;
  readonly etcdClient: KeyPair;
}

/** Returns the arguments of each process, without the user's additional ones. */
export function processArguments(
  directory: string,
  layout: Layout,
  certificates: Certificates,
): Readonly<Record<ProcessName, readonly string[]>> {
  const places = placesIn(directory);
  const { address, apiAddress, apiPort, serviceSubnet } = layout;
  const { ca, apiServer, kubeletClient, controllerManager, scheduler, etcdCa, etcd, etcdClient } = certificates;
  const etcdUrl = `https://${address}:${layout.etcdPort}`;
  const peerUrl = `https://${address}:${layout.etcdPeerPort}`;
  const component = (kubeconfig: string, port: number, own: KeyPair): string[] => [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    `--bind-address=${address}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${own.cert}`,
    `--tls-private-key-file=${own.key}`,
    `--client-ca-file=${ca.cert}`,
  ];
  return {
    etcd: [
      '--name=default',
      `--data-dir=${places.etcdData}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      '--client-cert-auth=true',
      `--trusted-ca-file=${etcdCa.cert}`,
      `--cert-file=${etcd.cert}`,
      `--key-file=${etcd.key}`,
      '--peer-client-cert-auth=true',
      `--peer-trusted-ca-file=${etcdCa.cert}`,
      `--peer-cert-file=${etcd.cert}`,
      `--peer-key-file=${etcd.key}`,
      // Without fsync, written data survives the end of the process, but not a crash of the machine.
      '--unsafe-no-fsync=true',
    ],
    'kube-apiserver': [
      `--etcd-servers=${etcdUrl}`,
      `--etcd-cafile=${etcdCa.cert}`,
      `--etcd-certfile=${etcdClient.cert}`,
      `--etcd-keyfile=${etcdClient.key}`,
      `--bind-address=${apiAddress}`,
      `--secure-port=${apiPort}`,
      // The only address is a loopback address, which must not be published as an endpoint.
      ...(apiAddress === address ? ['--endpoint-reconciler-type=none'] : [`--advertise-address=${apiAddress}`]),
      `--tls-cert-file=${apiServer.cert}`,
      `--tls-private-key-file=${apiServer.key}`,
      `--client-ca-file=${ca.cert}`,
      `--service-cluster-ip-range=${serviceSubnet}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--enable-bootstrap-token-auth=true',
      '--allow-privileged=true',
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${places.serviceAccountPublicKey}`,
      `--service-account-signing-key-file=${places.serviceAccountKey}`,
      `--kubelet-client-certificate=${kubeletClient.cert}`,
      `--kubelet-client-key=${kubeletClient.key}`,
      `--kubelet-certificate-authority=${ca.cert}`,
      '--kubelet-preferred-address-types=InternalIP,Hostname',
    ],
    'kube-controller-manager': [
      ...component(places.kubeconfig('controller-manager'), layout.controllerManagerPort, controllerManager),
      '--controllers=*,tokencleaner',
      '--use-service-account-credentials=true',
      `--root-ca-file=${ca.cert}`,
      `--service-account-private-key-file=${places.serviceAccountKey}`,
      `--cluster-signing-cert-file=${ca.cert}`,
      `--cluster-signing-key-file=${ca.key}`,
      `--service-cluster-ip-range=${serviceSubnet}`,
    ],
    'kube-scheduler': component(places.kubeconfig('scheduler'), layout.schedulerPort, scheduler),
  };
}
