import type { ProbeResults as StatusResults } from '@node-agent/contracts';
import { describe, expectTypeOf, it } from 'vitest';
import type { AdmitResult, NodeSummary, PodSyncResult, ProbeResults } from '../src/index.ts';

describe('contracts', () => {
  it('the contracts package is importable under its published name', () => {
    expectTypeOf<StatusResults>().toEqualTypeOf<ProbeResults>();
  });

  it('a narrower sync result can be used as the general sync result type', () => {
    expectTypeOf<PodSyncResult<'StartContainer', RangeError>>().toExtend<PodSyncResult>();
  });

  it('a rejection needs no function to recover', () => {
    expectTypeOf({ admit: false as const, reason: 'OutOfcpu', message: '' }).toExtend<AdmitResult>();
  });

  it('optional stats may be missing in the contracts', () => {
    expectTypeOf({ node: { nodeName: 'n', startTime: null }, pods: [] }).toExtend<NodeSummary>();
  });
});
