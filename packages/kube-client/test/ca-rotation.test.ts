import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import { afterAll, afterEach, expect, test } from 'vitest';
import { TlsDialer } from '../src/tls-dialer.ts';
import { trustSets } from '../src/trust-sets.ts';
import { Authorities } from './authorities.ts';
import type { KeyPair } from './pki.ts';

const made = await Authorities.create();
const cases = await made.rotationCases();
afterAll(() => made[Symbol.asyncDispose]());

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const textOf = (pairs: readonly KeyPair[]): string => pairs.map(({ cert }) => cert).join('');

/** A TLS server on 127.0.0.1 that counts its connections. */
async function serverOf({ key }: KeyPair, cert: string) {
  const server = createServer({ key, cert }, (_request, response) => response.end('{}'));
  const seen = { port: 0, connections: 0 };
  server.on('connection', () => seen.connections++);
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  seen.port = (server.address() as AddressInfo).port;
  return seen;
}

function dialer(port: number, ca: string): TlsDialer {
  const server = { host: '127.0.0.1', port, authority: `127.0.0.1:${port}`, pathPrefix: '' };
  const tls = { servername: undefined, rejectUnauthorized: true };
  return new TlsDialer(new FakeClock(), server, { ca, cert: undefined, key: undefined }, tls, undefined);
}

async function verdictOf(to: TlsDialer): Promise<boolean | string> {
  return await to.dial(['http/1.1']).then(
    (socket) => {
      socket.destroy();
      return true;
    },
    (error: Error & { code?: string }) => error.code ?? error.message,
  );
}

test.each(cases.map((rotation) => [rotation.name, rotation.accepted, rotation] as const))(
  "with %s, the dialer accepts the server's certificate, as Go does: %j",
  async (_name, accepted, { bundle, server, sent = [] }) => {
    const { port } = await serverOf(server, textOf([server, ...sent]));
    const verdict = await verdictOf(dialer(port, textOf(bundle)));
    if (accepted) expect(verdict).toBe(true);
    else expect(verdict).not.toBe(true);
  },
);

test('a version 1 CA certificate is accepted although it has no basic constraints', async () => {
  const { authority, server } = await made.version1();
  const { port } = await serverOf(server, server.cert);
  expect(await verdictOf(dialer(port, authority))).toBe(true);
});

test('the CA that verified the server is tried first by the next connection', async () => {
  const rotation = cases[0];
  if (rotation === undefined) throw new Error('there is no case');
  const seen = await serverOf(rotation.server, rotation.server.cert);
  for (const bundle of [rotation.bundle, rotation.bundle.toReversed()]) {
    const to = dialer(seen.port, textOf(bundle));
    await verdictOf(to);
    seen.connections = 0;
    expect([await verdictOf(to), await verdictOf(to), seen.connections]).toEqual([true, true, 2]);
  }
});

test('if each CA fails to verify the server, the dialer reports an error other than a bad signature', async () => {
  const expired = cases.find(({ name }) => name === 'a server certificate that has expired');
  if (expired === undefined) throw new Error('there is no case');
  const { port } = await serverOf(expired.server, expired.server.cert);
  for (const bundle of [expired.bundle, expired.bundle.toReversed()])
    expect(await verdictOf(dialer(port, textOf(bundle)))).toBe('CERT_HAS_EXPIRED');
});

test('the dialer tries a server that is down or has another name only once, even with several CAs', async () => {
  const other = cases.find(({ name }) => name === 'a certificate of another address');
  if (other === undefined) throw new Error('there is no case');
  const { port } = await serverOf(other.server, other.server.cert);
  expect(await verdictOf(dialer(port, textOf(other.bundle.toReversed().slice(0, 1))))).toBe(
    'ERR_TLS_CERT_ALTNAME_INVALID',
  );
  expect(await verdictOf(dialer(1, textOf(other.bundle)))).toBe('ECONNREFUSED');
});

test('trustSets returns one set for unique subjects, and one set per CA for a repeated subject', () => {
  const [a, b] = cases[0]?.bundle ?? [];
  const other = cases.find(({ name }) => name === 'an intermediate authority alone')?.bundle[0];
  if (a === undefined || b === undefined || other === undefined) throw new Error('there is no case');
  const [one, two, third] = [a, b, other].map(({ cert }) => cert.trim());
  expect(trustSets(`${one}\n${third}`)).toEqual([`${one}\n${third}`]);
  expect(trustSets(`# twice the same\n${one}\n${one}`)).toEqual([`# twice the same\n${one}\n${one}`]);
  const bundle = `${one}\n${third}\n${two}\n`;
  expect(trustSets(bundle)).toEqual([bundle, `${one}\n${third}`, `${two}\n${third}`]);
  expect(trustSets('no certificate')).toEqual(['no certificate']);
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
  expect(trustSets(broken)).toEqual([broken]);
});
