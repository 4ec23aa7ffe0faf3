import { isIPv6 } from 'node:net';
import type { ConnectionConfig } from './connection-config.ts';
import { KubeError } from './errors.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Returns the connection of a program in a pod: its service account and the API server's service (client-go's
 * InClusterConfig).
 * @param environment the environment of the process
 * @throws KubeError `InvalidConfig` if the environment does not contain the address of the service
 */
export function inClusterConfig(environment: Readonly<Record<string, string | undefined>>): ConnectionConfig {
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT;
  if (!host || !port) {
    const message = 'not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set';
    throw new KubeError({ code: 'InvalidConfig', message });
  }
  return {
    cluster: {
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      ca: { file: `${SERVICE_ACCOUNT}/ca.crt` },
    },
    user: { token: { file: `${SERVICE_ACCOUNT}/token` } },
  };
}
