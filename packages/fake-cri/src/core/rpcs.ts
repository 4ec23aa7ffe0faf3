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

/** The name of an RPC as the services' methods have it: `runPodSandbox`, `pullImage`. */
export type RpcName = keyof RuntimeService | keyof ImageService;

/** Every RPC of both services. */
export const rpcs: Rpcs = { ...runtimeServiceRpcs, ...imageServiceRpcs };

const NAMES = new Map<object, RpcName>(Object.entries(rpcs).map(([name, rpc]) => [rpc, name as RpcName]));

/** The method that an RPC of {@link rpcs} has. */
export function methodName(rpc: { readonly name: string }): RpcName {
  const name = NAMES.get(rpc);
  if (name === undefined) throw new TypeError(`${rpc.name} is not an RPC of CRI`);
  return name;
}

/** One call, as far as its handler cares. */
export interface Call {
  /** Aborted when the caller has gone or the runtime has crashed. */
  readonly signal: AbortSignal;
  /** Whether it is the runtime that has gone. */
  readonly crashed: boolean;
  /** Lets time pass. @throws what ends the call, or the reason of `signal` where that is given and aborted first */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

type Handler<R> =
  R extends StreamRpc<infer Req, infer Res>
    ? (request: Req, call: Call) => AsyncIterable<Init<Res>>
    : R extends UnaryRpc<infer Req, infer Res>
      ? (request: Req, call: Call) => Promise<Init<Res>>
      : never;

/** What answers each RPC. */
export type Handlers = { readonly [K in RpcName]: Handler<Rpcs[K]> };
