import { describe, expect, it } from 'vitest';
import {
  answerHealthz,
  type HealthCheck,
  type HealthzQuery,
  healthProblems,
  logCheck,
  pingCheck,
} from '../src/health/healthz.ts';

const good: HealthCheck = { name: 'syncloop', check: () => undefined };
const bad: HealthCheck = { name: 'pleg', check: () => 'pleg was last seen active 4m ago' };
const thrower: HealthCheck = {
  name: 'runtime',
  check: () => {
    throw new Error('gone');
  },
};
const answer = (checks: HealthCheck[], query: Partial<HealthzQuery> = {}): string => {
  const reply = answerHealthz([pingCheck, ...checks], { verbose: false, exclude: [], ...query });
  return reply === undefined ? 'none' : `${reply.status} ${reply.body}`;
};

it("health checks that succeed whenever the server answers have upstream's names", () => {
  expect([pingCheck, logCheck].map(({ name, check }) => [name, check()])).toEqual([
    ['ping', undefined],
    ['log', undefined],
  ]);
  expect(healthProblems([pingCheck, logCheck])).toStrictEqual({});
  const asked = { verbose: true, exclude: ['x'] };
  expect(answerHealthz([pingCheck], asked)?.body).toBe(
    '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "x"\nhealthz check passed\n',
  );
});

describe('answerHealthz', () => {
  it('healthz returns an early problem only to a request for that single check', () => {
    const early: HealthCheck = { name: 'runtime', check: () => undefined, early: () => 'connection refused' };
    expect(answer([early])).toBe('200 ok');
    expect(answer([early], { check: 'runtime' })).toBe('500 internal server error: connection refused\n');
    expect(answer([{ ...early, early: () => undefined }], { check: 'runtime' })).toBe('200 ok');
    expect(answer([{ ...early, check: () => 'down' }], { check: 'runtime' })).toBe('500 internal server error: down\n');
  });

  it('healthz answers ok, and lists the checks in verbose mode', () => {
    expect(answer([good])).toBe('200 ok');
    expect(answer([good], { verbose: true })).toBe('200 [+]ping ok\n[+]syncloop ok\nhealthz check passed\n');
  });

  it('K5: healthz lists all checks if one fails, without its reason', () => {
    expect(answer([bad, good])).toBe(
      '500 [+]ping ok\n[-]pleg failed: reason withheld\n[+]syncloop ok\nhealthz check failed\n',
    );
  });

  it('healthz returns the reason of a failed check if that single check is requested', () => {
    expect(answer([bad], { check: 'pleg' })).toBe('500 internal server error: pleg was last seen active 4m ago\n');
    expect(answer([bad], { check: 'ping' })).toBe('200 ok');
    expect(answer([bad], { check: 'nope' })).toBe('none');
  });

  it('healthz omits excluded checks, and reports unknown exclusions', () => {
    expect(answer([bad], { exclude: ['pleg'], verbose: true })).toBe(
      '200 [+]ping ok\n[+]pleg excluded: ok\nhealthz check passed\n',
    );
    expect(answer([good], { exclude: ['z', 'a'], verbose: true })).toBe(
      '200 [+]ping ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for "a","z"\nhealthz check passed\n',
    );
  });

  it("a health check that throws counts as failed, and the error's text is not sent to the client (W4)", () => {
    expect(answer([thrower])).toContain('[-]runtime failed');
    expect(answer([thrower], { check: 'runtime' })).toBe('500 internal server error: reason withheld\n');
  });
});

it('healthProblems returns the reasons of failed checks for the log', () => {
  expect(healthProblems([pingCheck, good, bad, thrower])).toEqual({
    pleg: 'pleg was last seen active 4m ago',
    runtime: 'gone',
  });
});
