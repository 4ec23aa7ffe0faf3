import { setTimeout as delay } from 'node:timers/promises';
import { type Random, seededRandom } from '@node-agent/async';
import { expect, test, vi } from 'vitest';
import { Pki } from './pki.ts';
import { ask, rawConnection } from './secured-fixture.ts';
import { servedPod, sockets } from './stream-fixture.ts';

/** The data of a client in pieces, and how the client disconnects, all chosen at random before the client starts. */
interface Plan {
  readonly head: Buffer;
  readonly pieces: readonly Buffer[];
  readonly end: 'break' | 'half close' | 'silence' | 'go on';
}

const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const PATHS = [
  ...[
    '/exec/default/web/main?command=cat&input=1&output=1',
    '/exec/default/web/main?command=cat&input=1&output=1&tty=1',
  ],
  ...[
    '/exec/default/web/main?command=',
    '/exec/default/web/main',
    '/exec/default/web/main?command=cat&output=1&error=1&tty=1',
  ],
  ...['/attach/default/web/main?input=1&output=1', '/attach/default/web/u1/main?output=1', '/portForward/default/web'],
  ...['/portForward/default/web?port=80', '/portForward/default/web?port=0', '/portForward/default/web?port=x&port=80'],
  ...[
    '/exec/default/%00/main?command=x',
    '/exec/..%2f/web/main?command=cat',
    '//exec/default/web/main',
    '/containerLogs/default/web/main',
  ],
];
const PROTOCOLS = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'SPDY/3.1+portforward.k8s.io',
  'base64url.bearer.authorization.k8s.io.%%%',
  'x',
  '',
  '"',
  ',,',
  'v5.channel.k8s.io, v5.channel.k8s.io',
  'y'.repeat(100_000),
];

function planOf(random: Random): Plan {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T;
  const whole = (limit: number): number => Math.floor(random.next() * limit);
  const maybe = (chance: number, line: () => string): readonly string[] => (random.next() < chance ? [line()] : []);
  const noise = (limit: number): Buffer => Buffer.from(Array.from({ length: whole(limit) }, () => whole(256)));
  const odd = [
    `${pick(['GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'HEAD', 'OPTIONS'])} ${pick(PATHS)} HTTP/1.1`,
    'Host: x',
    ...maybe(
      0.95,
      () =>
        `Connection: ${pick(['Upgrade', 'Upgrade', 'Upgrade', 'upgrade, keep-alive', 'close', 'keep-alive', 'Upgrade, close'])}`,
    ),
    ...maybe(
      0.95,
      () =>
        `Upgrade: ${pick(['websocket', 'websocket', 'websocket', 'SPDY/3.1', 'SPDY/3.1', 'WebSocket', 'h2c', 'websocket, SPDY/3.1', '\x80'])}`,
    ),
    ...maybe(0.1, () => 'Upgrade: SPDY/3.1'),
    ...maybe(0.8, () => pick([KEY, KEY, KEY, 'Sec-WebSocket-Key: short', `${KEY}\r\n${KEY}`])),
    ...maybe(0.8, () => `Sec-WebSocket-Version: ${pick(['13', '13', '13', '8', '13, 8', ''])}`),
    ...maybe(0.9, () => `Sec-WebSocket-Protocol: ${pick(random.next() < 0.6 ? PROTOCOLS.slice(0, 3) : PROTOCOLS)}`),
    ...maybe(0.1, () => `Sec-WebSocket-Protocol: ${pick(PROTOCOLS)}`),
    ...maybe(
      0.3,
      () =>
        `X-Stream-Protocol-Version: ${pick(['v4.channel.k8s.io', 'portforward.k8s.io', '', '\xff', 'z'.repeat(50_000)])}`,
    ),
    ...maybe(
      0.2,
      () =>
        `Sec-WebSocket-Extensions: ${pick(['permessage-deflate', 'permessage-deflate; client_max_window_bits=99', ';;', ',', 'x'.repeat(9000)])}`,
    ),
    ...maybe(0.1, () =>
      pick([
        'Content-Length: 5',
        'Content-Length: 99999999999',
        'Transfer-Encoding: chunked',
        'Expect: 100-continue',
        'Trailer: x',
      ]),
    ),
    ...maybe(0.1, () => `X-Forwarded-For: ${pick(['1.2.3.4', '\xfc', ','.repeat(30_000)])}`),
    ...maybe(0.1, () =>
      pick(['X-Odd: a\tb', 'X-Odd: \x7f', 'X-Odd:', 'X-Odd: a\r\n folded', '\x00: x', 'HTTP2-Settings: AAA']),
    ),
    '\r\n',
  ];
  const sound = pick([
    ['GET /exec/default/web/main?command=cat&input=1&output=1&error=1', 'websocket', 'v5.channel.k8s.io'],
    ['GET /exec/default/web/main?command=cat&input=1&output=1&tty=1', 'websocket', 'v5.channel.k8s.io'],
    ['GET /attach/default/web/main?input=1&output=1', 'websocket', 'v5.channel.k8s.io, v4.channel.k8s.io'],
    ['GET /portForward/default/web', 'websocket', 'SPDY/3.1+portforward.k8s.io'],
    ['POST /exec/default/web/main?command=cat&input=1&output=1', 'SPDY/3.1', 'v4.channel.k8s.io'],
    ['POST /portForward/default/web', 'SPDY/3.1', 'portforward.k8s.io'],
  ] as const);
  const [request, upgrade, protocol] = sound;
  const webSocket = [KEY, 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Protocol: ${protocol}`];
  const asked = upgrade === 'websocket' ? webSocket : [`X-Stream-Protocol-Version: ${protocol}`];
  const right = [`${request} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', `Upgrade: ${upgrade}`, ...asked, '\r\n'];
  const lines =
    random.next() < 0.3 ? odd : random.next() < 0.8 ? right : [...right.slice(0, -1), pick(odd.slice(1, -1)), '\r\n'];
  const frame = (): Buffer => {
    const payload = pick([
      noise(200),
      noise(2),
      Buffer.of(pick([0, 1, 2, 3, 4, 5, 255]), ...noise(40)),
      Buffer.from('\u0004{"Width":80,"Height":24}'),
      Buffer.of(255, whole(7)),
    ]);
    const masked = random.next() < 0.9 ? 0x80 : 0;
    const first = pick([0x82, 0x82, 0x82, 0x81, 0x02, 0x80, 0x00, 0x88, 0x89, 0x8a, 0xf2, 0x83, 0xc2]);
    const length = pick<readonly number[]>([
      ...[[payload.length & 0x7f], [payload.length & 0x7f], [payload.length & 0x7f]],
      ...[
        [126, 0, payload.length],
        [127, 0, 0, 0, 0, 0, 0, 0, payload.length],
        [127, 255, 255, 255, 255, 255, 255, 255, 255],
        [126, 255, 255],
      ],
    ]);
    return Buffer.concat([
      Buffer.of(first, masked | (length[0] ?? 0), ...length.slice(1)),
      ...(masked ? [Buffer.alloc(4)] : []),
      payload,
    ]);
  };
  const spdy = (): Buffer => {
    const payload = pick([
      noise(64),
      Buffer.concat([Buffer.from([0, 0, 0, whole(9), 0, 0, 0, 0, 0, 0]), noise(60)]),
      Buffer.alloc(8),
    ]);
    const isControl = random.next() < 0.7;
    const head = isControl ? [0x80, pick([3, 3, 3, 2]), 0, whole(11)] : [0, 0, 0, whole(9)];
    return Buffer.concat([
      Buffer.from([...head, whole(4), 0, 0, payload.length + (random.next() < 0.1 ? whole(200) : 0)]),
      payload,
    ]);
  };
  const piece = pick([frame, frame, spdy, () => noise(500), () => Buffer.alloc(whole(30_000), 0x82)]);
  return {
    head: Buffer.from(lines.join('\r\n').replace(/\r\n\r\n\r\n$/, '\r\n\r\n'), 'latin1'),
    pieces: Array.from({ length: whole(12) }, piece),
    end: pick(['break', 'half close', 'silence', 'go on'] as const),
  };
}

/** Runs a plan and disconnects. */
async function live(port: number, { head, pieces, end }: Plan): Promise<void> {
  const socket = await rawConnection(port);
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.resume();
  socket.write(head);
  for (const piece of pieces) {
    if (!socket.writable) break;
    socket.write(piece);
    if (piece.length % 3 === 0) await delay(1);
  }
  if (end === 'half close') socket.end();
  for (let n = 0; end === 'go on' && n < 20 && socket.writable; n++) {
    socket.write('x'.repeat(999));
    await delay(1);
  }
  if (end !== 'break') await Promise.race([closed, delay(30)]);
  socket.destroy();
  await closed;
}

test('W1, W2, W5: streaming clients that send random data leave no resources, and other clients are served', {
  timeout: 120_000,
}, async () => {
  const pki = await Pki.create();
  const node = await servedPod(await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' }), { idleTimeoutMs: 5000 });
  const before = sockets();
  const random = seededRandom(Number(process.env.HOSTILE_SEED ?? 7));
  for (let round = 0; round < Number(process.env.HOSTILE_ROUNDS ?? 20); round++) {
    const plans = Array.from({ length: 15 }, () => planOf(random));
    await Promise.all(plans.map((plan) => live(node.port, plan)));
    expect((await ask(node.port, '/exec/default/web/main')).status).toBe(400);
  }
  await vi.waitFor(() => expect(sockets()).toBe(before), { timeout: 30_000, interval: 100 });
  await node.end();
  await pki[Symbol.asyncDispose]();
});
