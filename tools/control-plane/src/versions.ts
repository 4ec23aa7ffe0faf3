/** The release of Kubernetes that is run. */
export const KUBERNETES_VERSION = '1.36.3';

/** The release of etcd that goes with it (`cmd/kubeadm/app/constants`). An older one may not serve streamed lists. */
export const ETCD_VERSION = '3.6.8';

/** The staging modules of a Kubernetes release have its version with another major. */
export function stagingVersion(kubernetes: string): string {
  return kubernetes.replace(/^1\./, '0.');
}
