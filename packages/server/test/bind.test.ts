import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { systemClock } from '@node-agent/async';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { remoteAddressOf } from '../src/http/request-socket.ts';
import { alwaysAllow, HealthzServer, ReadOnlyServer } from '../src/index.ts';
import { bind, bindAddresses } from '../src/listen/bind.ts';
import type { ListenAddress } from '../src/listen/http-listener.ts';
import { type KeyPair, Pki } from './pki.ts';
import { ask, startSecured } from './secured-fixture.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

let pki: Pki;
let serving: KeyPair;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  pki = await Pki.create();
  serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
  return () => pki[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** Starts a server that reports its port by `onListening`. */
async function portOf(start: (onListening: (got: ListenAddress) => void, signal: AbortSignal) => Promise<void>) {
  const controller = new AbortController();
  return await new Promise<number>((resolve, reject) => {
    const ended = start(({ port }) => resolve(port), controller.signal);
    ended.catch(reject);
    ends.push(async () => {
      controller.abort(new Error('the test ends'));
      await ended;
    });
  });
}

const components = { clock: systemClock, logger: silentLogger, metrics: noMetrics, checks: [] };
const OK = { status: 200, headers: {}, body: 'ok' };
const SERVERS: readonly (readonly [string, string, () => Promise<number>])[] = [
  [
    'secured port',
    'https',
    async () => {
      const parts = { anonymous: true, authorization: alwaysAllow, endpoints: { healthz: async () => OK } };
      const server = await startSecured(serving, parts, { address: '0.0.0.0' });
      ends.push(() => server.end());
      return server.port;
    },
  ],
  [
    'health port',
    'http',
    () =>
      portOf((onListening, signal) =>
        new HealthzServer(components, { address: '0.0.0.0', port: 0, onListening }).start(signal),
      ),
  ],
  [
    'read-only port',
    'http',
    () =>
      portOf((onListening, signal) => {
        const parts = {
          ...components,
          getPods: () => [],
          getRunningPods: async () => [],
          renderMetrics: () => ({ contentType: 'text/plain', text: '' }),
          explain: () => undefined,
        };
        return new ReadOnlyServer(parts, { address: '0.0.0.0', port: 0, onListening }).start(signal);
      }),
  ],
];

describe.each(SERVERS)('addresses of the %s', (_name, scheme, start) => {
  it.runIf(hasIpv6).each(['127.0.0.1', '::1'])('a server with address 0.0.0.0 answers on %s', async (host) => {
    const port = await start();
    expect(await statusOf(scheme, host, port)).toBe(200);
  });
});

async function statusOf(scheme: string, host: string, port: number): Promise<number | undefined> {
  const { request } = await import(`node:${scheme}`);
  return await new Promise((resolve, reject) => {
    const asked = request({ host, port, path: '/healthz', agent: false, rejectUnauthorized: false });
    asked.on('error', reject);
    asked.on('response', (response: { statusCode?: number; resume(): void }) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.end();
  });
}

describe('bind', () => {
  it.each([
    ['0.0.0.0', ['::', '0.0.0.0']],
    ['::', ['::']],
    ['127.0.0.1', ['127.0.0.1']],
    ['10.0.0.1', ['10.0.0.1']],
  ])('for the configured address %s, the addresses to try are %j', (address, expected) => {
    expect(bindAddresses(address)).toEqual(expected);
  });

  it.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])(
    'binding 0.0.0.0 on a machine without IPv6 (%s) listens on IPv4',
    async (code) => {
      const server = withoutIpv6(code);
      ends.push(() => new Promise((resolve) => server.close(resolve)));
      await bind(server, { address: '0.0.0.0', port: 0 });
      expect(server.address()).toMatchObject({ address: '0.0.0.0', family: 'IPv4' });
    },
  );

  it('binding a port in use fails with the configured address in the message', async () => {
    const first = createServer();
    const second = createServer();
    ends.push(() => new Promise((resolve) => first.close(resolve)));
    await bind(first, { address: '0.0.0.0', port: 0 });
    const address = first.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    await expect(bind(second, { address: '0.0.0.0', port })).rejects.toMatchObject({
      code: 'ListenFailed',
      message: expect.stringMatching(new RegExp(`^cannot listen on 0\\.0\\.0\\.0:${port}: .*EADDRINUSE`)),
    });
  });
});

/** Returns a server that fails to listen on `::`, as on a machine without IPv6. */
function withoutIpv6(code: string): Server {
  const server = createServer();
  const listen = server.listen.bind(server) as (options: object) => Server;
  server.listen = ((options: { readonly host: string }) => {
    if (options.host !== '::') return listen(options);
    setImmediate(() => server.emit('error', Object.assign(new Error(`listen ${code}`), { code })));
    return server;
  }) as typeof server.listen;
  return server;
}

it.each([
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:0:1', '::ffff:0:1'],
])('a client at %s is reported with the address %s', (remoteAddress, expected) => {
  expect(remoteAddressOf({ remoteAddress })).toBe(expected);
});

it('W1: an IPv4 client of a dual-stack port is identified by its IPv4 address', async () => {
  const seen: string[] = [];
  const server = await startSecured(
    serving,
    {
      anonymous: true,
      authorization: alwaysAllow,
      endpoints: {
        healthz: async ({ remoteAddress }) => {
          seen.push(remoteAddress);
          return OK;
        },
      },
    },
    { address: '0.0.0.0' },
  );
  ends.push(() => server.end());
  await ask(server.port, '/healthz');
  expect(seen).toEqual(['127.0.0.1']);
});
