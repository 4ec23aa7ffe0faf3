import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CpuRates, type CpuSample, usageNanoCores } from '../src/cpu-rates.ts';

const S = 1e9;

describe('usageNanoCores', () => {
  it.each<[string, CpuSample, CpuSample, number | undefined]>([
    ['half a CPU', { usageNs: 0, atNs: 0 }, { usageNs: 5 * S, atNs: 10 * S }, S / 2],
    ['an unchanged counter', { usageNs: 7, atNs: 0 }, { usageNs: 7, atNs: 10 * S }, 0],
    ['a counter that decreased', { usageNs: 7, atNs: 0 }, { usageNs: 6, atNs: 10 * S }, undefined],
    ['two samples with the same time', { usageNs: 7, atNs: 5 }, { usageNs: 8, atNs: 5 }, undefined],
    ['a time that decreased', { usageNs: 7, atNs: 5 }, { usageNs: 8, atNs: 4 }, undefined],
    ['a usage above all CPUs', { usageNs: 0, atNs: 0 }, { usageNs: 50 * S, atNs: 10 * S }, undefined],
    ['readings too far apart', { usageNs: 0, atNs: 0 }, { usageNs: S, atNs: 601 * S }, undefined],
    ['NaN', { usageNs: Number.NaN, atNs: 0 }, { usageNs: 1, atNs: 10 }, undefined],
  ])('usageNanoCores for %s returns $3', (_what, before, now, expected) => {
    expect(usageNanoCores(before, now, 2)).toBe(expected);
  });

  it("usageNanoCores is never negative and never above the machine's CPUs, for any samples", () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(Number.POSITIVE_INFINITY, -1, 0, 2 ** 64));
    const sample = fc.record({ usageNs: number, atNs: number });
    fc.assert(
      fc.property(sample, sample, fc.integer({ min: 1, max: 512 }), (before, now, cpus) => {
        const rate = usageNanoCores(before, now, cpus);
        if (rate === undefined) return;
        expect(rate).toBeGreaterThanOrEqual(0);
        expect(rate).toBeLessThanOrEqual(2 * cpus * 1e9);
      }),
    );
  });
});

describe('CpuRates', () => {
  const steps = fc.array(
    fc.record({ usedNs: fc.integer({ min: -S, max: 20 * S }), passedMs: fc.integer({ min: 0, max: 60_000 }) }),
    { maxLength: 30 },
  );

  it('CPU rates of a growing counter stay between the smallest and the largest rate of its steps', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const clock = new FakeClock();
        const rates = new CpuRates({ clock });
        rates.cpus = 64;
        let usageNs = 0;
        for (const { usedNs, passedMs } of list) {
          await clock.advance(passedMs);
          usageNs = Math.max(0, usageNs + usedNs);
          const rate = rates.update('a', { usageNs, atNs: clock.monotonic() * 1e6 });
          if (rate !== undefined) expect(rate).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  it('CpuRates keeps the last CPU rate if readings follow each other too quickly', () => {
    const rates = new CpuRates({ clock: new FakeClock() });
    expect(rates.update('a', { usageNs: 0, atNs: 0 })).toBeUndefined();
    expect(rates.update('a', { usageNs: S / 2, atNs: 0.9 * S })).toBeUndefined();
    expect(rates.update('a', { usageNs: S, atNs: 2 * S })).toBe(S / 2);
    expect(rates.update('a', { usageNs: S + 5, atNs: 2.5 * S })).toBe(S / 2);
    expect(rates.update('a', { usageNs: S, atNs: 4 * S })).toBe(0);
  });

  it('CpuRates restarts the CPU rate when the counter decreases, even shortly after the previous reading', () => {
    const rates = new CpuRates({ clock: new FakeClock() });
    rates.update('a', { usageNs: 10 * S, atNs: 0 });
    expect(rates.update('a', { usageNs: S, atNs: 0.5 * S })).toBeUndefined();
    expect(rates.update('a', { usageNs: 2 * S, atNs: 2.5 * S })).toBe(S / 2);
  });

  it('CpuRates forgets the CPU rate of a removed cgroup', async () => {
    const clock = new FakeClock();
    const rates = new CpuRates({ clock });
    rates.update('gone', { usageNs: 0, atNs: 0 });
    await clock.advance(599_000);
    rates.update('here', { usageNs: 0, atNs: 0 });
    await clock.advance(2000);
    rates.forgetOld();
    expect(rates.size).toBe(1);
  });
});
