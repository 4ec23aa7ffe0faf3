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
  promtool: [{ path: '/metrics', complaints: ['a no help text'], own: [], compared: true }],
};

describe('promtool complaints', () => {
  it("ownComplaints returns promtool's complaints without those that also exist for the Go kubelet's page", () => {
    const complaints = promtoolComplaints(
      'b counter metrics should have "_total" suffix\na no help text\n\na no help text\n',
    );
    expect(complaints).toEqual(['a no help text', 'b counter metrics should have "_total" suffix']);
    expect(ownComplaints(complaints, ['a no help text'])).toEqual(['b counter metrics should have "_total" suffix']);
    expect(ownComplaints(complaints)).toEqual(complaints);
  });
});

describe('problemsOf', () => {
  it('problemsOf finds no problem if every scrape succeeded', () => {
    expect(problemsOf(good)).toEqual([]);
    expect(findingsText(good)).toMatch(
      /\/metrics +40 +0 +900 +12\n[\s\S]*1 complaints, 1 also for the Go kubelet's page[\s\S]*no problem\n$/,
    );
  });

  it.each<[string, Partial<Findings>, string]>([
    [
      'a failed scrape',
      { pages: [{ ...page, failed: 2, lastError: 'timeout' }] },
      '/metrics: 2 scrapes failed: timeout',
    ],
    ['too few scrapes', { pages: [{ ...page, scrapes: 37 }] }, '/metrics: 37 scrapes, expected at least 38'],
    ['an empty page', { pages: [{ ...page, samples: 0 }] }, '/metrics: no samples'],
    ['dropped samples', { leftOut: 3 }, 'Prometheus dropped 3 samples'],
    [
      "a complaint that the Go kubelet's page does not have",
      { promtool: [{ path: '/metrics', complaints: ['x'], own: ['x'], compared: true }] },
      'promtool, /metrics: x',
    ],
    ['a logged warning', { complaints: ['level=WARN x'] }, 'level=WARN x'],
  ])('problemsOf reports %s as a problem', (_title, more, expected) => {
    expect(problemsOf({ ...good, ...more })).toEqual([expected]);
    expect(findingsText({ ...good, ...more })).toContain(`problems:\n  ${expected}`);
  });
});

it('parseMonitoringOptions applies defaults and rejects invalid values with the name of the option', () => {
  const defaults = { minutes: 10, pods: 20, intervalSeconds: 15, alone: false, hollow: false };
  expect(parseMonitoringOptions([])).toMatchObject(defaults);
  expect(parseMonitoringOptions(['--hollow', '--json'])).toMatchObject({ ...defaults, hollow: true, json: true });
  expect(() => parseMonitoringOptions(['--minutes', '0'])).toThrow(
    '--minutes: must be a number from 1 to 1440, is "0"',
  );
});
