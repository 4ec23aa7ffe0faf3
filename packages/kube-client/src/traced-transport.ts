import type { Span, Tracer } from '@node-agent/telemetry';
import type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';

/**
 * Returns a transport that creates a span for each request and sends the span's context with it. The span is named
 * `HTTP GET`, has the kind client, and the attributes of upstream's transport (`otelhttp`, through
 * `k8s.io/component-base/tracing: WrapperFor`). The span ends with the body of the response.
 * @param server the address of the API server
 */
export function tracedTransport(transport: HttpTransport, tracer: Tracer, server: string): HttpTransport {
  const { origin, protocol, hostname, port } = new URL(server);
  const serverPort = Number(port) || (protocol === 'http:' ? 80 : 443);
  return {
    async request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
      const span = tracer.begin({
        name: `HTTP ${request.method}`,
        kind: 'client',
        attributes: () => ({
          'http.request.method': request.method,
          'url.full': `${origin}${request.path}`,
          'server.address': hostname,
          'server.port': serverPort,
          'user_agent.original': request.headers['user-agent'],
        }),
      });
      try {
        const headers = { ...request.headers, ...span.headers };
        const response = await transport.request({ ...request, headers }, signal);
        const { status } = response;
        span.set({ 'http.response.status_code': status, ...(status >= 400 && { 'error.type': String(status) }) });
        if (status >= 400) span.fail('');
        return span.isRecording ? { ...response, body: untilRead(response.body, span) } : response;
      } catch (error) {
        span.fail(error instanceof Error ? error.message : String(error));
        span.end();
        throw error;
      }
    },
  };
}

async function* untilRead(body: AsyncIterable<Uint8Array>, span: Span): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    span.fail(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    span.end();
  }
}
