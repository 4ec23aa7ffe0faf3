import { seededRandom } from '@node-agent/async';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTraceparent, parseTraceparent, Tracer } from '../src/index.ts';

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
  ])('parses the traceparent header %s', (header, sampled) => {
    expect(parseTraceparent(header)).toEqual(
      sampled === undefined ? undefined : { traceId: trace, spanId: span, sampled },
    );
  });

  it('a formatted traceparent header is parsed to the same value', () => {
    fc.assert(
      fc.property(fc.nat(), fc.boolean(), (seed, sampled) => {
        const tracer = new Tracer({ random: seededRandom(seed) }, { samplingRatePerMillion: sampled ? 1e6 : 0 });
        const context = tracer.run(() => tracer.current());
        if (context === undefined) throw new Error('no span');
        expect(context.sampled).toBe(sampled);
        expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
      }),
    );
  });
});

describe('Tracer', () => {
  it('the tracer keeps the span of each operation across awaits, and has none outside', async () => {
    const tracer = new Tracer({ random: seededRandom(1) });
    const work = async (): Promise<string | undefined> => {
      const before = tracer.traceContext()?.traceparent;
      await new Promise((resolve) => setImmediate(resolve));
      expect(tracer.traceContext()?.traceparent).toBe(before);
      return before;
    };
    const [a, b] = await Promise.all([tracer.run(work), tracer.run(work)]);
    expect(a).not.toBe(b);
    expect([tracer.current(), tracer.traceContext()]).toEqual([undefined, undefined]);
  });

  it('a span belongs to the current trace, or to the trace of a remote parent', () => {
    const tracer = new Tracer({ random: seededRandom(1) });
    tracer.run(() => {
      const outer = tracer.current();
      tracer.run(() => {
        expect(tracer.current()?.traceId).toBe(outer?.traceId);
        expect(tracer.current()?.spanId).not.toBe(outer?.spanId);
      });
    });
    const parent = { traceId: trace, spanId: span, sampled: true };
    expect(tracer.run(() => tracer.current(), parent)).toMatchObject({ traceId: trace, sampled: true });
  });

  it('the tracer samples the configured share of new traces, and creates no ID of only zeros', () => {
    const random = seededRandom(7);
    const tracer = new Tracer({ random }, { samplingRatePerMillion: 250_000 });
    const sampled = Array.from({ length: 4_000 }, () => tracer.run(() => tracer.current()?.sampled)).filter(Boolean);
    expect(sampled.length / 4_000).toBeCloseTo(0.25, 1);
    const zero = new Tracer({ random: { next: () => 0 } });
    expect(zero.run(() => zero.traceContext())?.traceparent).toBe(`00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-00`);
  });
});
