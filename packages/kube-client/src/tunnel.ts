import http from 'node:http';
import https from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import { KubeError } from './errors.ts';

/** Where a tunnel leads to. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

/** A TCP connection to a host through a proxy (HTTP CONNECT or SOCKS 5). @throws KubeError `ConnectionFailed` */
export async function openTunnel(proxy: URL, target: TunnelTarget): Promise<Socket> {
  try {
    return await (proxy.protocol.startsWith('socks5') ? openSocks(proxy, target) : openConnect(proxy, target));
  } catch (cause) {
    const message = `proxy ${proxy.host}: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new KubeError({ code: 'ConnectionFailed', message, cause });
  }
}

/** The value of `Proxy-Authorization` for a proxy's user and password. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '') return undefined;
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function openConnect(proxy: URL, { host, port }: TunnelTarget): Promise<Socket> {
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
    request.on('connect', (response, socket: Socket) => {
      if (response.statusCode === 200) {
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(
        new Error(`CONNECT ${authority} was answered ${response.statusCode} ${response.statusMessage ?? ''}`.trim()),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

/** RFC 1928 and 1929; names are resolved by the proxy. */
async function openSocks(proxy: URL, { host, port }: TunnelTarget): Promise<Socket> {
  const socket = connect(Number(proxy.port || 1080), proxy.hostname.replace(/^\[|\]$/g, ''));
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    const read = reader(socket);
    const hasUser = proxy.username !== '';
    socket.write(Uint8Array.of(5, 1, hasUser ? 2 : 0));
    const [, method] = await read(2);
    if (method !== (hasUser ? 2 : 0)) throw new Error('SOCKS: no way to authenticate that both sides know');
    if (hasUser) {
      const user = Buffer.from(decodeURIComponent(proxy.username));
      const password = Buffer.from(decodeURIComponent(proxy.password));
      socket.write(Buffer.concat([Uint8Array.of(1, user.length), user, Uint8Array.of(password.length), password]));
      const [, status] = await read(2);
      if (status !== 0) throw new Error('SOCKS: the user or password was refused');
    }
    const name = Buffer.from(host);
    const tail = Uint8Array.of(port >> 8, port & 255);
    socket.write(Buffer.concat([Uint8Array.of(5, 1, 0, 3, name.length), name, tail]));
    const [, reply, , kind] = await read(4);
    if (reply !== 0) throw new Error(`SOCKS: the connection was refused (reply ${reply})`);
    // The address that the proxy uses is of no interest, but must be read.
    const [length = 0] = kind === 3 ? await read(1) : [kind === 4 ? 16 : 4];
    await read(length + 2);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Reads exactly so many bytes, leaving the others in the socket. */
function reader(socket: Socket): (length: number) => Promise<Uint8Array> {
  return (length) =>
    new Promise((resolve, reject) => {
      const settle = (): void => {
        socket.off('readable', look).off('error', fail).off('end', ended);
      };
      const look = (): void => {
        const bytes: Uint8Array | null = socket.read(length);
        if (bytes === null) return;
        settle();
        resolve(bytes);
      };
      const fail = (error: Error): void => {
        settle();
        reject(error);
      };
      const ended = (): void => fail(new Error('SOCKS: the proxy closed the connection'));
      socket.on('readable', look).on('error', fail).on('end', ended);
      look();
    });
}
