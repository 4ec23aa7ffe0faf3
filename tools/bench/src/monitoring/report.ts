import { renderTable } from '../table.ts';
import type { Autoscaled } from './autoscaling.ts';
import type { ScrapedPage } from './prometheus.ts';

/** Findings of a run. */
export interface Findings {
  readonly minutes: number;
  readonly intervalSeconds: number;
  readonly pages: readonly ScrapedPage[];
  /** Number of samples that Prometheus dropped from successful scrapes. */
  readonly leftOut: number;
  /** Output of kubectl top. */
  readonly top: { readonly node: string; readonly pods: string };
  readonly autoscaled: Autoscaled;
  readonly promtool: readonly CheckedPage[];
  /** Warnings and errors that Prometheus and metrics-server logged. */
  readonly complaints: readonly string[];
}

/** promtool's complaints about a page. */
interface CheckedPage {
  readonly path: string;
  readonly complaints: readonly string[];
  /** Complaints that promtool does not have about the Go kubelet's page. */
  readonly own: readonly string[];
  /** Whether the Go kubelet's page was checked. */
  readonly compared: boolean;
}

/** Returns the problems among the findings. */
export function problemsOf({
  minutes,
  intervalSeconds,
  pages,
  leftOut,
  promtool,
  complaints,
}: Findings): readonly string[] {
  // Two scrapes may be missing: the first one happens at some point in the first interval, and another one may be
  // missing at the end.
  const least = Math.floor((minutes * 60) / intervalSeconds) - 2;
  return [
    ...pages.flatMap(({ path, scrapes, failed, samples, lastError }) => [
      ...(scrapes < least ? [`${path}: ${scrapes} scrapes, expected at least ${least}`] : []),
      ...(failed > 0
        ? [
            `${path}: ${failed} scrapes failed: ${lastError || 'the error is unknown, because the last scrape succeeded'}`,
          ]
        : []),
      ...(samples === 0 && path !== '/metrics/probes' ? [`${path}: no samples`] : []),
    ]),
    ...(leftOut > 0 ? [`Prometheus dropped ${leftOut} samples`] : []),
    ...promtool.flatMap(({ path, own }) => own.map((line) => `promtool, ${path}: ${line}`)),
    ...complaints,
  ];
}

/** Formats the findings as text. */
export function findingsText(findings: Findings): string {
  const { pages, promtool, top, autoscaled, minutes, intervalSeconds } = findings;
  const problems = problemsOf(findings);
  const scraped = renderTable(
    ['page', 'scrapes', 'failed', 'samples', 'longest, ms'],
    pages.map(({ path, scrapes, failed, samples, longestMs }) => [
      ...[path, `${scrapes}`, `${failed}`, `${samples}`],
      longestMs.toFixed(0),
    ]),
  );
  const checked = promtool.map(({ path, complaints, own, compared }) => {
    const ofGo = compared ? `, ${complaints.length - own.length} also for the Go kubelet's page` : '';
    return `  ${path}: ${complaints.length === 0 ? 'clean' : `${complaints.length} complaints${ofGo}`}`;
  });
  return [
    `Prometheus, ${minutes} min, every ${intervalSeconds} s`,
    scraped,
    'kubectl top',
    top.node.trimEnd(),
    ...top.pods.trimEnd().split('\n').slice(0, 4),
    '',
    `autoscaler: ${autoscaled.utilization} % of the requested CPU, ${autoscaled.replicas} replicas wanted`,
    '',
    'promtool check metrics',
    ...checked,
    '',
    problems.length === 0 ? 'no problem' : `problems:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    '',
  ].join('\n');
}
