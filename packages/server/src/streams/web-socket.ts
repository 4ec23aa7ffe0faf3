import { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { protocolsWithoutToken } from '../access/bearer-token.ts';
import type { UpgradeCall } from '../endpoints/call.ts';
import { ServerError } from '../errors.ts';
import { http } from '../http/node-http.ts';
import { type Reply, text } from '../http/reply.ts';

/** The size limit of a message, as in Go's server (`golang.org/x/net/websocket`). */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** How long a client may take to confirm the close of a WebSocket, in milliseconds. */
const CLOSE_MS = 10_000;

/**
 * Returns why a request cannot become a WebSocket, or `undefined` if it can. Status codes and messages are those of
 * Go's server.
 */
export function webSocketRefusal({ method, headers }: Pick<UpgradeCall, 'method' | 'headers'>): Reply | undefined {
  if (method !== 'GET') return text(405, 'bad method\n');
  // The key must have 16 bytes (RFC 6455). Go's server does not check the key, but the WebSocket library does.
  const key = headers['sec-websocket-key'];
  if (key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key)) return text(400, 'mismatch challenge/response\n');
  if (headers['sec-websocket-version'] === '13') return undefined;
  return text(400, 'missing or bad WebSocket Version\n', { 'Sec-WebSocket-Version': '13' });
}

/**
 * Accepts a WebSocket on a connection that {@link webSocketRefusal} has checked.
 * @param protocol the protocol to select if the client offered it
 * @throws ServerError `Ended` if the client has disconnected
 */
export async function acceptWebSocket(call: UpgradeCall, protocol: string): Promise<WebSocket> {
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES },
    // The library supports this option, but its types lack it.
    ...{ closeTimeout: CLOSE_MS },
  });
  // The library reads only the method and headers of the request, and gets the connection separately. The protocol is
  // negotiated here, because the library rejects protocol names with a slash, which Kubernetes uses.
  const { 'sec-websocket-protocol': _offered, ...headers } = call.headers;
  const request = new http.IncomingMessage(new Socket());
  Object.assign(request, { method: call.method, headers });
  if (protocolsWithoutToken(call.headers).includes(protocol)) {
    server.on('headers', (answer) => answer.push(`Sec-WebSocket-Protocol: ${protocol}`));
  }
  let accepted: WebSocket | undefined;
  server.handleUpgrade(request, call.connection, call.rest, (socket) => {
    accepted = socket;
  });
  if (accepted === undefined) throw new ServerError('Ended', 'the client disconnected');
  // The event `close`, which follows every error, is handled instead.
  accepted.on('error', () => {});
  return accepted;
}
