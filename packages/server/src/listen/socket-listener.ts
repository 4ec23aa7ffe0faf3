import { once } from 'node:events';
import type { Clock } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import type { ExchangeHandlers } from '../http/exchange.ts';
import { PlainListener } from './plain-listener.ts';
import { prepareSocket, protectSocket } from './socket-file.ts';

/** How long the client of a streamed answer may receive nothing, in milliseconds. */
const STALL_MS = 14_400_000;
/**
 * The maximum size of a request's headers, in bytes. The headers include the request target, which contains the
 * commands of exec.
 */
const MAX_HEADER_BYTES = 1024 * 1024;

/**
 * Serves HTTP/1.1 with protocol upgrades on a unix socket of mode 0600 in a directory of mode 0700. The permissions of
 * the file are the only access control of the connection: Node.js does not read the peer's credentials.
 */
export class SocketListener {
  readonly #listener: PlainListener;

  constructor(components: { readonly clock: Clock; readonly logger: Logger }) {
    this.#listener = new PlainListener(components, {
      maxHeaderBytes: MAX_HEADER_BYTES,
      maxStrangers: Number.POSITIVE_INFINITY,
      stallMs: STALL_MS,
      remoteAddress: 'unix',
    });
  }

  /**
   * Listens until `signal` is aborted, then removes the socket. Resolves when all connections are closed.
   * @param onListening called when the socket has its permissions
   * @throws ServerError `ListenFailed`
   */
  async run(path: string, handlers: ExchangeHandlers, onListening: () => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await prepareSocket(path, process.getuid?.() ?? 0);
    await this.#listener.run(
      handlers,
      async (server) => {
        try {
          server.listen(path);
          await once(server, 'listening');
          await protectSocket(path);
        } catch (error) {
          throw new ServerError('ListenFailed', `cannot listen on ${path}: ${errorText(error)}`, error);
        }
        onListening();
      },
      signal,
    );
  }
}
