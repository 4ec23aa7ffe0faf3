import { type Clock, sleep } from '@node-agent/async';
import { CriError } from '@node-agent/cri-client';
import type { Call } from './rpcs.ts';

/** The period from one start of the runtime's process to its crash, which ends all its open calls. */
export class RuntimeLife {
  readonly #calls = new Set<OpenCall>();
  #ended: { readonly reason: unknown } | undefined;

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  get reason(): unknown {
    return this.#ended?.reason;
  }

  /** Ends every open call, oldest first. */
  end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason };
    for (const call of [...this.#calls]) call.end(reason);
  }

  add(call: OpenCall): void {
    this.#calls.add(call);
  }

  delete(call: OpenCall): void {
    this.#calls.delete(call);
  }
}

/**
 * An open call, until it is disposed of. The call ends early when its caller aborts or the runtime crashes. Most calls
 * finish immediately without using `signal`, so the signal is created lazily.
 */
export class OpenCall implements Call, Disposable {
  readonly #clock: Clock;
  readonly #life: RuntimeLife;
  readonly #caller: AbortSignal | undefined;
  readonly #onCaller = (): void => {
    if (this.#caller !== undefined) this.end(cancelled(this.#caller));
  };
  #ended: { readonly reason: unknown } | undefined;
  #onEnd: ((reason: unknown) => void) | undefined;
  #signal: AbortController | undefined;

  constructor(clock: Clock, life: RuntimeLife, caller: AbortSignal | undefined) {
    this.#clock = clock;
    this.#life = life;
    this.#caller = caller;
    life.add(this);
    caller?.addEventListener('abort', this.#onCaller, { once: true });
    if (life.ended) this.end(life.reason);
    else if (caller?.aborted) this.#onCaller();
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  get crashed(): boolean {
    return this.#life.ended;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#signal = new AbortController();
      if (this.#ended !== undefined) this.#signal.abort(this.#ended.reason);
    }
    return this.#signal.signal;
  }

  /** Throws if the call has ended early. @throws the reason why the call has ended early */
  throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#ended.reason;
  }

  /** Resolves with the result of `work`. Rejects with the reason if the call ends first. */
  unlessEnded<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // The rejection is delayed by a microtask, so that the result of work that is already complete is not lost.
      this.#onEnd = (reason) => queueMicrotask(() => reject(reason));
      if (this.#ended !== undefined) this.#onEnd(this.#ended.reason);
      work.then(resolve, reject);
    });
  }

  async sleep(ms: number, inner?: AbortSignal): Promise<void> {
    this.throwIfEnded();
    if (ms > 0) await sleepUnlessEither(this.#clock, ms, this.signal, inner);
  }

  end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason };
    this.#onEnd?.(reason);
    this.#signal?.abort(reason);
  }

  /** Marks the call as completed. Afterwards, neither the caller nor a crash of the runtime can end the call. */
  [Symbol.dispose](): void {
    this.#life.delete(this);
    this.#caller?.removeEventListener('abort', this.#onCaller);
  }
}

async function sleepUnlessEither(clock: Clock, ms: number, call: AbortSignal, inner?: AbortSignal): Promise<void> {
  if (inner === undefined) return sleep(clock, ms, call);
  const either = new AbortController();
  const onCall = (): void => either.abort(call.reason);
  const onInner = (): void => either.abort(inner.reason);
  call.addEventListener('abort', onCall, { once: true });
  inner.addEventListener('abort', onInner, { once: true });
  if (inner.aborted) onInner();
  try {
    await sleep(clock, ms, either.signal);
  } finally {
    call.removeEventListener('abort', onCall);
    inner.removeEventListener('abort', onInner);
  }
}

/** Returns the error of a call whose caller has aborted it. */
export function cancelled(signal: AbortSignal): CriError {
  const { reason } = signal;
  if (CriError.is(reason)) return reason;
  return new CriError({ rpc: '', code: 'CANCELLED', details: 'context canceled', cause: reason });
}
