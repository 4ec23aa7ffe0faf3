import { type ChildProcess, spawn } from 'node:child_process';
import { systemError } from '../system-error.ts';
import { helperProgram } from './helper-program.ts';
import {
  fromHelperError,
  type HelperCallName,
  type HelperCalls,
  type HelperRequest,
  type HelperResponse,
} from './protocol.ts';

/** A process for calls that may never return. */
export interface Helper {
  /**
   * @param onProgress called repeatedly while a long call is making progress
   * @throws the system's error
   * @throws ESRCH if the helper exits before or during the call
   */
  call<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    onProgress?: () => void,
  ): Promise<HelperCalls[Name]['value']>;
  /** Kills the process. */
  kill(): void;
  /** Resolves when the process has exited. */
  readonly ended: Promise<void>;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: (() => void) | undefined;
}

/** Number of threads of a helper process: one for each call that may hang at the same time. */
export const HELPER_THREADS = 32;

/**
 * Starts a helper process from this package's own program. The helper keeps this process alive only while a call is in
 * progress.
 */
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
    const { file, args, environment } = helperProgram();
    const child = spawn(file, args, {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...environment, UV_THREADPOOL_SIZE: String(threads), LC_ALL: 'C' },
      cwd: '/',
    });
    this.#child = child;
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#hasEnded = true;
        resolve();
        for (const { reject } of this.#waiting.values()) reject(hasEnded());
      };
      // A child that cannot be started emits no `exit` event.
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

  /** Sets whether the child keeps this process alive. */
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
  return systemError('ESRCH', 'call', 'helper', 'the helper process has exited');
}
