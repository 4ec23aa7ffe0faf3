import { type Clock, every } from '@node-agent/async';
import type { UpgradeCall } from '../endpoints/call.ts';
import { ServerError } from '../errors.ts';
import { lastWordOf } from '../http/last-word.ts';
import type { Reply } from '../http/reply.ts';
import { spdyHeaders, tunnelHeaders, upgradeHeaders } from '../http/upgrade-headers.ts';
import { CommandChannels } from './command-channels.ts';
import { dialRuntime } from './runtime-dial.ts';
import { splice } from './splice.ts';
import type { RemoteCommandOptions } from './stream-options.ts';
import { parseStreamingUrl, type StreamingEndpoint } from './streaming-url.ts';
import { ASK_MS, OFFERED_PROTOCOLS, translateCommand } from './translate-command.ts';
import { Tunnel } from './tunnel.ts';
import { acceptWebSocket, webSocketRefusal } from './web-socket.ts';
import { COMMAND_PROTOCOL, tunnelledProtocols, tunnelProtocol } from './web-socket-protocols.ts';

/** The clock and the limits with which a stream is forwarded. */
export interface Carrying {
  readonly clock: Clock;
  /** How long both ends may be silent, in milliseconds. */
  readonly idleMs: number;
}

/** How long one end may be silent after the other has ended, in milliseconds. */
const LINGER_MS = 10_000;

/**
 * Forwards a stream byte for byte. Client and runtime negotiate its protocol with each other (`UpgradeAwareHandler`,
 * `k8s.io/apimachinery/pkg/util/proxy`). Resolves when both ends have finished, or with the reply to send to the
 * client.
 * @throws ServerError `BadStreamingUrl`, `StreamingFailed`; the signal's reason
 */
export async function spliceStream(
  call: UpgradeCall,
  url: string,
  { clock, idleMs }: Carrying,
): Promise<Reply | undefined> {
  const { signal, connection, rest } = call;
  const endpoint = parseStreamingUrl(url);
  const dialled = await dialRuntime(clock, endpoint, call.method, headersOf(call, endpoint), signal);
  if (dialled.connection === undefined) return dialled.refusal;
  connection.write(dialled.head);
  if (dialled.rest.length > 0) connection.write(dialled.rest);
  if (rest.length > 0) dialled.connection.write(rest);
  const lastWord = lastWordOf(call.headers.upgrade);
  lastWord?.see(dialled.rest);
  const { lender } = dialled;
  await splice(connection, dialled.connection, clock, { idleMs, lingerMs: LINGER_MS, lastWord, lender }, signal);
  return undefined;
}

/**
 * Forwards SPDY that the client sends inside a WebSocket; the runtime gets plain SPDY (`TunnelingHandler`,
 * `k8s.io/apiserver/pkg/util/proxy`). The client gets the runtime's reply.
 * @throws ServerError `BadStreamingUrl`, `StreamingFailed`, `Ended`; the signal's reason
 */
export async function tunnelStream(
  call: UpgradeCall,
  url: string,
  { clock, idleMs }: Carrying,
): Promise<Reply | undefined> {
  const refusal = webSocketRefusal(call);
  if (refusal !== undefined) return refusal;
  const { signal } = call;
  const endpoint = parseStreamingUrl(url);
  const headers = tunnelHeaders(headersOf(call, endpoint), tunnelledProtocols(call.headers));
  const dialled = await dialRuntime(clock, endpoint, 'POST', headers, signal);
  if (dialled.connection === undefined) return dialled.refusal;
  const { connection: runtime, lender, headers: answered, rest } = dialled;
  const asking = new AbortController();
  try {
    if (answered.upgrade?.toLowerCase() !== 'spdy/3.1') {
      throw new ServerError('StreamingFailed', 'unable to upgrade: missing upgrade headers in response');
    }
    const chosen = answered['x-stream-protocol-version'];
    const client = new Tunnel(await acceptWebSocket(call, tunnelProtocol(String(chosen ?? ''))));
    const lastWord = lastWordOf(answered.upgrade);
    if (rest.length > 0) client.write(rest);
    lastWord?.see(rest);
    void every(clock, ASK_MS, () => client.probe(), asking.signal, { immediate: false });
    const carrier = call.connection;
    await splice(client, runtime, clock, { idleMs, lingerMs: LINGER_MS, lastWord, carrier, lender }, signal);
    return undefined;
  } finally {
    asking.abort();
    runtime.destroy();
  }
}

/**
 * Translates a command's WebSocket channels into SPDY streams of the runtime. As in upstream, the client's WebSocket is
 * accepted before the runtime is called; later errors are reported on the client's error channel.
 * @throws ServerError `BadStreamingUrl`, `Ended`
 */
export async function translateStream(
  call: UpgradeCall,
  { url, streams }: { readonly url: string; readonly streams: RemoteCommandOptions },
  { clock, idleMs }: Carrying,
): Promise<Reply | undefined> {
  const refusal = webSocketRefusal(call);
  if (refusal !== undefined) return refusal;
  const endpoint = parseStreamingUrl(url);
  const channels = new CommandChannels(await acceptWebSocket(call, COMMAND_PROTOCOL), call.connection, streams);
  const headers = spdyHeaders(hostOf(endpoint), OFFERED_PROTOCOLS);
  const dial = (signal: AbortSignal) => dialRuntime(clock, endpoint, 'POST', headers, signal);
  await translateCommand({ clock, channels, dial }, streams, { idleMs, lingerMs: LINGER_MS }, call.signal);
  return undefined;
}

function headersOf(
  { rawHeaders, headers, remoteAddress }: UpgradeCall,
  endpoint: StreamingEndpoint,
): readonly string[] {
  return upgradeHeaders(rawHeaders, headers, hostOf(endpoint), remoteAddress);
}

function hostOf({ host, port }: StreamingEndpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
