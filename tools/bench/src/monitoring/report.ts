import { renderTable } from '../table.ts';
import type { Autoscaled } from './autoscaling.ts';
import type { ScrapedPage } from './prometheus.ts';

/** What a run has seen. */
export interface Findings {
  readonly minutes: number;
  readonly intervalSeconds: number;
  readonly pages: readonly ScrapedPage[];
  /** Samples that Prometheus did not take of pages that it could read. */
  readonly leftOut: number;
  /** As kubectl printed it. */
  readonly top: { readonly node: string; readonly pods: string };
  readonly autoscaled: Autoscaled;
  readonly promtool: readonly CheckedPage[];
  /** What Prometheus and metrics-server logged as warnings and errors. */
  readonly complaints: readonly string[];
}

/** What promtool says of a page. */
interface CheckedPage {
  readonly path: string;
  readonly said: readonly string[];
  /** What it does not say of the same page of the Go kubelet. */
  readonly own: readonly string[];
  /** Whether that was looked at. */
  readonly compared: boolean;
}

/** What of it should not be. */
export function problemsOf({
  minutes,
  intervalSeconds,
  pages,
  leftOut,
  promtool,
  complaints,
}: Findings): readonly string[] {
  // The first scrape is somewhere in the first interval, and one more is allowed for the edges.
  const least = Math.floor((minutes * 60) / intervalSeconds) - 2;
  return [
    ...pages.flatMap(({ path, scrapes, failed, samples, lastError }) => [
      ...(scrapes < least ? [`${path}: ${scrapes} scrapes, not ${least} or more`] : []),
      ...(failed > 0 ? [`${path}: ${failed} scrapes failed: ${lastError || 'the last one did not'}`] : []),
      ...(samples === 0 && path !== '/metrics/probes' ? [`${path}: no samples`] : []),
    ]),
    ...(leftOut > 0 ? [`Prometheus left out ${leftOut} samples`] : []),
    ...promtool.flatMap(({ path, own }) => own.map((line) => `promtool, ${path}: ${line}`)),
    ...complaints,
  ];
}

/** The same for people. */
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
  const checked = promtool.map(({ path, said, own, compared }) => {
    const ofGo = compared ? `, of which ${said.length - own.length} of the Go kubelet's page too` : '';
    return `  ${path}: ${said.length === 0 ? 'clean' : `${said.length} complaints${ofGo}`}`;
  });
  return [
    `Prometheus, ${minutes} min, every ${intervalSeconds} s`,
    scraped,
    'kubectl top',
    top.node.trimEnd(),
    ...top.pods.trimEnd().split('\n').slice(0, 4),
    '',
    `autoscaler: ${autoscaled.utilization} % of the CPU that is asked for, ${autoscaled.replicas} replicas wanted`,
    '',
    'promtool check metrics',
    ...checked,
    '',
    problems.length === 0 ? 'no problem' : `problems:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    '',
  ].join('\n');
}
