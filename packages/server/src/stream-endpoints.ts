import type { Clock } from '@node-agent/async';
import { findContainer, type Pod, type RuntimePod } from '@node-agent/pod-spec';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { Call, Endpoint, Endpoints, UpgradeCall, UpgradeEndpoint, UpgradeEndpoints } from './call.ts';
import { lastWordOf } from './last-word.ts';
import { type Reply, text } from './reply.ts';
import { type Running, readySandbox, runningContainer } from './running-container.ts';
import { dialRuntime } from './runtime-dial.ts';
import { splice } from './splice.ts';
import { forwardedPorts, type RemoteCommandOptions, remoteCommandOptions, type StreamQuery } from './stream-options.ts';
import { parseStreamingUrl } from './streaming-url.ts';
import { upgradeHeaders } from './upgrade-headers.ts';

/** What of the runtime is asked for streams: `RuntimeService` of `cri-client` is one. */
export interface StreamRuntime {
  exec(request: RemoteCommandOptions & { containerId: string; cmd: string[] }, signal?: AbortSignal): Promise<Streamed>;
  attach(request: RemoteCommandOptions & { containerId: string }, signal?: AbortSignal): Promise<Streamed>;
  portForward(request: { podSandboxId: string; port: number[] }, signal?: AbortSignal): Promise<Streamed>;
  execSync(
    request: { containerId: string; cmd: string[]; timeout: number },
    signal?: AbortSignal,
  ): Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array; readonly exitCode: number }>;
}

/** Where the runtime serves a stream. */
export interface Streamed {
  readonly url: string;
}

/** What streams need of a node. */
export interface StreamComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly runtime: StreamRuntime;
  /** A pod of this node. */
  getPodByName(namespace: string, name: string): Pod | undefined;
  /** The UID of the pod that a mirror pod's UID stands for; any other as it is. */
  translatePodUid(uid: string): string;
  /** The pods of which anything runs. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
}

export interface StreamOptions {
  /** `streamingConnectionIdleTimeout`: how long both ends may be silent, in milliseconds; 4 hours by default. */
  readonly idleTimeoutMs?: number;
}

/** How long one end may be silent after the other has ended. */
const LINGER_MS = 10_000;
const FOUR_HOURS_MS = 14_400_000;

/** Where a stream is to be taken, or the answer to who asked. */
type Location = Streamed | { readonly url?: undefined; readonly refusal: Reply };

/**
 * `/exec`, `/attach`, `/portForward` and `/run` of a {@link SecuredServer}. Streams are connections of SPDY or WebSocket that are
 * spliced, byte for byte, with the runtime's own; nothing of them is read here. Answers are upstream's.
 */
export function streamEndpoints(
  given: StreamComponents,
  { idleTimeoutMs = FOUR_HOURS_MS }: StreamOptions = {},
): { readonly endpoints: Endpoints; readonly upgrades: UpgradeEndpoints } {
  const node = withDefaults(given);
  const finders = { exec: execLocation, attach: attachLocation, portForward: forwardLocation };
  const endpoints: Partial<Record<keyof typeof finders | 'run', Endpoint>> = { run: (call) => run(node, call) };
  const upgrades: Partial<Record<keyof typeof finders, UpgradeEndpoint>> = {};
  for (const name of ['exec', 'attach', 'portForward'] as const) {
    upgrades[name] = (call) => stream(node, idleTimeoutMs, call, (upgraded) => finders[name](node, upgraded));
    // Upstream asks the runtime first, and answers 500; what is missing is the client's to say.
    endpoints[name] = (call) => {
      const query = name === 'portForward' ? forwardedPorts(call.query, false) : remoteCommandOptions(call.query);
      const ready = prepare<object>(node, call, query);
      return ready.options === undefined ? ready.refusal : text(400, 'Upgrade request required\n');
    };
  }
  return { endpoints, upgrades };
}

async function stream(
  { clock, logger }: WithDefaults<StreamComponents>,
  idleMs: number,
  call: UpgradeCall,
  locate: (call: Call) => Promise<Location>,
): Promise<Reply | undefined> {
  const { signal, connection, rest, remoteAddress } = call;
  try {
    const location = await locate(call);
    if (location.url === undefined) return location.refusal;
    const endpoint = parseStreamingUrl(location.url);
    const host = `${endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host}:${endpoint.port}`;
    const headers = upgradeHeaders(call.rawHeaders, call.headers, host, remoteAddress);
    const dialled = await dialRuntime(clock, endpoint, call.method, headers, signal);
    if (dialled.connection === undefined) return dialled.refusal;
    connection.write(dialled.head);
    if (dialled.rest.length > 0) connection.write(dialled.rest);
    if (rest.length > 0) dialled.connection.write(rest);
    const lastWord = lastWordOf(call.headers.upgrade);
    lastWord?.see(dialled.rest);
    await splice(connection, dialled.connection, clock, { idleMs, lingerMs: LINGER_MS, lastWord }, signal);
    return undefined;
  } catch (err) {
    signal.throwIfAborted();
    logger.error({ err }, 'Error while proxying request');
    return text(500, `${errorText(err)}\n`);
  }
}

/** What can be said before the runtime is asked. */
type Prepared<T extends object> =
  | { readonly options: T; readonly pod: Pod }
  | { readonly options?: undefined; readonly refusal: Reply };

function prepare<T extends object>(node: StreamComponents, { params }: Call, query: StreamQuery<T>): Prepared<T> {
  if ('message' in query) return { refusal: text(400, query.message) };
  const pod = node.getPodByName(params.namespace, params.pod);
  if (pod === undefined) return { refusal: text(404, 'pod does not exist') };
  const isAnother = params.uid !== '' && node.translatePodUid(params.uid) !== pod.metadata.uid;
  return isAnother ? { refusal: text(404, 'pod not found') } : { options: query.options, pod };
}

async function execLocation(node: StreamComponents, call: Call): Promise<Location> {
  const ready = prepare(node, call, remoteCommandOptions(call.query));
  if (ready.options === undefined) return ready;
  const { options, pod } = ready;
  const cmd = call.query.getAll('command');
  return await asked(async () => {
    const running = runningContainer(await node.getRunningPods(call.signal), pod, call.params.container);
    return await located(running, (containerId) => node.runtime.exec({ ...options, containerId, cmd }, call.signal));
  }, call.signal);
}

async function attachLocation(node: StreamComponents, call: Call): Promise<Location> {
  const ready = prepare(node, call, remoteCommandOptions(call.query));
  if (ready.options === undefined) return ready;
  const { options, pod } = ready;
  // Whether there is a terminal was settled when the container was started.
  const tty = findContainer(pod, call.params.container)?.container.tty ?? false;
  const streams = { ...options, tty, stderr: options.stderr && !tty };
  return await asked(async () => {
    const running = runningContainer(await node.getRunningPods(call.signal), pod, call.params.container);
    return await located(running, (containerId) => node.runtime.attach({ ...streams, containerId }, call.signal));
  }, call.signal);
}

async function forwardLocation(node: StreamComponents, call: Call): Promise<Location> {
  const ready = prepare(node, call, forwardedPorts(call.query, isWebSocket(call.headers)));
  if (ready.options === undefined) return ready;
  const { options, pod } = ready;
  return await asked(async () => {
    const sandbox = readySandbox(await node.getRunningPods(call.signal), pod);
    const port = [...options];
    return await located(sandbox, (podSandboxId) => node.runtime.portForward({ podSandboxId, port }, call.signal));
  }, call.signal);
}

async function located(running: Running, ask: (id: string) => Promise<Streamed>): Promise<Location> {
  if (running.id !== undefined) return await ask(running.id);
  return { refusal: text(500, running.message) };
}

/** What the runtime refuses is refused in its words (`WriteError`, `k8s.io/cri-streaming/pkg/streaming`). */
async function asked(ask: () => Promise<Location>, signal: AbortSignal): Promise<Location> {
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'NOT_FOUND') return { refusal: text(404, errorText(error)) };
    // After so many seconds the runtime has forgotten the streams that nobody came for.
    if (code === 'RESOURCE_EXHAUSTED') return { refusal: text(429, errorText(error), { 'Retry-After': '60' }) };
    return { refusal: text(500, errorText(error)) };
  }
}

/** Runs a command to its end and answers with what it wrote (`RunInContainer`). */
async function run(node: StreamComponents, call: Call): Promise<Reply> {
  const { params, query, signal } = call;
  // For legacy reasons, as upstream: one string, and no quotes.
  const ready = prepare(node, call, { options: (query.get('cmd') ?? '').split(' ') });
  if (ready.options === undefined) return ready.refusal;
  const { options: cmd, pod } = ready;
  const running = runningContainer(await node.getRunningPods(signal), pod, params.container);
  if (running.id === undefined) return text(500, running.message);
  call.takeTime();
  const { stdout, stderr, exitCode } = await node.runtime.execSync(
    { containerId: running.id, cmd, timeout: 0 },
    signal,
  );
  const output = Buffer.concat([stdout, stderr]).toString();
  if (exitCode !== 0) return text(500, `command '${cmd.join(' ')}' exited with ${exitCode}: ${Buffer.from(stderr)}`);
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: output };
}

function isWebSocket({ upgrade }: Call['headers']): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}
