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

/** Deployment that is scaled to a CPU usage of half of its requests, and starts with one pod. */
export interface ScaledWorkload {
  /** The pods' only container. */
  readonly container: { readonly name: string; readonly image: string; readonly [field: string]: unknown };
  readonly maxReplicas: number;
  /** `spec.behavior` of the HorizontalPodAutoscaler. */
  readonly behavior?: object;
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

interface Deployment {
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number; readonly readyReplicas?: number };
}

/**
 * Runs a Deployment with one pod that uses more than half of its CPU request, and scales the Deployment by CPU usage.
 * Resolves when the autoscaler has read the usage and wants more replicas.
 */
export async function autoscale(
  plane: ControlPlane,
  { container, maxReplicas, behavior }: ScaledWorkload,
  signal: AbortSignal,
): Promise<Autoscaled> {
  const labels = { app: NAME };
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
      ...{ minReplicas: 1, maxReplicas, behavior },
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
    },
  });
  return untilAutoscaler(plane, 'has read the CPU usage and wants more replicas', signal, async (seen) => {
    return seen.utilization > 0 && seen.replicas > 1;
  });
}

/** Waits until the autoscaler has scaled the Deployment to a number of pods and all of them are Ready. */
export async function untilScaled(plane: ControlPlane, replicas: number, signal: AbortSignal): Promise<Autoscaled> {
  return untilAutoscaler(plane, `has scaled to ${replicas} replicas`, signal, async () => {
    const { spec, status = {} } = await plane.json<Deployment>('GET', `${DEPLOYMENTS}/${NAME}`);
    return spec.replicas === replicas && status.replicas === replicas && status.readyReplicas === replicas;
  });
}

/** Replaces the pods of the Deployment by pods with another image. */
export async function replaceImage(plane: ControlPlane, container: string, image: string): Promise<void> {
  await plane.kubectl(['set', 'image', `deployment/${NAME}`, `${container}=${image}`]);
}

/** Deletes the autoscaler and the deployment. */
export async function endAutoscaling(plane: ControlPlane): Promise<void> {
  await plane.request('DELETE', `${AUTOSCALERS}/${NAME}`);
  await plane.request('DELETE', `${DEPLOYMENTS}/${NAME}`);
}

/**
 * Waits until a condition of the autoscaler holds. @throws Error with the conditions in the autoscaler's status after a
 * timeout
 */
async function untilAutoscaler(
  plane: ControlPlane,
  what: string,
  signal: AbortSignal,
  condition: (seen: Autoscaled) => Promise<boolean>,
): Promise<Autoscaled> {
  let seen: Autoscaler = {};
  const holds = async (): Promise<boolean> => {
    seen = await plane.json<Autoscaler>('GET', `${AUTOSCALERS}/${NAME}`);
    return await condition(resultOf(seen));
  };
  try {
    await until(`the autoscaler ${what}`, holds, signal, { everyMs: 1000, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    signal.throwIfAborted();
    const conditions = seen.status?.conditions?.map(({ type, status, message }) => `${type} ${status}: ${message}`);
    const shown = conditions?.join('; ') ?? 'none';
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}; conditions of the autoscaler: ${shown}`, { cause: error });
  }
  return resultOf(seen);
}

function resultOf({ status }: Autoscaler): Autoscaled {
  return {
    utilization: status?.currentMetrics?.[0]?.resource?.current?.averageUtilization ?? 0,
    replicas: status?.desiredReplicas ?? 0,
  };
}
