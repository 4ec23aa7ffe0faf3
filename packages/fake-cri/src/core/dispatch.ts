import type { Clock } from '@node-agent/async';
import type { Init, StreamRpc, UnaryRpc } from '@node-agent/cri-client';
import type { RpcFault } from '../faults/fault.ts';
import type { FaultInjector } from '../faults/injector.ts';
import { spoil } from '../faults/nonsense.ts';
import { asCallError, failure } from './failure.ts';
import { cancelled, OpenCall, RuntimeLife } from './open-call.ts';
import { type Call, methodName, type RpcName } from './rpcs.ts';

/** Duration of a hanging call: 2 min, the default deadline of upstream's client. */
const HANG_TIMEOUT_MS = 120_000;

/** Passes calls through fault injection to their handlers, and ends all open calls when the runtime crashes. */
export class Dispatcher {
  readonly #clock: Clock;
  readonly #faults: FaultInjector;
  readonly #unimplemented: ReadonlySet<RpcName>;
  #life = new RuntimeLife();

  constructor(clock: Clock, faults: FaultInjector, unimplemented: readonly RpcName[]) {
    this.#clock = clock;
    this.#faults = faults;
    this.#unimplemented = new Set(unimplemented);
  }

  get down(): boolean {
    return this.#life.ended;
  }

  /** Ends every open call with `UNAVAILABLE` and refuses new calls. */
  crash(): void {
    this.#life.end(failure('UNAVAILABLE', 'error reading from server: EOF'));
  }

  recover(): void {
    this.#life = new RuntimeLife();
  }

  async unary<Req extends object, Res extends object>(
    rpc: UnaryRpc<Req, Res>,
    handler: (request: NoInfer<Req>, call: Call) => Promise<NoInfer<Init<Res>>>,
    request: NoInfer<Init<Req>>,
    signal: AbortSignal | undefined,
  ): Promise<Res> {
    try {
      const decoded = rpc.request.create(request);
      const name = methodName(rpc);
      this.#admit(name, signal);
      const fault = this.#faults.nextRpcFault(name, decoded);
      const perform = async (caller: AbortSignal | undefined): Promise<Res> =>
        rpc.response.create(await this.#inCall(caller, (call) => handler(decoded, call)));
      return fault === undefined ? await perform(signal) : await this.#faulty(fault, rpc, perform, signal);
    } catch (error) {
      throw asCallError(error, rpc.name);
    }
  }

  async *stream<Req extends object, Res extends object>(
    rpc: StreamRpc<Req, Res>,
    handler: (request: NoInfer<Req>, call: Call) => AsyncIterable<NoInfer<Init<Res>>>,
    request: NoInfer<Init<Req>>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Res> {
    using call = this.#begin(signal);
    try {
      const decoded = rpc.request.create(request);
      const name = methodName(rpc);
      this.#admit(name, signal);
      const fault = this.#faults.nextRpcFault(name, decoded);
      if (fault !== undefined) await this.#beforeStream(fault, call);
      for await (const message of handler(decoded, call)) {
        const answer = fault?.kind === 'nonsense' ? spoil(message, fault.nonsense) : message;
        yield rpc.response.create(answer as Init<Res>);
      }
    } catch (error) {
      throw asCallError(call.ended ? call.signal.reason : error, rpc.name);
    }
  }

  #admit(name: RpcName, signal: AbortSignal | undefined): void {
    if (signal?.aborted) throw cancelled(signal);
    if (this.down) throw failure('UNAVAILABLE', 'connection error: the runtime is not running');
    if (this.#unimplemented.has(name)) throw failure('UNIMPLEMENTED', `unknown method ${name}`);
  }

  async #faulty<Req, Res extends object>(
    fault: RpcFault,
    rpc: UnaryRpc<Req, Res>,
    perform: (caller: AbortSignal | undefined) => Promise<Res>,
    signal: AbortSignal | undefined,
  ): Promise<Res> {
    switch (fault.kind) {
      case 'error':
        throw failure(fault.code, fault.message ?? 'injected fault');
      case 'delay':
        await this.#inCall(signal, (call) => call.sleep(fault.delayMs));
        return perform(signal);
      case 'hang':
        return this.#inCall(signal, (call) => hang(call, fault.timeoutMs ?? HANG_TIMEOUT_MS));
      case 'lateSuccess': {
        const work = this.#inCall(undefined, (call) => call.sleep(fault.workDelayMs ?? 0)).then(() =>
          perform(undefined),
        );
        // The caller has already timed out, so the outcome is ignored.
        work.catch(() => {});
        return this.#inCall(signal, (call) => hang(call, fault.timeoutMs ?? 0));
      }
      case 'answerLost':
        await perform(signal);
        throw failure(fault.code ?? 'UNAVAILABLE', 'error reading from server: EOF');
      case 'nonsense':
        return rpc.response.create(spoil(await perform(signal), fault.nonsense) as Init<Res>);
    }
  }

  async #beforeStream(fault: RpcFault, call: Call): Promise<void> {
    if (fault.kind === 'error') throw failure(fault.code, fault.message ?? 'injected fault');
    if (fault.kind === 'delay') await call.sleep(fault.delayMs);
    else if (fault.kind === 'hang' || fault.kind === 'lateSuccess')
      await hang(call, fault.timeoutMs ?? HANG_TIMEOUT_MS);
    else if (fault.kind === 'answerLost') throw failure(fault.code ?? 'UNAVAILABLE', 'error reading from server: EOF');
  }

  async #inCall<T>(caller: AbortSignal | undefined, work: (call: Call) => Promise<T>): Promise<T> {
    using call = this.#begin(caller);
    call.throwIfEnded();
    return await call.unlessEnded(work(call));
  }

  #begin(caller: AbortSignal | undefined): OpenCall {
    return new OpenCall(this.#clock, this.#life, caller);
  }
}

async function hang(call: Call, timeoutMs: number): Promise<never> {
  if (timeoutMs === Number.POSITIVE_INFINITY) {
    await new Promise<never>((_, reject) => {
      call.signal.addEventListener('abort', () => reject(call.signal.reason), { once: true });
    });
  }
  await call.sleep(timeoutMs);
  throw failure('DEADLINE_EXCEEDED', 'context deadline exceeded');
}
