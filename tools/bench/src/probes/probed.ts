import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Arrivals } from './arrivals.ts';
import type { ProbedNews, ProbedOrder } from './probed-server.ts';

const SERVER = fileURLToPath(new URL('./probed-server.ts', import.meta.url));

/** The server that probes of a turn ask, in a process of its own. */
export class Probed implements Disposable {
  readonly #child: ChildProcess;
  /** On the loopback. */
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Starts it; resolves when it listens. */
  static async start(): Promise<Probed> {
    const child = fork(SERVER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    return new Probed(child, (await newsOf(child, 'port')).port);
  }

  /** From now on it notes only what comes. */
  forget(): void {
    this.#tell('forget');
  }

  /** When what came since {@link forget} came. */
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

/** What the server says next. @throws where it ends instead, or says something else */
async function newsOf<K extends 'port' | 'arrivals'>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<ProbedNews, Record<K, unknown>>> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the server that is probed has ended with ${code}`);
  });
  // Whoever is not waited for any more may end as it likes.
  ended.catch(() => {});
  const [news] = (await Promise.race([once(child, 'message'), ended])) as [ProbedNews];
  if (kind in news) return news as Extract<ProbedNews, Record<K, unknown>>;
  throw new Error(`the server that is probed was to say its ${kind}, and said ${Object.keys(news).join()}`);
}
