import { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { protocolsWithoutToken } from '../access/bearer-token.ts';
import type { UpgradeCall } from '../endpoints/call.ts';
import { ServerError } from '../errors.ts';
import { http } from '../http/node-http.ts';
import { type Reply, text } from '../http/reply.ts';

/** A message, at most, as by Go's server (`golang.org/x/net/websocket`). */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** How long a client has to say that it has heard of the end, in milliseconds. */
const CLOSE_MS = 10_000;

/** Why a request cannot become a WebSocket; `undefined` where it can. Codes and words are those of Go's server. */
export function webSocketRefusal({ method, headers }: Pick<UpgradeCall, 'method' | 'headers'>): Reply | undefined {
  if (method !== 'GET') return text(405, 'bad method\n');
  // What it is made from is not looked into; that it is 16 bytes is said by RFC 6455, and the library holds clients to it.
  const key = headers['sec-websocket-key'];
  if (key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key)) return text(400, 'mismatch challenge/response\n');
  if (headers['sec-websocket-version'] === '13') return undefined;
  return text(400, 'missing or bad WebSocket Version\n', { 'Sec-WebSocket-Version': '13' });
}

/**
 * Makes a WebSocket of a connection that {@link webSocketRefusal} has nothing against.
 * @param protocol that is agreed on, if the client has offered it
 * @throws ServerError `Ended` where the client has gone
 */
export async function acceptWebSocket(call: UpgradeCall, protocol: string): Promise<WebSocket> {
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES },
    // Known to the library, if not to its types.
    ...{ closeTimeout: CLOSE_MS },
  });
  // What is asked of a request are its method and its headers, and the connection is given beside it. The protocol is agreed on
  // here: the library takes no names with a slash, though Kubernetes has them.
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
  if (accepted === undefined) throw new ServerError('Ended', 'the client has gone');
  // A break is heard of by the end.
  accepted.on('error', () => {});
  return accepted;
}
