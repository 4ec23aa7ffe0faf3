import { describe, expect, it } from 'vitest';
import { ownComplaints, promtoolComplaints } from '../src/monitoring/complaints.ts';
import { parseMonitoringOptions } from '../src/monitoring/options.ts';
import { type Findings, findingsText, problemsOf } from '../src/monitoring/report.ts';

const page = { path: '/metrics', scrapes: 40, failed: 0, samples: 900, longestMs: 12, lastError: '' };
const good: Findings = {
  ...{ minutes: 10, intervalSeconds: 15, leftOut: 0, complaints: [] },
  pages: [page, { ...page, path: '/metrics/probes', samples: 0 }],
  top: { node: 'NAME\nwatched 1%\n', pods: 'NAME\na\n' },
  autoscaled: { utilization: 380, replicas: 2 },
  promtool: [{ path: '/metrics', said: ['a no help text'], own: [], compared: true }],
};

describe('what promtool says', () => {
  it('is a line each, and what is said of the Go kubelet too is no fault of this one', () => {
    const said = promtoolComplaints(
      'b counter metrics should have "_total" suffix\na no help text\n\na no help text\n',
    );
    expect(said).toEqual(['a no help text', 'b counter metrics should have "_total" suffix']);
    expect(ownComplaints(said, ['a no help text'])).toEqual(['b counter metrics should have "_total" suffix']);
    expect(ownComplaints(said)).toEqual(said);
  });
});

describe('what a run has found', () => {
  it('is no problem where every scrape went well', () => {
    expect(problemsOf(good)).toEqual([]);
    expect(findingsText(good)).toMatch(
      /\/metrics +40 +0 +900 +12\n[\s\S]*1 complaints, of which 1 of the Go kubelet's page too[\s\S]*no problem\n$/,
    );
  });

  it.each<[string, Partial<Findings>, string]>([
    [
      'a scrape that failed',
      { pages: [{ ...page, failed: 2, lastError: 'timeout' }] },
      '/metrics: 2 scrapes failed: timeout',
    ],
    ['too few', { pages: [{ ...page, scrapes: 37 }] }, '/metrics: 37 scrapes, not 38 or more'],
    ['an empty page', { pages: [{ ...page, samples: 0 }] }, '/metrics: no samples'],
    ['samples that were left out', { leftOut: 3 }, 'Prometheus left out 3 samples'],
    [
      'what only this page has',
      { promtool: [{ path: '/metrics', said: ['x'], own: ['x'], compared: true }] },
      'promtool, /metrics: x',
    ],
    ['what was logged', { complaints: ['level=WARN x'] }, 'level=WARN x'],
  ])('is a problem: %s', (_title, more, expected) => {
    expect(problemsOf({ ...good, ...more })).toEqual([expected]);
    expect(findingsText({ ...good, ...more })).toContain(`problems:\n  ${expected}`);
  });
});

it('a command line is refused by the option that is wrong', () => {
  expect(parseMonitoringOptions([])).toMatchObject({ minutes: 10, pods: 20, intervalSeconds: 15, alone: false });
  expect(() => parseMonitoringOptions(['--minutes', '0'])).toThrow('--minutes: "0" is not a number from 1 to 1440');
});
