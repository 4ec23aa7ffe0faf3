import { DEFAULT_CIPHERS, getCiphers, type SecureContextOptions, type SecureVersion } from 'node:tls';
import { ServerError } from '../errors.ts';

/** The TLS settings of a kubelet's configuration. */
export interface TlsSettings {
  /**
   * `tlsCipherSuites`: IANA names of TLS 1.2 suites. Default if empty: OpenSSL's. TLS 1.3 suites are always enabled; if
   * only TLS 1.3 suites are named, TLS 1.3 becomes the minimum version.
   */
  readonly cipherSuites?: readonly string[];
  /** `tlsMinVersion`. Default if empty: `VersionTLS12`. */
  readonly minVersion?: string;
  /** `tlsCurvePreferences`: IANA numbers of TLS groups. Default if empty: OpenSSL's. */
  readonly curvePreferences?: readonly number[];
}

const VERSIONS: ReadonlyMap<string, SecureVersion> = new Map([
  ['', 'TLSv1.2'],
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

/** Maps the IANA names that Go uses to OpenSSL's names. */
const CIPHERS: ReadonlyMap<string, string> = new Map([
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
]);
/** TLS 1.3 suites, which Go accepts in the list and ignores. */
const TLS13: ReadonlySet<string> = new Set([
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
]);

const CURVES: ReadonlyMap<number, string> = new Map([
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
  [29, 'X25519'],
  [4587, 'SecP256r1MLKEM768'],
  [4588, 'X25519MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
]);

/** Converts the settings into options of a TLS server. @throws ServerError `InvalidOptions` naming the setting */
export function tlsOptions({
  cipherSuites = [],
  minVersion = '',
  curvePreferences = [],
}: TlsSettings): SecureContextOptions {
  const least = VERSIONS.get(minVersion);
  if (least === undefined) throw invalid(`tlsMinVersion: unknown tls version ${JSON.stringify(minVersion)}`);
  const known = new Set(getCiphers());
  const ciphers = cipherSuites.flatMap((name) => {
    if (TLS13.has(name)) return [];
    const cipher = CIPHERS.get(name);
    if (cipher === undefined || !known.has(cipher.toLowerCase())) {
      throw invalid(`tlsCipherSuites: Cipher suite ${name} not supported or doesn't exist`);
    }
    return [cipher];
  });
  const curves = curvePreferences.map((number) => {
    const curve = CURVES.get(number);
    if (curve === undefined) throw invalid(`tlsCurvePreferences: key exchange ${number} is not supported`);
    return curve;
  });
  // If only TLS 1.3 suites are named, no suite is enabled for older versions, so TLS 1.3 becomes the minimum version.
  const version = cipherSuites.length > 0 && ciphers.length === 0 ? 'TLSv1.3' : least;
  const chosen = ciphers.length > 0 ? [...TLS13, ...ciphers].join(':') : undefined;
  // OpenSSL allows TLS 1.0 and 1.1 only at its lowest security level.
  const isOld = version === 'TLSv1' || version === 'TLSv1.1';
  return {
    minVersion: version,
    ...(isOld ? { ciphers: `${chosen ?? DEFAULT_CIPHERS}:@SECLEVEL=0` } : chosen !== undefined && { ciphers: chosen }),
    ...(curves.length > 0 && { ecdhCurve: curves.join(':') }),
  };
}

function invalid(message: string): ServerError {
  return new ServerError('InvalidOptions', message);
}
