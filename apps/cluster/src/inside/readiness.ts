import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { approveServingRequests, type ControlPlane, PROXY_HEALTH_PORT } from '@node-agent/tools-control-plane';
import type { ClusterNetwork } from '../network.ts';

const POLL_MS = 250;
const DNS_PORT = 53;
const READY_MS = 180_000;

/** An API object with conditions, reduced to the fields that are used here. */
interface WithConditions {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      /** Time of the node's last report, in RFC 3339. */
      readonly lastHeartbeatTime?: string;
    }[];
  };
}

/** Returns whether a condition of an object is true. */
export function isTrue({ status }: WithConditions, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}

/**
 * Returns whether a node has reported that it is ready. A report before `sinceMs` is from an earlier run of a kept
 * cluster. Reports are rounded down to seconds.
 */
export function isReadySince(node: WithConditions, sinceMs: number): boolean {
  const report = node.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
  return isTrue(node, 'Ready') && report !== undefined && Date.parse(report) >= Math.floor(sinceMs / 1000) * 1000;
}

/**
 * Waits until all nodes are ready, kube-proxy has written its rules on each, and the cluster DNS is available.
 * @throws Error that names the components that are not ready in time
 */
export async function untilReady(
  plane: ControlPlane,
  network: ClusterNetwork,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const sinceMs = Date.now();
  const names = network.nodes.map(({ name }) => name);
  const deployment = '/apis/apps/v1/namespaces/kube-system/deployments/coredns';
  const stages: readonly (readonly [string, () => Promise<boolean>])[] = [
    [
      names.length === 1 ? 'node Ready' : `${names.length} nodes Ready`,
      async () => {
        await approveServingRequests(plane);
        const { items } = await plane.json<{ items: readonly WithConditions[] }>('GET', '/api/v1/nodes');
        return names.every((name) => items.some((node) => node.metadata.name === name && isReadySince(node, sinceMs)));
      },
    ],
    [
      'services and DNS ready',
      async () => {
        // A kubelet requests its serving certificate after it has registered its node.
        await approveServingRequests(plane);
        const dns = await plane.json<WithConditions>('GET', deployment);
        if (!isTrue(dns, 'Available')) return false;
        const healthy = await Promise.all(network.nodes.map(({ address }) => isProxyHealthy(address)));
        // A connection to the DNS service proves that kube-proxy's rules work and that CoreDNS listens.
        return !healthy.includes(false) && (await accepts(network.dnsAddress, DNS_PORT));
      },
    ],
  ];
  const until = performance.now() + READY_MS;
  for (const [what, holds] of stages) {
    while (!(await holds())) {
      signal.throwIfAborted();
      if (performance.now() > until) throw new Error(`wait for ${what}: timed out after ${READY_MS / 1000} s`);
      await sleep(POLL_MS, undefined, { signal });
    }
    say(what);
  }
}

function accepts(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: 2_000 });
    const end = (isAccepted: boolean): void => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
    socket.on('timeout', () => end(false));
  });
}

async function isProxyHealthy(address: string): Promise<boolean> {
  const url = `http://${address}:${PROXY_HEALTH_PORT}/healthz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.status === 200;
}
