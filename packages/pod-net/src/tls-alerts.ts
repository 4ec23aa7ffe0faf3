/** Go's texts for TLS alerts, by alert number (`alertText` in crypto/tls/alert.go). */
const ALERTS: ReadonlyMap<number, string> = new Map([
  [0, 'close notify'],
  [10, 'unexpected message'],
  [20, 'bad record MAC'],
  [21, 'decryption failed'],
  [22, 'record overflow'],
  [30, 'decompression failure'],
  [40, 'handshake failure'],
  [42, 'bad certificate'],
  [43, 'unsupported certificate'],
  [44, 'revoked certificate'],
  [45, 'expired certificate'],
  [46, 'unknown certificate'],
  [47, 'illegal parameter'],
  [48, 'unknown certificate authority'],
  [49, 'access denied'],
  [50, 'error decoding message'],
  [51, 'error decrypting message'],
  [60, 'export restriction'],
  [70, 'protocol version not supported'],
  [71, 'insufficient security level'],
  [80, 'internal error'],
  [86, 'inappropriate fallback'],
  [90, 'user canceled'],
  [100, 'no renegotiation'],
  [109, 'missing extension'],
  [110, 'unsupported extension'],
  [111, 'certificate unobtainable'],
  [112, 'unrecognized name'],
  [113, 'bad certificate status response'],
  [114, 'bad certificate hash value'],
  [115, 'unknown PSK identity'],
  [116, 'certificate required'],
  [120, 'no application protocol'],
  [121, 'encrypted client hello required'],
]);

/**
 * Returns Go's text for a TLS alert that the peer sent. Returns `undefined` if the message does not mention an alert.
 * @param message OpenSSL's error message
 */
export function remoteAlert(message: string): string | undefined {
  const [, digits] = /SSL alert number (\d+)/.exec(message) ?? [];
  if (digits === undefined) return undefined;
  return `remote error: tls: ${ALERTS.get(Number(digits)) ?? `alert(${digits})`}`;
}
