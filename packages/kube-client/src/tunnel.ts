import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { KubeError } from './errors.ts';
import { http } from './node-http.ts';
import { openSocks } from './socks.ts';
import { toError } from './system-errors.ts';

/** The destination of a tunnel. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

/**
 * Opens a TCP connection to a host through a proxy (HTTP CONNECT or SOCKS 5). If `signal` is aborted, nothing stays
 * open.
 * @throws KubeError `ConnectionFailed`; the signal's reason
 */
export async function openTunnel(proxy: URL, target: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  try {
    return await (proxy.protocol.startsWith('socks5')
      ? openSocks(proxy, target, signal)
      : openConnect(proxy, target, signal));
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    // The cause is left out: a library's error may contain the proxy's password.
    const message = `proxy ${proxy.host}: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new KubeError({ code: 'ConnectionFailed', message });
  }
}

/** Returns the value of `Proxy-Authorization` for the proxy's user and password. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '') return undefined;
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function openConnect(proxy: URL, { host, port }: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const authorization = proxyAuthorization(proxy);
  return new Promise((resolve, reject) => {
    const request = (proxy.protocol === 'https:' ? https : http).request({
      method: 'CONNECT',
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      path: authority,
      agent: false,
      headers: { host: authority, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
    });
    const onAbort = (): void => void request.destroy(toError(signal.reason));
    const settle = (): void => signal.removeEventListener('abort', onAbort);
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('connect', (response, socket: Socket, head) => {
      settle();
      if (response.statusCode === 200 && !signal.aborted) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(
        new Error(
          `CONNECT ${authority}: proxy responded with ${response.statusCode} ${response.statusMessage ?? ''}`.trim(),
        ),
      );
    });
    request.on('error', (error) => {
      settle();
      reject(error);
    });
    request.end();
  });
}
