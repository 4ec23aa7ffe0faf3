import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { spdyHeaders, tunnelHeaders, upgradeHeaders } from '../src/http/upgrade-headers.ts';
import { webSocketRefusal } from '../src/streams/web-socket.ts';
import { asksForCommandChannels, tunnelledProtocols } from '../src/streams/web-socket-protocols.ts';

const offers = (protocols: string, upgrade = 'websocket') => ({ upgrade, 'sec-websocket-protocol': protocols });

describe('WebSocket subprotocol selection', () => {
  it.each<[string, IncomingHttpHeaders, boolean, readonly string[]]>([
    ['v5', offers('v5.channel.k8s.io'), true, []],
    ['v5 among others', offers('v4.channel.k8s.io , v5.channel.k8s.io'), true, []],
    ['v4', offers('v4.channel.k8s.io,channel.k8s.io'), false, []],
    ['v5 in capitals', offers('V5.channel.k8s.io'), false, []],
    ['nothing', { upgrade: 'websocket' }, false, []],
    ['v5 without a WebSocket upgrade', offers('v5.channel.k8s.io', 'SPDY/3.1'), false, []],
    ['port-forward', offers('SPDY/3.1+portforward.k8s.io', 'WebSocket'), false, ['portforward.k8s.io']],
    ['SPDY twice', offers('SPDY/3.1+a.k8s.io, x, SPDY/3.1+b.k8s.io'), false, ['a.k8s.io', 'b.k8s.io']],
    ['SPDY of others', offers('SPDY/3.1+portforward.example.org, SPDY/3+portforward.k8s.io'), false, []],
    ['SPDY without a WebSocket upgrade', offers('SPDY/3.1+portforward.k8s.io', 'SPDY/3.1'), false, []],
  ])(
    'a client that offers %s asks for command channels: $2, and for the SPDY tunnels $3',
    (_name, headers, isCommand, protocols) => {
      expect(asksForCommandChannels(headers)).toBe(isCommand);
      expect(tunnelledProtocols(headers)).toEqual(protocols);
    },
  );
});

describe('a WebSocket handshake', () => {
  const headers = {
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
  };

  it.each<[string, string, IncomingHttpHeaders, number | undefined]>([
    ['that is valid', 'GET', headers, undefined],
    ['by POST', 'POST', headers, 405],
    ['without a key', 'GET', { ...headers, 'sec-websocket-key': undefined }, 400],
    ['with a short key', 'GET', { ...headers, 'sec-websocket-key': 'c2hvcnQ=' }, 400],
    ['without a version', 'GET', { ...headers, 'sec-websocket-version': undefined }, 400],
    ['of an old version', 'GET', { ...headers, 'sec-websocket-version': '8' }, 400],
  ])('a WebSocket handshake %s gets the error status $3', (_name, method, given, status) => {
    const refusal = webSocketRefusal({ method, headers: given });
    expect(refusal?.status).toBe(status);
    const isOfVersion = refusal?.body.includes('Version') ?? false;
    expect(refusal?.headers['Sec-WebSocket-Version']).toBe(isOfVersion ? '13' : undefined);
  });
});

/** Formats alternating names and values as `name: value`. */
function pairs(headers: readonly string[]): readonly string[] {
  return Array.from(
    { length: headers.length / 2 },
    (_each, index) => `${headers[2 * index]}: ${headers[2 * index + 1]}`,
  );
}

it("W4: a SPDY request to the runtime has the client's headers without WebSocket headers and secrets", () => {
  const raw = [
    ...['Host', 'node:10250', 'Connection', 'Upgrade', 'Upgrade', 'websocket', 'User-Agent', 'kubectl'],
    ...['Authorization', 'Bearer secret', 'Cookie', 'secret', 'X-Stream-Protocol-Version', 'made-up'],
    ...['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version', '13'],
    ...['Sec-WebSocket-Extensions', 'permessage-deflate', 'X-Forwarded-For', '10.0.0.1'],
    ...['Sec-WebSocket-Protocol', 'base64url.bearer.authorization.k8s.io.c2VjcmV0, SPDY/3.1+portforward.k8s.io'],
  ];
  const headers = Object.fromEntries(
    Array.from({ length: raw.length / 2 }, (_each, index) => [raw[2 * index]?.toLowerCase(), raw[2 * index + 1]]),
  );
  const handedOn = tunnelHeaders(upgradeHeaders(raw, headers, '127.0.0.1:80', '10.0.0.2'), tunnelledProtocols(headers));
  expect(pairs(handedOn)).toEqual([
    ...['Host: 127.0.0.1:80', 'Connection: Upgrade', 'User-Agent: kubectl', 'X-Forwarded-For: 10.0.0.1, 10.0.0.2'],
    ...['Content-Length: 0', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: portforward.k8s.io'],
  ]);
  const plain = ['Transfer-Encoding', 'chunked', 'Content-Length', '5', 'Proxy-Authorization', 'secret', 'X-A', '1'];
  expect(pairs(upgradeHeaders(plain, {}, 'h', '10.0.0.2'))).toEqual([
    ...['Host: h', 'X-A: 1', 'X-Forwarded-For: 10.0.0.2', 'Content-Length: 0'],
  ]);
  const one = { upgrade: 'websocket', 'sec-websocket-protocol': 'a' };
  expect(upgradeHeaders([], one, 'h', '10.0.0.2').slice(2, 4)).toEqual(['Sec-WebSocket-Protocol', 'a']);
  const two = { upgrade: 'websocket', 'sec-websocket-protocol': 'a,b' };
  expect(pairs(upgradeHeaders(['Sec-WebSocket-Protocol', 'a,b'], two, 'h', '10.0.0.2'))).toEqual([
    ...['Host: h', 'Sec-WebSocket-Protocol: a, b', 'X-Forwarded-For: 10.0.0.2', 'Content-Length: 0'],
  ]);
  expect(pairs(spdyHeaders('127.0.0.1:80', ['v5', 'v4']))).toEqual([
    ...['Host: 127.0.0.1:80', 'Connection: Upgrade', 'Content-Length: 0', 'Upgrade: SPDY/3.1'],
    ...['X-Stream-Protocol-Version: v5', 'X-Stream-Protocol-Version: v4'],
  ]);
});
