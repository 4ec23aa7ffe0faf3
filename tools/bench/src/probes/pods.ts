import type { Container, PodSpec, Probe } from '@node-agent/pod-spec';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** Period of every probe, in ms. */
export const PERIOD_MS = 1_000;
/** Number of probes of each pod that {@link probedPod} returns. */
export const PROBES_PER_POD = 2;

const SERVER_PORT = 8080;
const EACH_SECOND: Probe = { periodSeconds: PERIOD_MS / 1_000, timeoutSeconds: 1 };

function podOf(script: string, probes: Partial<Container> = {}): PodSpec {
  const container = {
    ...{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent' },
    command: ['sh', '-c', `trap "exit 0" TERM; ${script}sleep infinity & wait`],
    ...probes,
  };
  return { terminationGracePeriodSeconds: 1, dnsPolicy: 'Default', containers: [container] };
}

/** Returns a pod without probes. */
export function restingPod(): PodSpec {
  return podOf('');
}

/**
 * Returns a pod whose readiness and liveness probes go to a server on this machine. For the kubelet they are ordinary
 * probes, and a hundred pods do not need a hundred servers.
 * @param name prefix of the request paths
 * @param port port of the server on the loopback interface
 */
export function probedPod(name: string, port: number): PodSpec {
  const probe = (kind: string): Probe => ({
    httpGet: { host: '127.0.0.1', port, path: `/${name}/${kind}` },
    ...EACH_SECOND,
  });
  return podOf('', { readinessProbe: probe('ready'), livenessProbe: probe('live') });
}

/**
 * Returns a pod with its own server. The container logs the time at which it starts to serve (`serving.ts` reads it).
 */
export function servingPod(): PodSpec {
  const script = `mkdir /tmp/w; echo >/tmp/w/index.html; httpd -p ${SERVER_PORT} -h /tmp/w; read up _ </proc/uptime; echo "serves $up"; `;
  return podOf(script, { readinessProbe: { httpGet: { port: SERVER_PORT, path: '/' }, ...EACH_SECOND } });
}
