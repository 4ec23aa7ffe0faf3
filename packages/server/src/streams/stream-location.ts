import { findContainer, type Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { Call } from '../endpoints/call.ts';
import {
  type Running,
  type RunningPods,
  readySandbox,
  runningContainer,
  runningPods,
} from '../endpoints/running-container.ts';
import { type Reply, text } from '../http/reply.ts';
import { forwardedPorts, type RemoteCommandOptions, remoteCommandOptions, type StreamQuery } from './stream-options.ts';

/** The methods of the runtime that streams need. `RuntimeService` of `@node-agent/cri-client` implements it. */
export interface StreamRuntime {
  exec(request: RemoteCommandOptions & { containerId: string; cmd: string[] }, signal?: AbortSignal): Promise<Streamed>;
  attach(request: RemoteCommandOptions & { containerId: string }, signal?: AbortSignal): Promise<Streamed>;
  portForward(request: { podSandboxId: string; port: number[] }, signal?: AbortSignal): Promise<Streamed>;
  execSync(
    request: { containerId: string; cmd: string[]; timeout: number },
    signal?: AbortSignal,
  ): Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array; readonly exitCode: number }>;
}

/** The URL at which the runtime serves a stream. */
export interface Streamed {
  readonly url: string;
}

/** The components with which the URL of a stream is determined. */
export interface StreamNode extends RunningPods {
  readonly runtime: StreamRuntime;
  /** Returns the pod of this node with the given namespace and name, or `undefined` if there is none. */
  getPodByName(namespace: string, name: string): Pod | undefined;
  /** Returns the static pod's UID if `uid` is the UID of its mirror pod. Otherwise returns `uid`. */
  translatePodUid(uid: string): string;
}

/** The runtime's URL and the requested streams, or the reply that rejects the request. */
export type Location =
  | { readonly url: string; readonly streams: RemoteCommandOptions }
  | { readonly url?: undefined; readonly refusal: Reply };

const NO_STREAMS: RemoteCommandOptions = { stdin: false, stdout: false, stderr: false, tty: false };

/**
 * The pod and the parsed options of a request, or the reply that rejects the request. The runtime is not needed for
 * this check.
 */
export type Prepared<T extends object> =
  | { readonly options: T; readonly pod: Pod }
  | { readonly options?: undefined; readonly refusal: Reply };

export function prepare<T extends object>(node: StreamNode, { params }: Call, query: StreamQuery<T>): Prepared<T> {
  if ('message' in query) return { refusal: text(400, query.message) };
  const pod = node.getPodByName(params.namespace, params.pod);
  if (pod === undefined) return { refusal: text(404, 'pod does not exist') };
  const isAnother = params.uid !== '' && node.translatePodUid(params.uid) !== pod.metadata.uid;
  return isAnother ? { refusal: text(404, 'pod not found') } : { options: query.options, pod };
}

/** Requests the URL of an exec stream from the runtime (`GetExec`, `pkg/kubelet/kubelet_pods.go`). */
export async function execLocation(node: StreamNode, call: Call): Promise<Location> {
  const ready = prepare(node, call, remoteCommandOptions(call.query));
  if (ready.options === undefined) return ready;
  const { options, pod } = ready;
  const cmd = call.query.getAll('command');
  return await asked(async () => {
    const running = runningContainer(await runningPods(node, pod, call.signal), pod, call.params.container);
    return await located(running, options, (containerId) =>
      node.runtime.exec({ ...options, containerId, cmd }, call.signal),
    );
  }, call.signal);
}

/** Requests the URL of an attach stream from the runtime (`GetAttach`). */
export async function attachLocation(node: StreamNode, call: Call): Promise<Location> {
  const ready = prepare(node, call, remoteCommandOptions(call.query));
  if (ready.options === undefined) return ready;
  const { options, pod } = ready;
  // The container's spec decides whether the container has a terminal.
  const tty = findContainer(pod, call.params.container)?.container.tty ?? false;
  const streams = { ...options, tty, stderr: options.stderr && !tty };
  return await asked(async () => {
    const running = runningContainer(await runningPods(node, pod, call.signal), pod, call.params.container);
    return await located(running, streams, (containerId) =>
      node.runtime.attach({ ...streams, containerId }, call.signal),
    );
  }, call.signal);
}

/**
 * Requests the URL of a port-forward stream from the runtime (`GetPortForward`).
 * @param tunnels whether the client sends SPDY inside a WebSocket; SPDY names ports per stream
 */
export async function forwardLocation(node: StreamNode, call: Call, tunnels: boolean): Promise<Location> {
  const ready = prepare(node, call, forwardedPorts(call.query, isWebSocket(call.headers) && !tunnels));
  if (ready.options === undefined) return ready;
  const { options, pod } = ready;
  return await asked(async () => {
    const sandbox = readySandbox(await runningPods(node, pod, call.signal), pod);
    const port = [...options];
    return await located(sandbox, NO_STREAMS, (podSandboxId) =>
      node.runtime.portForward({ podSandboxId, port }, call.signal),
    );
  }, call.signal);
}

async function located(
  running: Running,
  streams: RemoteCommandOptions,
  ask: (id: string) => Promise<Streamed>,
): Promise<Location> {
  if (running.id !== undefined) return { url: (await ask(running.id)).url, streams };
  return { refusal: text(500, running.message) };
}

/**
 * Converts errors of the runtime into replies with the runtime's message (`WriteError`,
 * `k8s.io/cri-streaming/pkg/streaming`).
 */
async function asked(ask: () => Promise<Location>, signal: AbortSignal): Promise<Location> {
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'NOT_FOUND') return { refusal: text(404, errorText(error)) };
    // The client may retry after 60 s: by then, the runtime has dropped streams to which no client connected.
    if (code === 'RESOURCE_EXHAUSTED') return { refusal: text(429, errorText(error), { 'Retry-After': '60' }) };
    return { refusal: text(500, errorText(error)) };
  }
}

function isWebSocket({ upgrade }: Call['headers']): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}
