import { type Clock, linkAbort } from '@node-agent/async';
import { goWords } from './go-words.ts';
import { hostAndPort } from './http-request.ts';
import { openSocket } from './socket.ts';

/** Where to connect to, and for how long to try. */
export interface TcpTarget {
  readonly host: string;
  readonly port: number;
  /** In ms. */
  readonly timeoutMs: number;
}

/**
 * Opens a connection and resets it. (`pkg/probe/tcp/tcp.go`)
 * @returns why there was none, in Go's words: `dial tcp 10.0.0.5:80: i/o timeout`; `undefined` where there was
 * @throws the signal's reason
 */
export async function tcpConnect(
  { host, port, timeoutMs }: TcpTarget,
  { clock }: { readonly clock: Pick<Clock, 'setTimer'> },
  signal?: AbortSignal,
): Promise<string | undefined> {
  signal?.throwIfAborted();
  using link = linkAbort(signal);
  const timer = clock.setTimer(timeoutMs, () => link.abort());
  const open = openSocket({ host, port });
  try {
    return await new Promise((resolve) => {
      open.socket.once('connect', () => resolve(undefined));
      open.socket.once('error', (error) => resolve(goWords(error, { host, port, ends: '' })));
      link.signal.addEventListener('abort', () => resolve(`dial tcp ${hostAndPort(host, port)}: i/o timeout`), {
        once: true,
      });
    });
  } finally {
    timer.cancel();
    open.reset();
    signal?.throwIfAborted();
  }
}
