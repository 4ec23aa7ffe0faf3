import { goCodeName } from '@node-agent/grpc';
import type { Span, Tracer } from '@node-agent/telemetry';
import { CriError } from './errors.ts';

/**
 * Starts the span of an RPC, with the name and the attributes of upstream's client (`otelgrpc` in
 * `k8s.io/cri-client/pkg/remote_runtime.go`). Upstream also records an event per message.
 * @param path `/runtime.v1.RuntimeService/RunPodSandbox`
 * @param serverAddress path of the runtime's socket, or its host
 */
export function beginSpan(tracer: Tracer, path: string, serverAddress: string): Span {
  const name = path.slice(1);
  return tracer.begin({
    name,
    kind: 'client',
    attributes: () => ({
      'rpc.system.name': 'grpc',
      'rpc.method': name,
      'server.address': serverAddress,
      'rpc.response.status_code': 'OK',
    }),
  });
}

/** Returns the path of a runtime's socket, or its host, from a gRPC target. */
export function serverAddress(target: string): string {
  return target.replace(/^unix:/, '').replace(/^dns:(.*):\d+$/, '$1');
}

/** Marks a span as failed, with the status code and the message of an error. */
export function failSpan(span: Span, error: unknown): void {
  if (!span.isRecording) return;
  const { code, details } = CriError.from(error);
  span.set({ 'rpc.response.status_code': goCodeName(code) });
  span.fail(details);
}
