import { GrpcError, type Handlers, type RpcTable, type Service, service } from '@node-agent/grpc';
import type { Logger } from '@node-agent/telemetry';
import { type CallLog, loggedRequest } from './call-log.ts';
import type { FaultGate } from './faults/fault-gate.ts';
import { requestProblem } from './rules/requests.ts';
import { type Call, check, fieldsOf } from './services/call.ts';

/** Bytes that are no message of any type: a field with an impossible wire type. */
const GARBAGE = Buffer.from('ffffffffffffffffffff', 'hex');
/** Marks a response that is sent as {@link GARBAGE}. */
const IS_GARBAGE = Symbol('garbage');

/** RPCs that change nothing, and may run beside another call for the same volume. */
const READ_ONLY = /^(Get|List|Probe|Validate|NodeGet|ControllerGet|GroupControllerGet)/;

/** Components of a {@link Dispatcher}. */
export interface DispatcherComponents {
  readonly gate: FaultGate;
  readonly callLog: CallLog;
  readonly logger: Logger;
  /** Current time in ms since 1970. */
  readonly now: () => number;
}

type AnyHandler = (request: never, call: Call) => Promise<object>;

/**
 * Wraps the handlers of all services: checks requests, admits one change of a volume at a time, injects faults, and
 * logs calls. As in most drivers, a call continues after its caller has given up.
 */
export class Dispatcher {
  readonly #components: DispatcherComponents;
  /** Volumes, snapshots and names that a call changes. */
  readonly #busy = new Set<string>();

  constructor(components: DispatcherComponents) {
    this.#components = components;
  }

  /** Returns a service for a gRPC server. */
  service<Rpcs extends RpcTable>(rpcs: Rpcs, handlers: { readonly [Name in keyof Rpcs]: unknown }): Service {
    const entries = Object.entries(rpcs).map(([name, rpc]) => {
      const handler = handlers[name as keyof Rpcs] as AnyHandler;
      return [name, (request: object) => this.#answer(rpc.name, request, handler)] as const;
    });
    return service(garbled(rpcs), Object.fromEntries(entries) as unknown as Handlers<Rpcs>);
  }

  async #answer(rpc: string, request: object, handler: AnyHandler): Promise<object> {
    const { callLog, now, logger } = this.#components;
    const startedAtMs = now();
    let code = 'OK';
    let details: string | undefined;
    try {
      return await this.#handle(rpc, request, handler);
    } catch (error) {
      // An error of a command or of the file system is reported as an internal error of the driver.
      const failure = GrpcError.is(error)
        ? error
        : new GrpcError({ code: 'INTERNAL', details: textOf(error), cause: error });
      ({ code, details } = failure);
      throw failure;
    } finally {
      const durationMs = now() - startedAtMs;
      const logged = loggedRequest(request);
      await callLog.add({
        startedAtMs,
        durationMs,
        rpc,
        request: logged,
        code,
        ...(details !== undefined && { details }),
      });
      if (details === undefined) logger.debug({ rpc, durationMs, request: JSON.stringify(logged) }, 'Answered call');
      else logger.warn({ rpc, durationMs, code, details }, 'Call failed');
    }
  }

  async #handle(rpc: string, request: object, handler: AnyHandler): Promise<object> {
    const { gate } = this.#components;
    const fields = fieldsOf(request);
    const volumeId = fields.volumeId ?? '';
    const key = READ_ONLY.test(rpc) ? '' : volumeId || fields.snapshotId || fields.name || '';
    if (key !== '' && this.#busy.has(key)) {
      throw new GrpcError({ code: 'ABORTED', details: `another call for ${key} has not ended` });
    }
    if (key !== '') this.#busy.add(key);
    try {
      const isGarbage = await gate.pass(rpc, volumeId, 'before');
      check(requestProblem(rpc, fields));
      const call = { middle: async () => void (await gate.pass(rpc, volumeId, 'middle')) };
      const response = await handler(request as never, call);
      return isGarbage || (await gate.pass(rpc, volumeId, 'after')) ? { [IS_GARBAGE]: true } : response;
    } finally {
      if (key !== '') this.#busy.delete(key);
    }
  }
}

/** Returns RPCs whose encoder writes {@link GARBAGE} for a marked response. */
function garbled<Rpcs extends RpcTable>(rpcs: Rpcs): Rpcs {
  const entries = Object.entries(rpcs).map(([name, rpc]) => {
    const { encode } = rpc.response;
    const response = {
      ...rpc.response,
      encode: (message: object) => (IS_GARBAGE in message ? GARBAGE : encode(message as never)),
    };
    return [name, { ...rpc, response }];
  });
  return Object.fromEntries(entries) as Rpcs;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
