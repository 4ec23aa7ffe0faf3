import { connect, type Socket } from 'node:net';
import type { TunnelTarget } from './tunnel.ts';

/** The longest host, user or password, in bytes: the protocol stores lengths in one byte. */
const MAX_TEXT_BYTES = 255;

/**
 * Opens a connection through a SOCKS 5 proxy (RFC 1928 and 1929). The proxy resolves names. @throws Error without
 * secrets in its message
 */
export async function openSocks(proxy: URL, { host, port }: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const user = decodeURIComponent(proxy.username);
  const password = decodeURIComponent(proxy.password);
  for (const [what, text] of [['host', host] as const, ['user', user] as const, ['password', password] as const]) {
    if (Buffer.byteLength(text) > MAX_TEXT_BYTES) throw new Error(`SOCKS: the ${what} is longer than 255 bytes`);
  }
  // Loaded on demand, because SOCKS proxies are rare.
  const { SocksClient } = await import('./socks-library.ts');
  signal.throwIfAborted();
  const proxyPort = Number(proxy.port || 1080);
  const proxyHost = proxy.hostname.replace(/^\[|\]$/g, '');
  const socket = connect(proxyPort, proxyHost);
  const onAbort = (): void => void socket.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      const closed = (): void => reject(new Error('SOCKS: the proxy closed the connection'));
      socket
        .once('connect', () => {
          socket.off('error', reject).off('close', closed);
          resolve();
        })
        .once('error', reject)
        .once('close', closed);
    });
    await SocksClient.createConnection({
      command: 'connect',
      proxy: { host: proxyHost, port: proxyPort, type: 5, ...(user === '' ? {} : { userId: user, password }) },
      destination: { host, port },
      existing_socket: socket,
    });
    signal.throwIfAborted();
    return socket;
  } catch (error) {
    // A listener is needed, because the library has removed its own error listener from a socket that it gave up.
    socket.on('error', () => {}).destroy();
    throw new Error(messageOf(error));
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Returns the message of the library's error, without the library's options, which include the password. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.startsWith('SOCKS') ? text : `SOCKS: ${text}`;
}
