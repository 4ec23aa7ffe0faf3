import type { Clock } from '@node-agent/async';
import {
  type Counter,
  errorText,
  type Logger,
  type Metrics,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import type { Call, Endpoint, Endpoints, UpgradeCall, UpgradeEndpoint, UpgradeEndpoints } from '../endpoints/call.ts';
import { runningContainer, runningPods } from '../endpoints/running-container.ts';
import { checkNumberOptions } from '../errors.ts';
import type { Answer } from '../http/exchange.ts';
import { type Reply, text } from '../http/reply.ts';
import { type Carrying, spliceStream, translateStream, tunnelStream } from './carry-stream.ts';
import {
  attachLocation,
  execLocation,
  forwardLocation,
  type Location,
  prepare,
  type StreamNode,
} from './stream-location.ts';
import { forwardedPorts, remoteCommandOptions } from './stream-options.ts';
import { asksForCommandChannels, tunnelledProtocols } from './web-socket-protocols.ts';

/** The components of {@link streamEndpoints}. */
export interface StreamComponents extends StreamNode {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

export interface StreamOptions {
  /**
   * The configuration's `streamingConnectionIdleTimeout`: how long both ends may be silent, in milliseconds. Default: 4
   * hours.
   */
  readonly idleTimeoutMs?: number;
  /**
   * The feature gate `ExtendWebSocketsToKubelet` (KEP-4006): exec and attach over `v5.channel.k8s.io`, and port-forward
   * over `SPDY/3.1+portforward.k8s.io`, are translated into SPDY for the runtime. If false, these requests are
   * forwarded unchanged. Default: true.
   */
  readonly extendWebSockets?: boolean;
}

const FOUR_HOURS_MS = 14_400_000;

type StreamName = 'exec' | 'attach' | 'portForward';

/**
 * Returns the handlers of `/exec`, `/attach`, `/portForward` and `/run` of a {@link SecuredServer}. SPDY streams, and
 * WebSockets up to `v4.channel.k8s.io`, are forwarded to the runtime byte for byte without parsing. The newer WebSocket
 * protocols, which runtimes do not support, are translated into SPDY. Status codes and texts are upstream's
 * (`pkg/kubelet/server/server.go`).
 */
export function streamEndpoints(
  given: StreamComponents,
  { idleTimeoutMs = FOUR_HOURS_MS, extendWebSockets = true }: StreamOptions = {},
): { readonly endpoints: Endpoints; readonly upgrades: UpgradeEndpoints } {
  checkNumberOptions({ idleTimeoutMs }, { idleTimeoutMs: 'positive' });
  const node = withDefaults(given);
  const requests = node.metrics.counter({
    name: 'kubelet_websocket_streaming_requests_total',
    help: 'Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.',
    labels: ['subresource'],
  });
  const carrying = { clock: node.clock, idleMs: idleTimeoutMs };
  const endpoints: Partial<Record<StreamName | 'run', Endpoint>> = { run: (call) => run(node, call) };
  const upgrades: Partial<Record<StreamName, UpgradeEndpoint>> = {};
  for (const name of ['exec', 'attach', 'portForward'] as const) {
    upgrades[name] = (call) => stream(node, name, call, wayOf(name, call, extendWebSockets), { ...carrying, requests });
    // A request without an upgrade is the client's error, so this code returns 400. Upstream calls the runtime first
    // and returns 500.
    endpoints[name] = (call) => {
      const query = name === 'portForward' ? forwardedPorts(call.query, false) : remoteCommandOptions(call.query);
      const ready = prepare<object>(node, call, query);
      return ready.options === undefined ? ready.refusal : text(400, 'Upgrade request required\n');
    };
  }
  return { endpoints, upgrades };
}

/**
 * How a stream is forwarded: unchanged (`splice`), translated from WebSocket channels into SPDY streams (`translate`),
 * or unpacked from a WebSocket (`tunnel`).
 */
type Way = 'splice' | 'translate' | 'tunnel';

function wayOf(name: StreamName, { headers }: Call, extendWebSockets: boolean): Way {
  if (!extendWebSockets) return 'splice';
  if (name === 'portForward') return tunnelledProtocols(headers).length > 0 ? 'tunnel' : 'splice';
  return asksForCommandChannels(headers) ? 'translate' : 'splice';
}

async function stream(
  node: WithDefaults<StreamComponents>,
  name: StreamName,
  call: UpgradeCall,
  way: Way,
  { requests, ...carrying }: Carrying & { readonly requests: Counter<'subresource'> },
): Promise<Reply | undefined> {
  try {
    const location = await locate(node, name, call, way);
    if (location.url === undefined) return location.refusal;
    if (way !== 'splice') requests.inc({ subresource: name.toLowerCase() });
    if (way === 'translate') return await translateStream(call, location, carrying);
    return await (way === 'tunnel' ? tunnelStream : spliceStream)(call, location.url, carrying);
  } catch (err) {
    call.signal.throwIfAborted();
    node.logger.error({ err }, 'Error while proxying request');
    return text(500, `${errorText(err)}\n`);
  }
}

function locate(node: StreamNode, name: StreamName, call: Call, way: Way): Promise<Location> {
  switch (name) {
    case 'exec':
      return execLocation(node, call);
    case 'attach':
      return attachLocation(node, call);
    case 'portForward':
      return forwardLocation(node, call, way === 'tunnel');
  }
}
/** Runs a command in a container to its end and returns its output (`RunInContainer`). */
async function run(node: StreamComponents, call: Call): Promise<Answer> {
  const { params, query, signal } = call;
  // As in upstream, for legacy reasons, the command is one string without quoting.
  const ready = prepare(node, call, { options: (query.get('cmd') ?? '').split(' ') });
  if (ready.options === undefined) return ready.refusal;
  const { options: cmd, pod } = ready;
  const running = runningContainer(await runningPods(node, pod, signal), pod, params.container);
  if (running.id === undefined) return text(500, running.message);
  call.takeTime();
  const { stdout, stderr, exitCode } = await node.runtime.execSync(
    { containerId: running.id, cmd, timeout: 0 },
    signal,
  );
  if (exitCode !== 0) return text(500, `command '${cmd.join(' ')}' exited with ${exitCode}: ${Buffer.from(stderr)}`);
  // The output is sent as bytes, because it may not be text.
  return { status: 200, headers: { 'Content-Type': 'application/json' }, bytes: Buffer.concat([stdout, stderr]) };
}
