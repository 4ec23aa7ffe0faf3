import { isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { TlsRecords } from './tls-records.ts';

/** What Go's client offers, in its order; weak keys are as good as strong ones where nobody looks at the certificate. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA',
  '@SECLEVEL=0',
].join(':');

/** For all connections: to make one takes as long as to connect. */
let secureContext: SecureContext | undefined;

/**
 * TLS over a connection. The certificate of the server is not looked at, as upstream's probes do not.
 * @param onFault is told in Go's words of what ends the connection for Go's client, when all that came before it was read
 */
export function tlsOver(
  socket: Socket,
  host: string,
  protocols: readonly string[],
  onFault: (words: string) => void,
): TLSSocket {
  // With a name, TLS says whom it is meant for; not so with an address.
  const servername = isIP(host) === 0 ? { servername: host.replace(/\.+$/, '') } : {};
  secureContext ??= createSecureContext({ ciphers: CIPHERS });
  const stream = connect({
    ...{ socket: new WatchedRecords(socket, onFault), rejectUnauthorized: false, secureContext },
    ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
    ...servername,
  });
  // As the connection below it: no FIN, nor what TLS says before one.
  stream._final = (callback) => callback();
  return stream;
}

/** What comes over a connection, up to where Go's client would end it. */
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
