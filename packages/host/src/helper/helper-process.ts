import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { systemError } from '../system-error.ts';
import {
  fromHelperError,
  type HelperCallName,
  type HelperCalls,
  type HelperRequest,
  type HelperResponse,
} from './protocol.ts';

/** A process that does what may never return. */
export interface Helper {
  /**
   * @param onProgress called now and then while a long call goes on
   * @throws the system's error; ESRCH where the helper has ended, before it or meanwhile
   */
  call<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    onProgress?: () => void,
  ): Promise<HelperCalls[Name]['value']>;
  /** Ends it at once, where the system lets it end. */
  kill(): void;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: (() => void) | undefined;
}

/** Little memory, and a thread for each of many calls that may hang at once. */
const NODE_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=64', '--disable-warning=ExperimentalWarning'];
export const HELPER_THREADS = 32;

/** Starts a helper process from this package's own program. It keeps this process from ending only while it is asked something. */
export function startHelper(threads: number = HELPER_THREADS): Helper {
  return new HelperProcess(threads);
}

class HelperProcess implements Helper {
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #count = 0;
  #hasEnded = false;

  constructor(threads: number) {
    // Beside this file's directory, in the sources as in what is built of them.
    const isSource = import.meta.url.endsWith('.ts');
    const program = fileURLToPath(new URL(isSource ? '../helper.ts' : './helper.js', import.meta.url));
    const child = spawn(process.execPath, [...NODE_FLAGS, program], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { UV_THREADPOOL_SIZE: String(threads), LC_ALL: 'C' },
      cwd: '/',
    });
    this.#child = child;
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#hasEnded = true;
        resolve();
        for (const { reject } of this.#waiting.values()) reject(hasEnded());
      };
      // A child that cannot be started has no `exit`.
      child.on('error', end);
      child.on('exit', end);
    });
    child.on('message', (response: HelperResponse) => this.#onMessage(response));
    this.#hold(false);
  }

  async call<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    onProgress?: () => void,
  ): Promise<HelperCalls[Name]['value']> {
    if (this.#hasEnded || !this.#child.connected) throw hasEnded();
    const id = this.#count++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject, onProgress });
    this.#hold(true);
    try {
      this.#child.send({ id, name, args } satisfies HelperRequest, (error) => error && reject(hasEnded()));
      return (await promise) as HelperCalls[Name]['value'];
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#hold(false);
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #onMessage(response: HelperResponse): void {
    const waiting = this.#waiting.get(response.id);
    if (waiting === undefined) return;
    if ('progress' in response) waiting.onProgress?.();
    else if ('error' in response) waiting.reject(fromHelperError(response.error));
    else waiting.resolve(response.value);
  }

  /** Whether the child keeps this process from ending. */
  #hold(on: boolean): void {
    const { channel } = this.#child;
    if (on) {
      this.#child.ref();
      channel?.ref();
    } else {
      this.#child.unref();
      channel?.unref();
    }
  }
}

function hasEnded(): Error {
  return systemError('ESRCH', 'call', 'helper', 'the helper process has ended');
}
