import { findContainer, type Pod, type RuntimePod } from '@node-agent/pod-spec';
import { errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';
import { runningContainer } from './running-container.ts';

/** The components of {@link checkpointEndpoints}. */
export interface CheckpointComponents {
  readonly clock?: { now(): number };
  /** Returns the pod of this node with the given namespace and name, or `undefined` if there is none. */
  getPodByName(namespace: string, name: string): Pod | undefined;
  /** Returns the pods that have at least one running container or sandbox. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  readonly runtime: {
    checkpointContainer(
      request: { containerId: string; location: string; timeout: number },
      signal?: AbortSignal,
    ): Promise<unknown>;
  };
}

export interface CheckpointOptions {
  /** The directory of the archives: `checkpoints` in the kubelet's directory. */
  readonly directory: string;
  /** Creates the directory if it does not exist. Its mode keeps other users from reading the memory of containers. */
  readonly fs: { mkdir(path: string, options: { readonly mode: number }): Promise<void> };
}

/**
 * Returns the handler of `/checkpoint/{namespace}/{pod}/{container}` of a {@link SecuredServer} (KEP-2008), with the
 * status codes and texts of upstream.
 */
export function checkpointEndpoints(given: CheckpointComponents, options: CheckpointOptions): Endpoints {
  const node = withDefaults(given);
  return { checkpoint: (call) => checkpoint(node, options, call) };
}

async function checkpoint(
  node: WithDefaults<CheckpointComponents>,
  { directory, fs }: CheckpointOptions,
  call: Call,
): Promise<Reply> {
  const { params, query, signal } = call;
  const pod = node.getPodByName(params.namespace, params.pod);
  if (pod === undefined) return text(404, 'pod does not exist');
  if (findContainer(pod, params.container) === undefined) {
    return text(404, `container ${params.container} does not exist`);
  }
  // If the request has no timeout, the runtime's default timeout applies (0). If the parameter is repeated, the last
  // value counts.
  const timeout = query.getAll('timeout').at(-1) ?? '0';
  if (!/^-?\d{1,15}$/.test(timeout)) return text(404, 'cannot parse value of timeout parameter');
  const name = `${pod.metadata.name}_${pod.metadata.namespace}-${params.container}`;
  const time = new Date(node.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const location = `${directory}/checkpoint-${name}-${time}.tar`;
  call.takeTime();
  try {
    const running = runningContainer(await node.getRunningPods(signal), pod, params.container);
    if (running.id === undefined) throw new Error(`container ${params.container} not found`);
    await fs.mkdir(directory, { mode: 0o700 });
    const request = { containerId: running.id, location, timeout: Number(timeout) };
    await node.runtime.checkpointContainer(request, signal);
  } catch (error) {
    signal.throwIfAborted();
    const what = `${params.namespace}/${params.pod}/${params.container}`;
    return text(500, `checkpointing of ${what} failed (${errorText(error)})`);
  }
  const body = JSON.stringify({ items: [location] });
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
}
