import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { until } from '../waiting.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const AUTOSCALERS = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
const NAME = 'busy';
/**
 * Time limit in ms. The limit is long, because the autoscaler controller ignores CPU metrics of pods that have just
 * started.
 */
const TIMEOUT_MS = 480_000;

/** Result of autoscaling. */
export interface Autoscaled {
  /** CPU usage as a percentage of the pods' requests. */
  readonly utilization: number;
  readonly replicas: number;
}

interface Autoscaler {
  readonly status?: {
    readonly desiredReplicas?: number;
    readonly currentMetrics?: readonly {
      readonly resource?: { readonly current?: { readonly averageUtilization?: number } };
    }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

/**
 * Runs a pod that computes all the time and scales it by CPU usage. Resolves when the autoscaler has read the usage and
 * wants more replicas.
 */
export async function autoscale(plane: ControlPlane, signal: AbortSignal): Promise<Autoscaled> {
  const labels = { app: NAME };
  const command = [
    'sh',
    '-c',
    'trap "exit 0" TERM; while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done',
  ];
  const resources = { requests: { cpu: '50m' }, limits: { cpu: '200m' } };
  const container = { name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent', command, resources };
  await plane.json('POST', DEPLOYMENTS, {
    metadata: { name: NAME },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: labels } },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 1, dnsPolicy: 'Default', containers: [container] },
      },
    },
  });
  await plane.json('POST', AUTOSCALERS, {
    metadata: { name: NAME },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: NAME },
      ...{ minReplicas: 1, maxReplicas: 2 },
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
    },
  });
  let seen: Autoscaler = {};
  const hasScaled = async (): Promise<boolean> => {
    seen = await plane.json<Autoscaler>('GET', `${AUTOSCALERS}/${NAME}`);
    return utilizationOf(seen) > 0 && (seen.status?.desiredReplicas ?? 0) > 1;
  };
  try {
    await until('the autoscaler has read the CPU usage and wants more replicas', hasScaled, signal, {
      everyMs: 1000,
      timeoutMs: TIMEOUT_MS,
    });
  } catch (error) {
    const conditions = seen.status?.conditions?.map(({ type, status, message }) => `${type} ${status}: ${message}`);
    throw new Error(`autoscaler did not scale; its conditions: ${conditions?.join('; ') ?? 'none'}`, { cause: error });
  }
  return { utilization: utilizationOf(seen), replicas: seen.status?.desiredReplicas ?? 0 };
}

/** Deletes the autoscaler and the deployment. */
export async function endAutoscaling(plane: ControlPlane): Promise<void> {
  await plane.request('DELETE', `${AUTOSCALERS}/${NAME}`);
  await plane.request('DELETE', `${DEPLOYMENTS}/${NAME}`);
}

function utilizationOf({ status }: Autoscaler): number {
  return status?.currentMetrics?.[0]?.resource?.current?.averageUtilization ?? 0;
}
