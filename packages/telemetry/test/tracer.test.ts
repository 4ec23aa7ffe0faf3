import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type EndedSpan,
  formatTraceparent,
  noTracer,
  parseTraceparent,
  RecordingTracer,
  spanContextOf,
} from '../src/index.ts';
import { isSampled } from '../src/sampling.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

describe('traceparent', () => {
  it.each<[header: string, sampled: boolean | undefined]>([
    [`00-${trace}-${span}-01`, true],
    [`00-${trace}-${span}-00`, false],
    [`00-${trace}-${span}-03`, true],
    [`01-${trace}-${span}-01-what-comes`, true],
    [`00-${trace}-${span}-01-more`, undefined],
    [`ff-${trace}-${span}-01`, undefined],
    [`00-${'0'.repeat(32)}-${span}-01`, undefined],
    [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
    [`00-${trace.toUpperCase()}-${span}-01`, undefined],
    [`00-${trace}-${span}`, undefined],
    ['', undefined],
  ])('the traceparent header "%s" has the sampled flag %s (undefined if the header is invalid)', (header, sampled) => {
    expect(parseTraceparent(header)).toEqual(
      sampled === undefined ? undefined : { traceId: trace, spanId: span, sampled },
    );
  });

  it('spanContextOf drops a tracestate that is too long or has control characters, and keeps the trace', () => {
    const traceparent = `00-${trace}-${span}-01`;
    expect(spanContextOf({ traceparent, tracestate: 'a=b' })).toMatchObject({ traceId: trace, tracestate: 'a=b' });
    for (const tracestate of ['x'.repeat(513), 'a=b\n', ['a=b']]) {
      expect(spanContextOf({ traceparent, tracestate })).toEqual({ traceId: trace, spanId: span, sampled: true });
    }
    expect(spanContextOf({ tracestate: 'a=b' })).toBeUndefined();
    expect(spanContextOf({ traceparent: [traceparent] })).toBeUndefined();
  });

  it('a span has headers that are parsed to the same trace', () => {
    fc.assert(
      fc.property(fc.nat(), fc.boolean(), (seed, sampled) => {
        const tracer = new RecordingTracer(
          { exporter: { add() {} }, random: seededRandom(seed) },
          { samplingRatePerMillion: sampled ? 1e6 : 0 },
        );
        const { traceparent = '' } = tracer.begin({ name: 'x' }).headers ?? {};
        const context = parseTraceparent(traceparent);
        if (context === undefined) throw new Error(`not valid: ${traceparent}`);
        expect(context.sampled).toBe(sampled);
        expect(formatTraceparent(context)).toBe(traceparent);
      }),
    );
  });
});

describe('sampling of traces', () => {
  it.each([
    ['f'.repeat(32), 999_999, false],
    ['f'.repeat(32), 1_000_000, true],
    ['0'.repeat(31) + 1, 0, false],
    ['0'.repeat(31) + 1, 1, true],
    [`${'0'.repeat(16)}8${'0'.repeat(15)}`, 500_000, false],
    [`${'f'.repeat(16)}7${'f'.repeat(15)}`, 500_000, true],
  ])('the trace %s is sampled at a rate of %i per million: %s', (traceId, rate, expected) => {
    expect(isSampled(traceId, rate)).toBe(expected);
  });

  it('RecordingTracer samples the configured share of new traces', () => {
    const exporter = { add() {} };
    const tracer = new RecordingTracer({ exporter, random: seededRandom(7) }, { samplingRatePerMillion: 250_000 });
    const sampled = Array.from({ length: 4_000 }, () => tracer.begin({ name: 'x' }).isRecording).filter(Boolean);
    expect(sampled.length / 4_000).toBeCloseTo(0.25, 1);
  });
});

describe('RecordingTracer', () => {
  const setUp = (samplingRatePerMillion = 1_000_000) => {
    const ended: EndedSpan[] = [];
    const clock = new FakeClock();
    const exporter = { add: (each: EndedSpan) => void ended.push(each) };
    const tracer = new RecordingTracer({ exporter, clock, random: seededRandom(1) }, { samplingRatePerMillion });
    return { ended, clock, tracer };
  };

  it('RecordingTracer keeps the span of each operation across awaits, so that spans started there are its children', async () => {
    const { ended, tracer } = setUp();
    const work = (name: string) =>
      tracer.span({ name }, async () => {
        await new Promise((resolve) => setImmediate(resolve));
        tracer.begin({ name: `${name} child`, kind: 'client' }).end();
      });
    await Promise.all([work('a'), work('b')]);
    tracer.begin({ name: 'outside' }).end();
    const of = (name: string) => ended.find((each) => each.name === name);
    for (const name of ['a', 'b']) {
      expect(of(`${name} child`)?.context.traceId).toBe(of(name)?.context.traceId);
      expect(of(`${name} child`)?.parentSpanId).toBe(of(name)?.context.spanId);
    }
    expect(of('a')?.context.traceId).not.toBe(of('b')?.context.traceId);
    expect(of('outside')?.parentSpanId).toBeUndefined();
  });

  it('RecordingTracer records times, attributes and the error of work that fails', async () => {
    const { ended, clock, tracer } = setUp();
    const failing = tracer.span(
      { name: 'syncPod', attributes: () => ({ 'k8s.pod.name': 'web', absent: undefined }) },
      async (current) => {
        current.set({ attempt: 2 });
        await clock.advance(1_500);
        throw new Error('no image');
      },
    );
    await expect(failing).rejects.toThrow('no image');
    expect(ended).toMatchObject([
      { name: 'syncPod', kind: 'internal', attributes: { 'k8s.pod.name': 'web', attempt: 2 }, error: 'no image' },
    ]);
    expect((ended[0]?.endMs ?? 0) - (ended[0]?.startMs ?? 0)).toBe(1_500);
    expect(Object.keys(ended[0]?.attributes ?? {})).not.toContain('absent');
  });

  it('RecordingTracer keeps at most 2,048 characters of an attribute and of an error', () => {
    const { ended, tracer } = setUp();
    const long = 'é'.repeat(5_000);
    const recorded = tracer.begin({ name: 'x', attributes: () => ({ 'url.path': long, short: 'a', port: 1 }) });
    recorded.set({ later: long });
    recorded.fail(long);
    recorded.end();
    const kept = 'é'.repeat(2_048);
    expect(ended).toMatchObject([{ attributes: { 'url.path': kept, later: kept, short: 'a', port: 1 }, error: kept }]);
  });

  it('an attribute that is a slice of a long string does not keep the long string in memory', () => {
    const { ended, tracer } = setUp();
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const heapBytes = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = heapBytes();
    for (let i = 0; i < 30; i++) {
      const text = Buffer.alloc(1_000_000, `${i}-`).toString('latin1');
      tracer.begin({ name: 'x', attributes: () => ({ part: text.slice(1, 100) }) }).end();
    }
    expect(heapBytes() - before).toBeLessThan(10_000_000);
    expect(ended).toHaveLength(30);
  });

  it("a span follows the sampling decision of its remote parent, and passes the parent's tracestate on", () => {
    const { ended, tracer } = setUp(0);
    const parent = { traceId: trace, spanId: span, sampled: true, tracestate: 'a=b' };
    const sampled = tracer.begin({ name: 'x', parent });
    expect(sampled.headers).toMatchObject({ traceparent: expect.stringContaining(trace), tracestate: 'a=b' });
    sampled.end();
    sampled.end();
    expect(ended).toMatchObject([{ parentSpanId: span, context: { traceId: trace } }]);
    const all = setUp(1_000_000);
    expect(all.tracer.begin({ name: 'x', parent: { ...parent, sampled: false } }).isRecording).toBe(false);
  });

  it('a span that is not sampled does not compute its attributes, and still has the headers of its trace', () => {
    const { ended, tracer } = setUp(0);
    const attributes = (): never => {
      throw new Error('asked');
    };
    const unsampled = tracer.begin({ name: 'x', attributes });
    unsampled.end();
    expect(unsampled.headers?.traceparent).toMatch(/-00$/);
    expect(ended).toEqual([]);
  });

  it('RecordingTracer creates no ID of only zeros', () => {
    const tracer = new RecordingTracer({ exporter: { add() {} }, random: { next: () => 0 } });
    const { headers } = tracer.begin({ name: 'x' });
    expect(headers?.traceparent).toBe(`00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-00`);
  });

  it('noTracer calls the work and passes no headers', async () => {
    expect(await noTracer.span({ name: 'x' }, async ({ headers }) => [headers])).toEqual([undefined]);
    expect(noTracer.begin({ name: 'x' }).headers).toBeUndefined();
  });
});
