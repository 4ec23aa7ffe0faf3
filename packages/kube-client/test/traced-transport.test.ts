import { type EndedSpan, RecordingTracer } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { tracedTransport } from '../src/traced-transport.ts';
import type { HttpRequest, HttpTransport } from '../src/transport.ts';

const request: HttpRequest = { method: 'GET', path: '/api/v1/pods?limit=1', headers: { 'user-agent': 'kubelet' } };

function traced(answer: HttpTransport['request'], samplingRatePerMillion = 1_000_000) {
  const ended: EndedSpan[] = [];
  const sent: HttpRequest[] = [];
  const tracer = new RecordingTracer(
    { exporter: { add: (span) => void ended.push(span) } },
    { samplingRatePerMillion },
  );
  const inner: HttpTransport = {
    request(given, signal) {
      sent.push(given);
      return answer(given, signal);
    },
  };
  return { ended, sent, transport: tracedTransport(inner, tracer, 'https://api.example:6443') };
}

async function* body() {
  yield new TextEncoder().encode('{}');
}

describe('tracing of requests to the API server', () => {
  it('a traced request to the API server is a client span that ends with the response body, and carries its trace context', async () => {
    const { ended, sent, transport } = traced(async () => ({ status: 200, headers: {}, body: body() }));
    const response = await transport.request(request);
    expect(ended).toEqual([]);
    for await (const _chunk of response.body);
    expect(ended).toMatchObject([
      {
        ...{ name: 'HTTP GET', kind: 'client' },
        attributes: {
          'http.request.method': 'GET',
          'url.full': 'https://api.example:6443/api/v1/pods?limit=1',
          'server.address': 'api.example',
          'server.port': 6443,
          'user_agent.original': 'kubelet',
          'http.response.status_code': 200,
        },
      },
    ]);
    const { traceId, spanId } = ended[0]?.context ?? {};
    expect(sent[0]?.headers).toEqual({ 'user-agent': 'kubelet', traceparent: `00-${traceId}-${spanId}-01` });
  });

  it('the span of a request has an error status for a response of 400 or more, and for a failed connection', async () => {
    const refused = traced(async () => ({ status: 409, headers: {}, body: body() }));
    for await (const _chunk of (await refused.transport.request(request)).body);
    expect(refused.ended).toMatchObject([{ error: '', attributes: { 'error.type': '409' } }]);
    const broken = traced(() => Promise.reject(new Error('connection reset')));
    await expect(broken.transport.request(request)).rejects.toThrow('connection reset');
    expect(broken.ended).toMatchObject([{ error: 'connection reset' }]);
  });

  it('if the trace is not sampled, the response body is passed on unchanged', async () => {
    const given = body();
    const { ended, sent, transport } = traced(async () => ({ status: 200, headers: {}, body: given }), 0);
    expect((await transport.request(request)).body).toBe(given);
    expect(sent[0]?.headers.traceparent).toMatch(/-00$/);
    expect(ended).toEqual([]);
  });
});
