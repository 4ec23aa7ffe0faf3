import type { Container, PodSpec, Probe } from '@node-agent/pod-spec';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** Every probe of this bench comes once a second. */
export const PERIOD_MS = 1_000;
/** Of each pod that {@link probedPod} makes. */
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

/** A pod that nobody probes. */
export function restingPod(): PodSpec {
  return podOf('');
}

/**
 * A pod whose readiness and liveness are asked of a server on this machine: to the kubelet a probe like any other, and a hundred pods need no hundred servers.
 * @param name the server's paths begin with it
 * @param port the server's, on the loopback
 */
export function probedPod(name: string, port: number): PodSpec {
  const probe = (kind: string): Probe => ({
    httpGet: { host: '127.0.0.1', port, path: `/${name}/${kind}` },
    ...EACH_SECOND,
  });
  return podOf('', { readinessProbe: probe('ready'), livenessProbe: probe('live') });
}

/** A pod with a server of its own, which writes to its log when that serves (`serving.ts` reads it). */
export function servingPod(): PodSpec {
  const script = `mkdir /tmp/w; echo >/tmp/w/index.html; httpd -p ${SERVER_PORT} -h /tmp/w; read up _ </proc/uptime; echo "serves $up"; `;
  return podOf(script, { readinessProbe: { httpGet: { port: SERVER_PORT, path: '/' }, ...EACH_SECOND } });
}
