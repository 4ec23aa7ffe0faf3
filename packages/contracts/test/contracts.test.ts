import type { ProbeResults as StatusResults } from '@node-agent/contracts';
import { describe, expectTypeOf, it } from 'vitest';
import type { AdmitResult, NodeSummary, PodSyncResult, ProbeResults } from '../src/index.ts';

describe('contracts', () => {
  it('is importable under its published name', () => {
    expectTypeOf<StatusResults>().toEqualTypeOf<ProbeResults>();
  });

  it('lets a narrower sync result stand for the general one', () => {
    expectTypeOf<PodSyncResult<'StartContainer', RangeError>>().toExtend<PodSyncResult>();
  });

  it('accepts a refusal without a way to recover', () => {
    expectTypeOf({ admit: false as const, reason: 'OutOfcpu', message: '' }).toExtend<AdmitResult>();
  });

  it('needs no optional stats', () => {
    expectTypeOf({ node: { nodeName: 'n', startTime: null }, pods: [] }).toExtend<NodeSummary>();
  });
});
