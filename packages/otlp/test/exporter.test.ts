import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, seededRandom, systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { type EndedSpan, RecordingTracer } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Collector } from '../src/collector.ts';
import { OtlpExporter } from '../src/index.ts';
import { nextAttemptMs } from '../src/retry-rule.ts';
import { collectorTarget } from '../src/target.ts';

const span = (name: string): EndedSpan => ({
  context: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', sampled: true },
  ...{ name, kind: 'internal', startMs: 1_700_000_000_000.25, endMs: 1_700_000_000_001, attributes: {} },
});
const options = { resource: { 'service.name': 'kubelet', 'host.name': 'n1' }, scope: 'kubelet' };

const cleanUps: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function running<C extends Clock = FakeClock>(endpoint: string, clock: C = new FakeClock() as Clock as C) {
  const { logger, lines } = captureLogger();
  const exporter = new OtlpExporter({ clock, logger }, { ...options, endpoint });
  const ending = new AbortController();
  const ended = exporter.start(ending.signal);
  const stop = async (): Promise<void> => {
    ending.abort();
    await ended;
  };
  cleanUps.push(stop);
  return { exporter, clock, lines, stop };
}

async function collecting(at?: { path: string }) {
  const collector = new Collector();
  cleanUps.push(() => collector.close());
  return { collector, endpoint: await collector.listen(at) };
}

/** Waits for real I/O, for long enough on a busy machine. */
const eventually = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 15_000 });

describe('OtlpExporter', () => {
  it('sends the spans of a trace 5 s after the first one, with all their fields', async () => {
    const { collector, endpoint } = await collecting();
    const { exporter, clock } = running(endpoint);
    const tracer = new RecordingTracer(
      { exporter, clock, random: seededRandom(1) },
      { samplingRatePerMillion: 1_000_000 },
    );
    const link = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), sampled: true };
    const attributes = () => ({ text: 'a', number: -1, large: 2 ** 40, yes: true });
    const failing = tracer.span({ name: 'syncPod', attributes, link }, async () => {
      tracer.begin({ name: 'runtime.v1.RuntimeService/RunPodSandbox', kind: 'client' }).end();
      throw new Error('no sandbox');
    });
    await expect(failing).rejects.toThrow('no sandbox');
    await clock.advance(4_999);
    expect(collector.requests).toEqual([]);
    await clock.advance(1);
    await eventually(() => expect(collector.requests).toEqual([{ path: PATH, spans: 2 }]));
    const [child, root] = collector.spans;
    expect(root).toMatchObject({
      ...{ name: 'syncPod', kind: 1, parentSpanId: '', error: 'no sandbox', events: ['exception'], scope: 'kubelet' },
      attributes: { text: 'a', number: -1, yes: true },
      resource: options.resource,
      linkedTraceIds: ['c'.repeat(32)],
    });
    expect(child).toMatchObject({ kind: 3, traceId: root?.traceId, parentSpanId: root?.spanId, error: undefined });
    expect(root?.startNs).toBe(BigInt(Math.round(clock.now() - 5_000)) * 1_000_000n);
  });

  it('sends a full batch at once, over a unix socket, and the rest when the program ends', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'otlp-'));
    cleanUps.push(() => rmSync(directory, { recursive: true }));
    const { collector, endpoint } = await collecting({ path: join(directory, 'c.sock') });
    const { exporter, stop } = running(endpoint);
    for (let i = 0; i < 515; i++) exporter.add(span(`s${i}`));
    await eventually(() => expect(collector.requests).toEqual([{ path: PATH, spans: 512 }]));
    await stop();
    expect(collector.spans.at(-1)?.name).toBe('s514');
    expect(collector.spans[0]).toMatchObject({ startNs: 1_700_000_000_000_250_000n });
  });

  it('keeps 2,048 spans while the collector is unreachable, and later logs the number of dropped spans', async () => {
    const { collector, endpoint } = await collecting();
    collector.status = 14;
    const { exporter, clock, lines } = running(endpoint);
    for (let i = 0; i < 5_000; i++) exporter.add(span('s'));
    await eventually(() => expect(collector.requests.length).toBe(1));
    expect(exporter.queued).toBeLessThanOrEqual(2_048);
    collector.status = 0;
    await eventually(async () => {
      await clock.advance(5_000);
      expect(collector.spans.length).toBe(2_048);
    });
    const warnings = lines.filter(({ level, message }) => level === 'warn' && message.startsWith('Unable to send'));
    expect(warnings).toHaveLength(1);
    expect(lines.find(({ message }) => message.startsWith('Dropped'))?.fields.spans).toBe(5_000 - 2_048);
  });

  it('drops a batch that the collector refuses, and stops within a second while the collector hangs', async () => {
    const { collector, endpoint } = await collecting();
    collector.status = 3;
    const { exporter, clock, stop } = running(endpoint);
    exporter.add(span('refused'));
    await eventually(async () => {
      await clock.advance(5_000);
      expect(collector.requests.length).toBe(1);
    });
    collector.status = 0;
    collector.hangs = true;
    const hanging = running(endpoint, systemClock);
    for (let i = 0; i < 512; i++) hanging.exporter.add(span('kept'));
    const from = performance.now();
    await hanging.stop();
    expect(performance.now() - from).toBeLessThan(5_000);
    await stop();
  });
});

describe('retry rule and collector address of the exporter', () => {
  it.each([
    ['UNAVAILABLE', 1, 0, 5_000],
    ['UNAVAILABLE', 3, 20_000, 11_250],
    ['UNAVAILABLE', 9, 20_000, 30_000],
    ['UNAVAILABLE', 9, 31_000, undefined],
    ['INVALID_ARGUMENT', 1, 0, undefined],
    ['UNIMPLEMENTED', 1, 0, undefined],
    ['RESOURCE_EXHAUSTED', 1, 0, undefined],
  ] as const)(
    'after the gRPC code %s in attempt %i, %i ms after the first attempt, the exporter waits %s ms',
    (code, attempt, sinceMs, expected) => {
      expect(nextAttemptMs(code, attempt, sinceMs)).toBe(expected);
    },
  );

  it.each([
    [undefined, 'dns:localhost:4317'],
    ['otel:4317', 'dns:otel:4317'],
    ['dns:///otel:4317', 'dns:otel:4317'],
    ['dns://8.8.8.8/otel:4317', 'dns:otel:4317'],
    ['dns:otel:4317', 'dns:otel:4317'],
    ['unix:///run/otel.sock', 'unix:/run/otel.sock'],
    ['unix:/run/otel.sock', 'unix:/run/otel.sock'],
  ])('the endpoint %s is the gRPC target %s', (endpoint, target) => {
    expect(collectorTarget(endpoint)).toBe(target);
  });

  it('an endpoint that is an abstract socket is rejected', () => {
    expect(() => collectorTarget('unix-abstract:otel')).toThrow('abstract sockets are not supported');
  });
});

const PATH = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
