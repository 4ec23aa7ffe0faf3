/** Version of the Kubernetes programs that this package runs. */
export const KUBERNETES_VERSION = '1.36.3';

/**
 * etcd version for this Kubernetes version (`cmd/kubeadm/app/constants`). Older versions may not support streamed
 * lists.
 */
export const ETCD_VERSION = '3.6.8';

/** Returns the version of the Kubernetes release's staging modules, which has another major version. */
export function stagingVersion(kubernetes: string): string {
  return kubernetes.replace(/^1\./, '0.');
}
