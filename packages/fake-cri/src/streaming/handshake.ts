import type { IncomingMessage } from 'node:http';
import { ACCEPTED_HEADER, PROTOCOL_HEADER } from './protocols.ts';

/** An HTTP response that refuses an upgrade. */
export interface Refused {
  readonly status: number;
  readonly body: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The negotiated protocol, or the refusal. */
export type Handshake =
  | { readonly protocol: string; readonly refusal?: undefined }
  | { readonly protocol?: undefined; readonly refusal: Refused };

type Request = Pick<IncomingMessage, 'headers' | 'headersDistinct'>;

/**
 * Negotiates a protocol over SPDY: the first one that the client offers and the server supports (`Handshake` in
 * `k8s.io/streaming/pkg/httpstream`).
 */
export function spdyHandshake({ headers, headersDistinct }: Request, known: readonly string[]): Handshake {
  const given = headersDistinct[PROTOCOL_HEADER.toLowerCase()];
  if (given === undefined) {
    const count = Object.keys(headers).length;
    return refused(
      400,
      `unable to upgrade: header ${PROTOCOL_HEADER} does not exist in request with ${count} headers\n`,
    );
  }
  const offered = listed(given);
  if (offered.length === 0) {
    return refused(
      400,
      `unable to upgrade: header ${PROTOCOL_HEADER} contains ${goList(given)}, but no valid protocols\n`,
    );
  }
  const protocol = offered.find((each) => known.includes(each));
  if (protocol === undefined) {
    const words = `client supports ${goList(offered)}, server accepts ${goList(known)}`;
    const accepted = known.map((each) => [ACCEPTED_HEADER, each] as const);
    return refused(403, `unable to upgrade: unable to negotiate protocol: ${words}\n`, accepted);
  }
  const isUpgrade = listed([headers.connection ?? '']).some((each) => each.toLowerCase() === 'upgrade');
  if (isUpgrade && headers.upgrade?.toLowerCase() === 'spdy/3.1') return { protocol };
  return refused(400, 'unable to upgrade: missing upgrade headers in request\n');
}

/** Negotiates a protocol over WebSocket. A client that offers no protocol gets the protocol `''`. */
export function webSocketHandshake({ headers }: Request, known: readonly string[]): Handshake {
  const offered = listed([headers['sec-websocket-protocol'] ?? '']);
  const protocol = offered.length === 0 ? '' : offered.find((each) => known.includes(each));
  return protocol === undefined ? refused(403, '') : { protocol };
}

function refused(status: number, body: string, headers: Refused['headers'] = []): Handshake {
  return { refusal: { status, body, headers } };
}

function listed(given: readonly string[]): readonly string[] {
  return given
    .flatMap((list) => list.split(','))
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function goList(list: readonly string[]): string {
  return `[${list.join(' ')}]`;
}
