// From packages/otlp/README.md, which explains the program.
import { consoleLogger, RecordingTracer } from '@node-agent/telemetry';
import { OtlpExporter } from '@node-agent/otlp';

const exporter = new OtlpExporter(
  { logger: consoleLogger() },
  { endpoint: 'localhost:4317', resource: { 'service.name': 'demo' }, scope: 'demo' },
);
const tracer = new RecordingTracer({ exporter }, { samplingRatePerMillion: 1_000_000 });
const ending = new AbortController();
const running = exporter.start(ending.signal);

await tracer.span({ name: 'work', attributes: () => ({ 'demo.step': 1 }) }, async () => {
  const request = tracer.begin({ name: 'GET /', kind: 'client' });
  console.log(request.headers); // { traceparent: '00-...-01' }: sent with the request
  request.end();
});
ending.abort();
await running;
