import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boolean, contentOf, directoryString, element, elementsOf, integer, ipBytes, oid, time } from '../src/der.ts';
import { alternativeNames, distinguishedName } from '../src/names.ts';
import { requestName } from '../src/request-name.ts';
import { pem, signatureAlgorithm } from '../src/signing.ts';
import { checkCompatible, makeSigningRequest } from '../src/signing-request.ts';
import { type CertificateSubject, nodeSubject } from '../src/subject.ts';
import { signerOf, usagesOf } from '../src/usages.ts';
import { KEY } from './fixtures.ts';
import { newKey } from './keys.ts';

const serving: CertificateSubject = { ...nodeSubject('n1'), dnsNames: ['n1'], ipAddresses: ['10.0.0.1', 'fd00::1'] };

function signedPart(request: string): string | undefined {
  const der = Buffer.from(request.replace(/-----[^-]+-----/g, ''), 'base64');
  return elementsOf(der)[0]?.toString('base64');
}

describe('a signing request', () => {
  // These requests were made by Go's crypto/x509 with the same key.
  test.each([
    [
      nodeSubject('n1'),
      'MIGSAgEAMDAxFTATBgNVBAoTDHN5c3RlbTpub2RlczEXMBUGA1UEAxMOc3lzdGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087GoAA=',
    ],
    [
      serving,
      'MIHKAgEAMDAxFTATBgNVBAoTDHN5c3RlbTpub2RlczEXMBUGA1UEAxMOc3lzdGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087GoDgwNgYJKoZIhvcNAQkOMSkwJzAlBgNVHREEHjAcggJuMYcECgAAAYcQ/QAAAAAAAAAAAAAAAAAAAQ==',
    ],
  ])("a certificate signing request has the same bytes as the Go kubelet's", (subject, bytes) => {
    expect(signedPart(makeSigningRequest(subject, KEY))).toBe(bytes);
  });

  test.each([
    ['P-256', newKey()],
    ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey],
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
  ])('OpenSSL verifies and parses a certificate signing request with a key of type %s', (_name, key) => {
    const input = makeSigningRequest(serving, key);
    const text = execFileSync('openssl', ['req', '-verify', '-noout', '-subject', '-text'], {
      input,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    expect(text).toMatch(/O ?= ?system:nodes, ?CN ?= ?system:node:n1/);
    expect(text).toContain('DNS:n1, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1');
  });

  test('refuses a key that cannot sign a certificate signing request', () => {
    const { privateKey } = generateKeyPairSync('x25519');
    expect(() => makeSigningRequest(serving, privateKey)).toThrow(expect.objectContaining({ code: 'InvalidKey' }));
  });
});

test.each([
  ['ec', { namedCurve: 'prime256v1' }, 'sha256', '300a06082a8648ce3d040302'],
  ['ec', { namedCurve: 'secp384r1' }, 'sha384', '300a06082a8648ce3d040303'],
  ['ec', { namedCurve: 'secp521r1' }, 'sha512', '300a06082a8648ce3d040304'],
  ['rsa', { modulusLength: 3071 }, 'sha256', '300d06092a864886f70d01010b0500'],
  ['rsa', { modulusLength: 3072 }, 'sha384', '300d06092a864886f70d01010c0500'],
  ['rsa', { modulusLength: 4095 }, 'sha384', '300d06092a864886f70d01010c0500'],
  ['rsa', { modulusLength: 4096 }, 'sha512', '300d06092a864886f70d01010d0500'],
] as const)('a key of type %s with %j signs with %s', (asymmetricKeyType, asymmetricKeyDetails, hash, identifier) => {
  const algorithm = signatureAlgorithm({ asymmetricKeyType, asymmetricKeyDetails } as KeyObject);
  expect([algorithm.hash, algorithm.identifier.toString('hex')]).toEqual([hash, identifier]);
});

test('PEM text has lines of 64 characters', () => {
  const [a, b] = [Buffer.alloc(48), Buffer.from('end')];
  expect(pem('THING', Buffer.concat([a, b]))).toBe(
    `-----BEGIN THING-----\n${'A'.repeat(64)}\nZW5k\n-----END THING-----\n`,
  );
});

describe('an existing certificate signing request', () => {
  test('an existing certificate signing request may be resumed if it has the same subject and key', () => {
    expect(() => checkCompatible(makeSigningRequest(serving, KEY), serving, KEY)).not.toThrow();
    // A request without alternative names is compatible with the same subject without alternative names.
    expect(() => checkCompatible(makeSigningRequest(nodeSubject('n1'), KEY), nodeSubject('n1'), KEY)).not.toThrow();
  });

  test.each([
    ['another subject', makeSigningRequest(nodeSubject('n2'), KEY), 'csr subjects differ'],
    ['another key', makeSigningRequest(serving, newKey()), 'it is for another key'],
    [
      'a PEM block of another type',
      '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----',
      'PEM block type must be CERTIFICATE REQUEST',
    ],
    [
      'content that cannot be parsed',
      '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----',
      'unable to parse it',
    ],
  ])('an existing certificate signing request is not resumed if it has %s', (_what, request, why) => {
    expect(() => checkCompatible(request, serving, KEY)).toThrow(`retrieved csr is not compatible: ${why}`);
  });

  test('an existing certificate signing request is not resumed if its signature is invalid', () => {
    const lines = makeSigningRequest(serving, KEY).split('\n');
    const der = Buffer.from(lines.slice(1, -2).join(''), 'base64');
    der.writeUInt8((der.at(-1) ?? 0) ^ 1, der.length - 1);
    const broken = [lines[0], der.toString('base64'), ...lines.slice(-2)].join('\n');
    expect(() => checkCompatible(broken, serving, KEY)).toThrow('its signature is invalid');
  });

  test('checkCompatible throws RequestIncompatible for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const text = `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(bytes).toString('base64')}\n-----END CERTIFICATE REQUEST-----`;
        expect(() => checkCompatible(text, serving, KEY)).toThrow(
          expect.objectContaining({ code: 'RequestIncompatible' }),
        );
      }),
    );
  });
});

describe('name of a certificate signing request', () => {
  test('requestName returns the same name as the Go kubelet', () => {
    const name = requestName(nodeSubject('n1'), usagesOf('client', KEY), KEY);
    expect(name).toBe('node-csr-G_fZn2HjKCLJ34NIyhix5iA0metC70fsxy0vKdzDxVo');
  });

  test('requestName differs for each key, subject, SAN and usage', () => {
    const names = [
      requestName(nodeSubject('n1'), ['client auth'], KEY),
      requestName(nodeSubject('n1'), ['server auth'], KEY),
      requestName(nodeSubject('n2'), ['client auth'], KEY),
      requestName(serving, ['client auth'], KEY),
      requestName(nodeSubject('n1'), ['client auth'], newKey()),
    ];
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('key usages of a certificate', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  test.each([
    ['client', KEY, ['digital signature', 'client auth']],
    ['client', rsa, ['digital signature', 'key encipherment', 'client auth']],
    ['server', KEY, ['digital signature', 'server auth']],
    ['server', rsa, ['digital signature', 'key encipherment', 'server auth']],
  ] as const)('the usages of a %s certificate include key encipherment only for RSA keys', (purpose, key, usages) => {
    expect(usagesOf(purpose, key)).toEqual(usages);
  });
});

test("client and serving certificates have upstream's signer names", () => {
  expect([signerOf('client'), signerOf('server')]).toEqual([
    ...['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving'],
  ]);
});

describe('DER encoding', () => {
  test('DER integers are positive and have no superfluous leading zeros', () => {
    expect(integer(Buffer.of(0, 0, 0x80)).toString('hex')).toBe('02020080');
    expect(integer(Buffer.of(0, 0x7f)).toString('hex')).toBe('02017f');
    expect(integer(Buffer.of(0)).toString('hex')).toBe('020100');
    expect(integer(Buffer.of()).toString('hex')).toBe('020100');
    expect([boolean(true), boolean(false)].map((der) => der.toString('hex'))).toEqual(['0101ff', '010100']);
  });

  test.each([
    [0x7f, '047f'],
    [0x80, '048180'],
    [0xff, '0481ff'],
    [0x100, '04820100'],
    [0x12345, '0483012345'],
  ])('the DER header of an element of %d bytes has the shortest length encoding', (length, header) => {
    const der = element(4, Buffer.alloc(length));
    expect(der.subarray(0, -length).toString('hex')).toBe(header);
    expect(contentOf(der)).toHaveLength(length);
  });

  test.each<[string, string[] | string]>([
    ['3000', []],
    ['3006020101020102', ['020101', '020102']],
    ['308106020101020102', ['020101', '020102']],
    ['308400000003020101', ['020101']],
    ['30030201', 'a DER element is truncated: its length exceeds the data'],
    ['3003020201', 'a DER element is truncated: its length exceeds the data'],
    ['300302010100', 'trailing data after the element'],
    ['3080020101', 'an element has an invalid DER length'],
    ['30850000000003020101', 'an element has an invalid DER length'],
  ])('the DER sequence %s has the elements %j, or is refused with that error', (hex, elements) => {
    const read = (): string[] => elementsOf(Buffer.from(hex, 'hex')).map((one) => one.toString('hex'));
    if (typeof elements === 'string') expect(read).toThrow(new RangeError(elements));
    else expect(read()).toEqual(elements);
  });

  test('a distinguished name sorts the values of a SET by bytes and encodes ASCII text as PrintableString', () => {
    expect(directoryString('n1 (a)').toString('hex')).toBe(`1306${Buffer.from('n1 (a)').toString('hex')}`);
    expect(directoryString('é').toString('hex')).toBe('0c02c3a9');
    const name = distinguishedName({ commonName: 'c', organizations: ['b', 'a'] });
    expect(name.toString('hex')).toBe('302231143008060355040a1301613008060355040a130162310a30080603550403130163');
    expect(alternativeNames({ dnsNames: [], ipAddresses: [] })).toBeUndefined();
  });

  test('DER object identifiers and times have the standard encoding', () => {
    expect(oid('1.2.840.113549.1.9.14').toString('hex')).toBe('06092a864886f70d01090e');
    expect(['1.2.127', '1.2.128', '1.2.200', '1.2.16384'].map((dotted) => oid(dotted).toString('hex'))).toEqual([
      ...['06022a7f', '06032a8100', '06032a8148', '06042a818000'],
    ]);
    expect(time(Date.UTC(2049, 11, 31, 23, 59, 59)).toString('latin1')).toBe('\x17\x0d491231235959Z');
    expect(time(Date.UTC(2050, 0, 1)).toString('latin1')).toBe('\x18\x0f20500101000000Z');
  });

  test.each([
    ['::', '00'.repeat(16)],
    ['::1', `${'00'.repeat(15)}01`],
    ['FE80::A:0:1', 'fe80000000000000000000000a00000001'.replace('0000000000000000000a', '00000000000000000a')],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['127.0.0.1', '7f000001'],
  ])('DER encodes the IP address %s as its bytes', (ip, hex) => {
    expect(ipBytes(ip).toString('hex')).toBe(hex);
  });
});
