import { Socket } from 'node:net';
import { type Clock, linkAbort } from '@node-agent/async';
import { dial } from './dial.ts';
import { goWords } from './go-words.ts';
import { hostAndPort } from './http-request.ts';
import { ignore } from './socket.ts';

/** Where to connect to, and for how long to try. */
export interface TcpTarget {
  readonly host: string;
  readonly port: number;
  /** In ms. */
  readonly timeoutMs: number;
}

/**
 * Opens a connection and ends it at once, in order: a server that looks for no errors would not live through a reset. (`pkg/probe/tcp/tcp.go`)
 * @returns why there was none, in Go's words: `dial tcp 10.0.0.5:80: i/o timeout`; `undefined` where there was
 * @throws the signal's reason
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
