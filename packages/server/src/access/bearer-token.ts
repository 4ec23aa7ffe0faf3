import type { IncomingHttpHeaders } from 'node:http';

/** The first part of a WebSocket protocol that stands for a bearer token, base64url (`request/websocket/protocol.go`). */
const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** A token that is shown, or why what is shown for one is none. */
export type ShownToken = { readonly token: string } | { readonly token?: undefined; readonly problem: string };

/**
 * The token that a request shows: of its `Authorization` header, or, for browsers, of the WebSocket protocols that it offers
 * beside another (`request/websocket/protocol.go`). `undefined` where there is none; what is not meant as a bearer token is
 * none either.
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
  // Alone it would have to be the protocol that is chosen, which it cannot be.
  return protocols.length > 1 ? { token: decoded } : { problem: 'no WebSocket protocol beside the bearer token' };
}

/** The protocols that a WebSocket client offers, without one that stands for a token (W4). */
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
