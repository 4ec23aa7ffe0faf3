import { rm } from 'node:fs/promises';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import {
  type ContainerEventResponse,
  type CriClient,
  CriError,
  grpcStatus,
  imageServiceRpcs,
  runtimeServiceRpcs,
} from '@node-agent/cri-client';
import { imageServiceDefinition, runtimeServiceDefinition } from '@node-agent/cri-client/service';
import { guardRequest, isOwnEvent } from './guard.ts';

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * CRI proxy between the kubelet and a runtime that other programs use too. The proxy separates the pods of the kubelet
 * from those of the other programs, see {@link guardRequest}.
 */
export class GuardServer {
  readonly #client: CriClient;
  readonly #run: string;
  readonly #socket: string;
  readonly #server = new Server({
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  });

  constructor(
    { client }: { readonly client: CriClient },
    { run, socket }: { readonly run: string; readonly socket: string },
  ) {
    this.#client = client;
    this.#run = run;
    this.#socket = socket;
  }

  async start(): Promise<void> {
    this.#server.addService(runtimeServiceDefinition, this.#handlers(runtimeServiceRpcs));
    this.#server.addService(imageServiceDefinition, this.#handlers(imageServiceRpcs));
    await rm(this.#socket, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.bindAsync(`unix:${this.#socket}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  }

  async close(): Promise<void> {
    this.#server.forceShutdown();
    await rm(this.#socket, { force: true });
  }

  #handlers(rpcs: Readonly<Record<string, { readonly stream: boolean }>>): UntypedServiceImplementation {
    const handlers: UntypedServiceImplementation = {};
    for (const [name, { stream }] of Object.entries(rpcs))
      handlers[name] = stream ? this.#stream(name) : this.#unary(name);
    return handlers;
  }

  #call(name: string, request: object, signal: AbortSignal): unknown {
    const method: unknown = Reflect.get(this.#client, name);
    if (typeof method !== 'function') throw new TypeError(`CRI client has no method ${name}`);
    return method.call(this.#client, guardRequest(name, request, this.#run), signal);
  }

  #unary(name: string) {
    return async (call: ServerUnaryCall<object, object>, answer: sendUnaryData<object>): Promise<void> => {
      const gone = new AbortController();
      call.on('cancelled', () => gone.abort());
      try {
        answer(null, (await this.#call(name, call.request, gone.signal)) as object);
      } catch (error) {
        answer(statusOf(error));
      }
    };
  }

  #stream(name: string) {
    return async (call: ServerWritableStream<object, object>): Promise<void> => {
      const gone = new AbortController();
      call.on('cancelled', () => gone.abort());
      call.sendMetadata(new Metadata());
      try {
        for await (const message of this.#call(name, call.request, gone.signal) as AsyncIterable<object>) {
          const foreign = name === 'getContainerEvents' && !isOwnEvent(message as ContainerEventResponse, this.#run);
          if (!foreign) call.write(message);
        }
        call.end();
      } catch (error) {
        if (!gone.signal.aborted) call.emit('error', statusOf(error));
      }
    };
  }
}

function statusOf(error: unknown): { code: number; details: string } {
  const { code, details } = CriError.from(error);
  return { code: grpcStatus(code), details };
}
