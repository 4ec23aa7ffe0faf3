import { isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { TlsRecords } from './tls-records.ts';

/**
 * Cipher suites that Go's client offers, in Go's order. Weak keys are accepted (SECLEVEL=0), because the certificate is
 * not verified anyway.
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA',
  '@SECLEVEL=0',
].join(':');

/** TLS settings that all connections share, because creating a secure context takes as long as connecting. */
let secureContext: SecureContext | undefined;

/**
 * Starts TLS over a connection. The server's certificate is not verified, as in upstream's probes.
 * @param onFault receives Go's error text when Go's client would end the connection; called after all bytes before the
 * fault have been read
 */
export function tlsOver(
  socket: Socket,
  host: string,
  protocols: readonly string[],
  onFault: (words: string) => void,
): TLSSocket {
  // The server name (SNI) is sent only if the host is a name and not an IP address.
  const servername = isIP(host) === 0 ? { servername: host.replace(/\.+$/, '') } : {};
  secureContext ??= createSecureContext({ ciphers: CIPHERS });
  const stream = connect({
    ...{ socket: new WatchedRecords(socket, onFault), rejectUnauthorized: false, secureContext },
    ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
    ...servername,
  });
  // Like the underlying connection, the stream sends neither close_notify nor a FIN when writing ends.
  stream._final = (callback) => callback();
  return stream;
}

/** Forwards the bytes of a connection until a fault at which Go's client would end the connection. */
class WatchedRecords extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket, onFault: (words: string) => void) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    const records = new TlsRecords();
    let hasFault = false;
    const fault = (words: string): void => {
      hasFault = true;
      setImmediate(onFault, words);
    };
    socket.on('data', (bytes: Buffer) => {
      if (hasFault) return;
      const found = records.push(bytes);
      const isRoom = this.push(found === undefined ? bytes : bytes.subarray(0, found.at));
      if (found !== undefined) fault(found.words);
      else if (!isRoom) socket.pause();
    });
    socket.on('end', () => {
      if (hasFault) return;
      if (records.areWhole) this.push(null);
      else fault('unexpected EOF');
    });
    socket.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(bytes, callback);
  }

  override _final(callback: () => void): void {
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
