import { Socket } from 'node:net';
import { type Clock, linkAbort } from '@node-agent/async';
import { dial } from './dial.ts';
import { goWords } from './go-words.ts';
import { hostAndPort } from './http-request.ts';
import { ignore } from './socket.ts';

/** Target of a TCP connect and its time limit. */
export interface TcpTarget {
  readonly host: string;
  readonly port: number;
  /** Time limit of the connection attempt in ms. */
  readonly timeoutMs: number;
}

/**
 * Opens a connection and closes it in an orderly way immediately (`pkg/probe/tcp/tcp.go`). The connection is not reset,
 * because a server that does not handle socket errors would crash.
 * @returns Go's error text if the connection failed (`dial tcp 10.0.0.5:80: i/o timeout`); `undefined` if it succeeded
 * @throws the signal's reason if the signal is aborted
 */
export async function tcpConnect(
  { host, port, timeoutMs }: TcpTarget,
  { clock }: { readonly clock: Pick<Clock, 'setTimer' | 'monotonic'> },
  signal?: AbortSignal,
): Promise<string | undefined> {
  signal?.throwIfAborted();
  using link = linkAbort(signal);
  const timer = clock.setTimer(timeoutMs, () => link.abort());
  let callOff: (() => void) | undefined;
  try {
    return await new Promise((resolve) => {
      const deadlineMs = clock.monotonic() + timeoutMs;
      callOff = dial({ host, port, deadlineMs }, { clock, newSocket: () => new Socket() }, (result) => {
        if (result instanceof Error) return resolve(goWords(result, { host, port, ends: '' }));
        result.on('error', ignore).destroy();
        resolve(undefined);
      });
      link.signal.addEventListener('abort', () => resolve(`dial tcp ${hostAndPort(host, port)}: i/o timeout`), {
        once: true,
      });
    });
  } finally {
    timer.cancel();
    callOff?.();
    signal?.throwIfAborted();
  }
}
