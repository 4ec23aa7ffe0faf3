import { describe, expect, test } from 'vitest';
import { parseCertificates, parsePair } from '../src/certificate-pair.ts';
import { CertificateError } from '../src/errors.ts';
import { makePair, START_MS } from './fixtures.ts';

/** A certificate by OpenSSL with the subject `/O=b/O=a`, which has no common name. */
const CERT = `-----BEGIN CERTIFICATE-----
MIIBxzCCAWygAwIBAgIUXtb9l3FMGa9YLh5IItpN+js2OUYwCgYIKoZIzj0EAwIw
GDEKMAgGA1UECgwBYjEKMAgGA1UECgwBYTAgFw0yNjExMjMxNDM5MjZaGA8yMTI2
MTAzMDE0MzkyNlowGDEKMAgGA1UECgwBYjEKMAgGA1UECgwBYTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABLEYJgxSBZX8OcnvubmJTt2kQlErx9LQtc5Xiwbjx6AX
nxtE+MUpMiy6Nsz1tkRyH1/Xvk1N28Ji416lxXs3cHmjgZEwgY4wHQYDVR0OBBYE
FLeh13T0dBEwyMqbly3Mj9LAyxzyMB8GA1UdIwQYMBaAFLeh13T0dBEwyMqbly3M
j9LAyxzyMA8GA1UdEwEB/wQFMAMBAf8wOwYDVR0RBDQwMoILb25lLmV4YW1wbGWH
BAoAAAGCC3R3by5leGFtcGxlhxD9AAAAAAAAAAAAAAAAAAABMAoGCCqGSM49BAMC
A0kAMEYCIQDwWQa9hyRzyHz/8J/4YghaxTJ8nOwAkl5aQTrUnY6fnAIhAODk4Kq7
V07JMEOUI+keKJ1t4AVoUEm2sFG1zwgxdnOc
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWNcMqQFJ1Isj4KoC
vHNY7FzcuKkIQKIvXKV+FN+1TUahRANCAASxGCYMUgWV/DnJ77m5iU7dpEJRK8fS
0LXOV4sG48egF58bRPjFKTIsujbM9bZEch9f175NTdvCYuNepcV7N3B5
-----END PRIVATE KEY-----`;
const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
const BROKEN_KEY = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----';

describe('certificate and key from PEM texts', () => {
  test('parses a certificate and key from files with other text, and keeps the certificate chain in order', () => {
    const { cert: issuer } = makePair();
    const text = `subject=\n${CERT}\nissuer=\n${issuer}`;
    const { cert, key, leaf } = parsePair(
      text,
      `-----BEGIN EC PARAMETERS-----\nAA==\n-----END EC PARAMETERS-----\n${KEY}\n`,
    );
    expect(cert).toBe(`${CERT}\n${issuer}`);
    expect(key).toBe(`${KEY}\n`);
    expect(leaf).toEqual({
      commonName: '',
      organizations: ['b', 'a'],
      dnsNames: ['one.example', 'two.example'],
      ipAddresses: ['10.0.0.1', 'fd00::1'],
      issuer: 'O=b\nO=a',
      notBeforeMs: Date.UTC(2026, 10, 23, 14, 39, 26),
      notAfterMs: Date.UTC(2126, 9, 30, 14, 39, 26),
    });
  });

  test('parses a certificate without an organization', () => {
    const subject = { commonName: 'a', organizations: [], dnsNames: [], ipAddresses: [] };
    expect(makePair({ subject }).leaf).toMatchObject(subject);
  });

  test.each([
    ['no certificate', KEY, KEY, 'there is no certificate in PEM'],
    ['no key', CERT, CERT, 'there is no private key in PEM'],
    ['an invalid certificate', BROKEN, KEY, 'a certificate cannot be parsed'],
    ['an invalid issuer certificate', `${CERT}\n${BROKEN}`, KEY, 'a certificate cannot be parsed'],
    ['an invalid key', CERT, BROKEN_KEY, 'the private key cannot be parsed'],
    ['the key of another certificate', CERT, makePair().key, 'the private key does not match the certificate'],
  ])('refuses a certificate pair with %s', (_what, cert, key, message) => {
    expect(() => parsePair(cert, key)).toThrow(new CertificateError('InvalidPair', message));
  });
});

describe('certificates of a CA bundle', () => {
  test('parses each certificate of a CA bundle', () => {
    const { cert } = makePair();
    expect(
      parseCertificates(`${CERT}\n${cert}`).map(({ commonName, notBeforeMs }) => [commonName, notBeforeMs]),
    ).toEqual([
      ['', Date.UTC(2026, 10, 23, 14, 39, 26)],
      ['system:node:n1', START_MS],
    ]);
  });

  test.each([
    ['no certificate', KEY, 'there is no certificate in PEM'],
    ['an invalid certificate in it', `${CERT}\n${BROKEN}`, 'a certificate cannot be parsed'],
  ])('refuses a CA bundle with %s', (_what, text, message) => {
    expect(() => parseCertificates(text)).toThrow(new CertificateError('InvalidPair', message));
  });
});
