import { X509Certificate } from 'node:crypto';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFields } from '../src/access/certificate-fields.ts';
import { isAuthority, isPathForGo, trustedPath } from '../src/access/trusted-path.ts';
import { alwaysAllow } from '../src/index.ts';
import { Authorities, type RotationCase, UNTOLD } from './authorities.ts';
import { type KeyPair, Pki } from './pki.ts';
import { ask, askHttp2, authoritiesOf, believing, Changing, type Started, startSecured } from './secured-fixture.ts';

const made = await Authorities.create();
const cases = await made.rotationCases();
const lax = await made.laxCases();
const titled = cases.map((rotation) => [rotation.name, rotation.accepted, rotation] as const);
afterAll(() => made[Symbol.asyncDispose]());

/** A time after all certificates were made. */
const NOW_MS = Date.now() + 60_000;

const x509 = ({ cert }: KeyPair): X509Certificate => new X509Certificate(cert);

function pathOf({ client, sent = [], bundle }: RotationCase, nowMs = NOW_MS): readonly X509Certificate[] | undefined {
  return trustedPath(x509(client), sent.map(x509), bundle.map(x509), nowMs);
}

/** Returns the case with the given name. */
function named(name: string): RotationCase {
  const found = cases.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`there is no case ${name}`);
  return found;
}

describe('trustedPath', () => {
  it.each(titled)(
    'W1: trustedPath decides as Go about a client certificate of the case "%s"; accepted: %j',
    (_name, _accepted, rotation) => {
      const path = pathOf(rotation);
      expect(path !== undefined).toBe(rotation.accepted);
      if (path === undefined) return;
      expect(path[0]?.fingerprint256).toBe(x509(rotation.client).fingerprint256);
      expect(rotation.bundle.map((pair) => x509(pair).fingerprint256)).toContain(path.at(-1)?.fingerprint256);
    },
  );

  it('refuses a client whose certificate path was valid in the past, but is not valid now', () => {
    const { bundle, client } = named('old and new authority, signed by the new one');
    const authority = bundle.find((pair) => x509(client).verify(x509(pair).publicKey));
    // The authority is included, because it expires before the client's certificate if it was made in an earlier
    // second.
    const path = authority === undefined ? [client] : [client, authority];
    const endMs = Math.min(...path.map((pair) => Date.parse(x509(pair).validTo)));
    const rotation = { name: '', bundle, client, accepted: true };
    expect([endMs, endMs + 1000].map((nowMs) => pathOf(rotation, nowMs) !== undefined)).toEqual([true, false]);
  });

  it('W1: a certificate with one changed byte is never accepted', () => {
    const { bundle, client } = named('old and new authority, signed by the new one');
    const { raw } = x509(client);
    for (let at = 0; at < raw.length; at++) {
      for (const bit of [0x01, 0x80]) {
        const changed = Buffer.from(raw);
        changed[at] = (changed[at] ?? 0) ^ bit;
        let leaf: X509Certificate;
        try {
          leaf = new X509Certificate(changed);
        } catch {
          continue;
        }
        const path = trustedPath(leaf, [], bundle.map(x509), NOW_MS);
        // Only the tag of the signature's bit string is not covered by the signature.
        if (path !== undefined) expect(certificateFields(changed)).toEqual(certificateFields(raw));
      }
    }
  });

  it('accepts a version 1 CA certificate without basic constraints, as Go does', async () => {
    const first = new X509Certificate(await made.makeVersion1());
    expect([certificateFields(first.raw).version, isAuthority(first)]).toEqual([1, true]);
    const third = x509(await made.make({ extensions: ['keyUsage=keyCertSign'] }));
    expect([certificateFields(third.raw).version, isAuthority(third)]).toEqual([3, false]);
  });

  it('W1: counts a self-issued CA against the path length, as Go does', async () => {
    const CA = 'basicConstraints=critical,CA:TRUE';
    const root = await made.make({ extensions: [`${CA},pathlen:0`] });
    const ofItsName = await made.make({ issuer: root, extensions: [CA] });
    const client = await made.make({ subject: '/CN=jane', issuer: ofItsName, extensions: [] });
    expect(isPathForGo([client, ofItsName, root].map(x509))).toBe(false);
    expect(isPathForGo([client, ofItsName].map(x509))).toBe(true);
    expect(isPathForGo([client].map(x509))).toBe(true);
  });

  it('refuses a weak key of a client or CA, which Go accepts', async () => {
    const weak = ['-newkey', 'rsa:1024', '-nodes'];
    const extensions = ['basicConstraints=critical,CA:TRUE'];
    const [strong, small] = [await made.make({ extensions }), await made.make({ extensions, key: weak })];
    const bySmall = await made.make({ subject: '/CN=jane', issuer: small, extensions: [] });
    const byStrong = await made.make({ subject: '/CN=jane', issuer: strong, extensions: [], key: weak });
    const bundle = [strong, small];
    for (const client of [bySmall, byStrong])
      expect(pathOf({ name: '', bundle, client, accepted: false })).toBeUndefined();
    const good = await made.make({ subject: '/CN=jane', issuer: strong, extensions: [] });
    expect(pathOf({ name: '', bundle, client: good, accepted: true })).toHaveLength(2);
  });

  it('W1: verification ends for a client that sends very many certificates with one name', async () => {
    const { bundle, client } = named('a third authority of the same name');
    const extensions = ['basicConstraints=critical,CA:TRUE'];
    const one = await made.make({ extensions });
    const sent: KeyPair[] = [];
    for (let i = 0; i < 12; i++) sent.push(await made.make({ keyOf: one, issuer: one, extensions }));
    const leaf = await made.make({ subject: '/CN=jane', issuer: one, extensions: [] });
    expect(pathOf({ name: '', bundle, client: leaf, sent, accepted: false })).toBeUndefined();
    expect(pathOf({ name: '', bundle, client, sent, accepted: false })).toBeUndefined();
  });
});

describe('a secured server whose CA file has changed', () => {
  let pki: Pki;
  let server: Started;
  let current: ReturnType<typeof believing>;
  const { logger, lines } = captureLogger();
  const believed = new Changing({ pem: '', fingerprints: new Set<string>() as ReadonlySet<string> });
  beforeAll(async () => {
    pki = await Pki.create();
    current = believing(pki);
    believed.change(current);
    const serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
    const endpoints = { healthz: async () => ({ status: 200, headers: {}, body: 'ok' }) };
    const authorities = authoritiesOf(believed);
    server = await startSecured(serving, { logger, authorities, authorization: alwaysAllow, endpoints });
    return async () => {
      await server.end();
      await pki[Symbol.asyncDispose]();
    };
  });

  it('logs once that client certificates of another CA are refused', async () => {
    const { bundle, client } = named('a third authority of the same name');
    believed.change(believing(...bundle.map((pair) => ({ ca: pair.cert, fingerprint: x509(pair).fingerprint256 }))));
    for (let i = 0; i < 3; i++) await ask(server.port, '/healthz', { pair: client });
    const warnings = lines.filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([
      {
        fields: { problem: expect.stringMatching(/^client certificate: /), method: 'GET' },
        message: 'Unable to authenticate the request due to an error',
      },
    ]);
  });

  it.each(lax.map((one) => [one.name, one.accepted, one] as const))(
    'W1: the server decides as Go, and unlike OpenSSL, about a client certificate of the case "%s"; accepted: %j',
    async (_name, accepted, { bundle, client }) => {
      believed.change(believing(...bundle.map((pair) => ({ ca: pair.cert, fingerprint: x509(pair).fingerprint256 }))));
      expect((await ask(server.port, '/healthz', { pair: client })).status).toBe(accepted ? 200 : 401);
    },
  );

  it.each(titled.filter(([name]) => name !== UNTOLD))(
    'W1: the server decides as Go about the client certificates of the case "%s"; accepted: %j',
    async (_name, accepted, { bundle, client, sent = [] }) => {
      believed.change(believing(...bundle.map((pair) => ({ ca: pair.cert, fingerprint: x509(pair).fingerprint256 }))));
      const pair = { cert: [client, ...sent].map(({ cert }) => cert).join(''), key: client.key };
      const status = accepted ? 200 : 401;
      expect((await ask(server.port, '/healthz', { pair })).status).toBe(status);
      expect((await askHttp2(server.port, '/healthz', { pair })).status).toBe(status);
    },
  );
});
