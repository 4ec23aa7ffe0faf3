import {
  type ImageService,
  type Init,
  imageServiceRpcs,
  type RuntimeService,
  runtimeServiceRpcs,
  type StreamRpc,
  type UnaryRpc,
} from '@node-agent/cri-client';

type Rpcs = typeof runtimeServiceRpcs & typeof imageServiceRpcs;

/** Name of an RPC in the spelling of the service methods: `runPodSandbox`, `pullImage`. */
export type RpcName = keyof RuntimeService | keyof ImageService;

/** All RPCs of both services. */
export const rpcs: Rpcs = { ...runtimeServiceRpcs, ...imageServiceRpcs };

const NAMES = new Map<object, RpcName>(Object.entries(rpcs).map(([name, rpc]) => [rpc, name as RpcName]));

/** Returns the method name of an RPC of {@link rpcs}. */
export function methodName(rpc: { readonly name: string }): RpcName {
  const name = NAMES.get(rpc);
  if (name === undefined) throw new TypeError(`RPC ${rpc.name}: must be an RPC of CRI`);
  return name;
}

/** An RPC call, as its handler sees it. */
export interface Call {
  /** Aborted when the caller has aborted or the runtime has crashed. */
  readonly signal: AbortSignal;
  /** Whether the call has ended because the runtime crashed. */
  readonly crashed: boolean;
  /**
   * Waits.
   * @throws the reason why the call has ended, or the reason of `signal` if `signal` is aborted first
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

type Handler<R> =
  R extends StreamRpc<infer Req, infer Res>
    ? (request: Req, call: Call) => AsyncIterable<Init<Res>>
    : R extends UnaryRpc<infer Req, infer Res>
      ? (request: Req, call: Call) => Promise<Init<Res>>
      : never;

/** The handler of each RPC. */
export type Handlers = { readonly [K in RpcName]: Handler<Rpcs[K]> };
