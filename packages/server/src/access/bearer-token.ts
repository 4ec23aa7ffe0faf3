import type { IncomingHttpHeaders } from 'node:http';

/** The prefix of a WebSocket protocol that carries a bearer token in base64url (`request/websocket/protocol.go`). */
const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** The token of a request, or why the token is invalid. */
export type ShownToken = { readonly token: string } | { readonly token?: undefined; readonly problem: string };

/**
 * Returns the bearer token of a request: from its `Authorization` header or, for browsers, from the WebSocket protocols
 * that it offers next to another protocol (`request/websocket/protocol.go`). Returns `undefined` if the request has no
 * credentials, or credentials of another kind.
 */
export function bearerToken(headers: IncomingHttpHeaders): ShownToken | undefined {
  const [scheme, token] = (headers.authorization ?? '').trim().split(' ');
  if (scheme?.toLowerCase() === 'bearer' && token) return { token };
  const protocols = webSocketProtocols(headers);
  const shown = protocols.filter((protocol) => protocol.startsWith(TOKEN_PROTOCOL));
  const [encoded = TOKEN_PROTOCOL] = shown;
  if (shown.length > 1) return { problem: 'several bearer tokens among the WebSocket protocols' };
  if (encoded === TOKEN_PROTOCOL) return undefined;
  const decoded = decode(encoded.slice(TOKEN_PROTOCOL.length));
  if (decoded === undefined) return { problem: 'the bearer token among the WebSocket protocols cannot be decoded' };
  // A WebSocket server must select one of the offered protocols, and must not select the one that carries the token.
  return protocols.length > 1 ? { token: decoded } : { problem: 'no WebSocket protocol beside the bearer token' };
}

/** Returns the protocols that a WebSocket client offers, without those that carry a token (W4). */
export function protocolsWithoutToken(headers: IncomingHttpHeaders): readonly string[] {
  return webSocketProtocols(headers).filter((protocol) => !protocol.startsWith(TOKEN_PROTOCOL));
}

function webSocketProtocols(headers: IncomingHttpHeaders): readonly string[] {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return [];
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  return offered.filter((protocol) => protocol !== '');
}

function decode(encoded: string): string | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64url')) || undefined;
  } catch {
    return undefined;
  }
}
