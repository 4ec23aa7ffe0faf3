import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Metadata, ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js';
import { type MethodDefinition, Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { type CriErrorCode, grpcStatus, type ImageService, type RuntimeService } from '../src/index.ts';
import { imageServiceDefinition, runtimeServiceDefinition } from '../src/service.ts';

type Services = RuntimeService & ImageService;

/** Handlers of RPCs. A handler returns a message, or several messages for a stream, or throws a {@link Failure}. */
export type Handlers = {
  readonly [Name in keyof Services]?: (
    request: Parameters<Services[Name]>[0],
    call: { readonly metadata: Metadata; readonly aborted: AbortSignal },
  ) => Promise<object> | AsyncIterable<object> | object;
};

/** An RPC's failure with a gRPC code. */
export class Failure extends Error {
  readonly code: number;
  readonly details: string;

  constructor(code: CriErrorCode, details: string) {
    super(details);
    this.code = grpcStatus(code);
    this.details = details;
  }
}

/** Creates a directory for the sockets of one test. */
export function socketDirectory(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'cri-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * Starts a gRPC server with the given RPCs; all other RPCs return UNIMPLEMENTED. `address` is a gRPC target such as
 * `unix:/path`.
 */
export async function serve(
  address: string,
  handlers: Handlers,
  rename: (path: string) => string = (path) => path,
): Promise<{ port: number; stop(): void }> {
  const server = new Server({ 'grpc.max_send_message_length': -1 });
  const calls = Object.entries({ ...runtimeServiceDefinition, ...imageServiceDefinition });
  const definition: Record<string, MethodDefinition<object, object>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [name, rpc] of calls) {
    const handler = Object.entries(handlers).find(([key]) => key === name)?.[1];
    if (handler === undefined) continue;
    definition[name] = { ...rpc, path: rename(rpc.path) } as MethodDefinition<object, object>;
    implementation[name] = rpc.responseStream ? streaming(handler) : unary(handler);
  }
  server.addService(definition, implementation);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { port, stop: () => server.forceShutdown() };
}

type Handler = (request: object, call: { metadata: Metadata; aborted: AbortSignal }) => unknown;

function unary(handler: unknown) {
  return async (call: ServerUnaryCall<object, object>, reply: sendUnaryData<object>): Promise<void> => {
    const { aborted, metadata } = context(call);
    try {
      reply(null, (await (handler as Handler)(call.request, { metadata, aborted })) as object);
    } catch (error) {
      reply(error as Error);
    }
  };
}

function streaming(handler: unknown) {
  return async (call: ServerWritableStream<object, object>): Promise<void> => {
    const { aborted, metadata } = context(call);
    try {
      for await (const message of (await (handler as Handler)(call.request, {
        metadata,
        aborted,
      })) as AsyncIterable<object>) {
        if (aborted.aborted) return;
        if (!call.write(message)) await new Promise((resolve) => call.once('drain', resolve));
      }
      call.end();
    } catch (error) {
      call.emit('error', error);
    }
  };
}

function context(call: { metadata: Metadata; on(event: 'cancelled', listener: () => void): unknown }) {
  const controller = new AbortController();
  call.on('cancelled', () => controller.abort());
  return { aborted: controller.signal, metadata: call.metadata };
}

/** Resolves when `signal` is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A complete response to Version. */
export const someVersion = { version: '0.1.0', runtimeName: 'fake', runtimeVersion: '9.9', runtimeApiVersion: 'v1' };
