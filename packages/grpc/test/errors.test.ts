import { describe, expect, it } from 'vitest';
import { GrpcError, grpcCode, grpcStatus } from '../src/index.ts';

describe('GrpcError', () => {
  it('converts gRPC codes between numbers and names', () => {
    expect([1, 4, 5, 12, 14, 16].map(grpcCode)).toEqual([
      'CANCELLED',
      'DEADLINE_EXCEEDED',
      'NOT_FOUND',
      'UNIMPLEMENTED',
      'UNAVAILABLE',
      'UNAUTHENTICATED',
    ]);
    for (let status = 1; status <= 16; status++) expect(grpcStatus(grpcCode(status))).toBe(status);
    expect([0, 17, -1].map(grpcCode)).toEqual(['UNKNOWN', 'UNKNOWN', 'UNKNOWN']);
  });

  it('GrpcError.from keeps a gRPC status, converts an AbortError to CANCELLED, and any other value to UNKNOWN', () => {
    const own = new GrpcError({ code: 'ABORTED', details: 'd' });
    expect(GrpcError.from(own)).toBe(own);
    expect(own.message).toBe('rpc error: code = Aborted desc = d');
    const status = Object.assign(new Error('5 NOT_FOUND: gone'), { code: 5, details: 'gone' });
    expect(GrpcError.from(status)).toMatchObject({ code: 'NOT_FOUND', details: 'gone', cause: status });
    const words = 'not before (2026-01-01T00:00:00.000Z)';
    expect(GrpcError.from(Object.assign(new Error(), { code: 9, details: words })).details).toBe(words);
    expect(GrpcError.from(new DOMException('stop', 'AbortError'))).toMatchObject({ code: 'CANCELLED' });
    expect(GrpcError.from('text')).toMatchObject({ code: 'UNKNOWN', details: 'text', cause: 'text' });
  });
});
