/** What the alerts of TLS are called by Go, by their numbers (RFC 8446, 6). */
const ALERTS: ReadonlyMap<number, string> = new Map([
  [0, 'close notify'],
  [10, 'unexpected message'],
  [20, 'bad record MAC'],
  [22, 'record overflow'],
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
  [70, 'protocol version not supported'],
  [71, 'insufficient security level'],
  [80, 'internal error'],
  [86, 'inappropriate fallback'],
  [90, 'user canceled'],
  [100, 'no renegotiation'],
  [109, 'missing extension'],
  [110, 'unsupported extension'],
  [112, 'unrecognized name'],
  [113, 'bad certificate status response'],
  [115, 'unknown PSK identity'],
  [116, 'certificate required'],
  [120, 'no application protocol'],
]);

/** What Go says of an alert that the other side has sent, by OpenSSL's message; `undefined` where that tells of none. */
export function remoteAlert(message: string): string | undefined {
  const [, digits] = /SSL alert number (\d+)/.exec(message) ?? [];
  if (digits === undefined) return undefined;
  return `remote error: tls: ${ALERTS.get(Number(digits)) ?? `alert(${digits})`}`;
}
