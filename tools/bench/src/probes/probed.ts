import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Arrivals } from './arrivals.ts';
import type { ProbedNews, ProbedOrder } from './probed-server.ts';

const SERVER = fileURLToPath(new URL('./probed-server.ts', import.meta.url));

/** Server for the probes of a turn, in its own process. */
export class Probed implements Disposable {
  readonly #child: ChildProcess;
  /** Port on the loopback interface. */
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Starts the server and resolves when it listens. */
  static async start(): Promise<Probed> {
    const child = fork(SERVER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    return new Probed(child, (await newsOf(child, 'port')).port);
  }

  /** Deletes the recorded arrivals. */
  forget(): void {
    this.#tell('forget');
  }

  /** Returns the arrival times since {@link forget}. */
  async arrivals(): Promise<Arrivals> {
    const news = newsOf(this.#child, 'arrivals');
    this.#tell('tell');
    return (await news).arrivals;
  }

  [Symbol.dispose](): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #tell(order: ProbedOrder): void {
    this.#child.send(order);
  }
}

/** Waits for the server's next message. @throws Error if the server exits or sends another message */
async function newsOf<K extends 'port' | 'arrivals'>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<ProbedNews, Record<K, unknown>>> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`probed server exited with ${code}`);
  });
  // Without this handler, an exit after the message would be an unhandled rejection.
  ended.catch(() => {});
  const [news] = (await Promise.race([once(child, 'message'), ended])) as [ProbedNews];
  if (kind in news) return news as Extract<ProbedNews, Record<K, unknown>>;
  throw new Error(`wait for ${kind} of the probed server: received ${Object.keys(news).join()}`);
}
