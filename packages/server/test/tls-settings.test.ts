import { DEFAULT_CIPHERS } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { tlsOptions } from '../src/listen/tls-settings.ts';

const TLS13 = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';

describe('TLS settings of a server', () => {
  it.each([
    ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
    ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
    ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
    ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
    ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
    ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'ECDHE-ECDSA-AES128-SHA'],
    ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'ECDHE-ECDSA-AES256-SHA'],
    ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
    ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
    ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
    ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
    ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
    ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ])("cipher suite %s enables OpenSSL's cipher %s, in addition to all TLS 1.3 suites", (name, cipher) => {
    expect(tlsOptions({ cipherSuites: [name] })).toEqual({ minVersion: 'TLSv1.2', ciphers: `${TLS13}:${cipher}` });
  });

  it.each(TLS13.split(':'))(
    '%s is always enabled, and as the only configured suite it disables older TLS versions',
    (name) => {
      expect(tlsOptions({ cipherSuites: [name] })).toEqual({ minVersion: 'TLSv1.3' });
      expect(tlsOptions({ cipherSuites: [name], minVersion: 'VersionTLS11' })).toEqual({ minVersion: 'TLSv1.3' });
    },
  );

  it.each([
    ['', { minVersion: 'TLSv1.2' }],
    ['VersionTLS10', { minVersion: 'TLSv1', ciphers: `${DEFAULT_CIPHERS}:@SECLEVEL=0` }],
    ['VersionTLS11', { minVersion: 'TLSv1.1', ciphers: `${DEFAULT_CIPHERS}:@SECLEVEL=0` }],
    ['VersionTLS12', { minVersion: 'TLSv1.2' }],
    ['VersionTLS13', { minVersion: 'TLSv1.3' }],
  ])('the configured minimum version %j leads to the TLS options %j', (minVersion, options) => {
    expect(tlsOptions({ minVersion })).toEqual(options);
  });

  it('configured cipher suites are allowed at the security level of old TLS versions', () => {
    const settings = { minVersion: 'VersionTLS11', cipherSuites: ['TLS_RSA_WITH_AES_128_CBC_SHA'] };
    expect(tlsOptions(settings).ciphers).toBe(`${TLS13}:AES128-SHA:@SECLEVEL=0`);
  });

  it.each([
    [23, 'P-256'],
    [24, 'P-384'],
    [25, 'P-521'],
    [29, 'X25519'],
    [4587, 'SecP256r1MLKEM768'],
    [4588, 'X25519MLKEM768'],
    [4589, 'SecP384r1MLKEM1024'],
  ])("key exchange group %i enables OpenSSL's group %s", (number, curve) => {
    expect(tlsOptions({ curvePreferences: [number] })).toEqual({ minVersion: 'TLSv1.2', ecdhCurve: curve });
  });

  it.each([
    [{ cipherSuites: ['TLS_NULL'] }, "tlsCipherSuites: Cipher suite TLS_NULL not supported or doesn't exist"],
    [{ minVersion: 'SSLv3' }, 'tlsMinVersion: unknown tls version "SSLv3"'],
    [{ curvePreferences: [1] }, 'tlsCurvePreferences: key exchange 1 is not supported'],
  ])('rejects the TLS setting %j: %s', (settings, message) => {
    expect(() => tlsOptions(settings)).toThrow(expect.objectContaining({ code: 'InvalidOptions', message }));
  });
});
