import type { Evidence } from './evidence.ts';
import type { SpecResult, SpecState, SuiteResult } from './specs.ts';

/** What a page tells of one kubelet's run. */
export interface Run {
  /** `node-agent` or `Go kubelet`, or a path. */
  readonly kubelet: string;
  readonly result: SuiteResult;
  readonly evidence: readonly Evidence[];
}

/** What is the same for all runs of a page. */
export interface PageFacts {
  readonly date: string;
  readonly commit: string;
  readonly kubernetes: string;
  readonly containerd: string;
  readonly labels: string;
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  readonly processes: number;
  readonly machine: string;
}

const STATES: readonly SpecState[] = ['passed', 'failed', 'skipped', 'not run'];

/** The number of specs of each state. */
export function counts({ specs }: SuiteResult): Readonly<Record<SpecState, number>> {
  const count = (state: SpecState): number => specs.filter((spec) => spec.state === state).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped'), 'not run': count('not run') };
}

/** A page of what was run and what came of it, in Markdown. @param detailed with what was found beside each failed spec */
export function page(facts: PageFacts, runs: readonly Run[], detailed: boolean): string {
  const lines = [
    '# Conformance',
    '',
    '<!-- Written by `npm run conformance -- --docs`. -->',
    '',
    `Specs of the end-to-end suites of Kubernetes ${facts.kubernetes}, run on ${facts.date} at commit ${facts.commit}.`,
    '',
    `- specs: ${selectionText(facts)}`,
    `- ${facts.processes} at a time, containerd ${facts.containerd}, ${facts.machine}`,
    '',
    `| kubelet | ${STATES.join(' | ')} | wall time |`,
    `| --- | ${STATES.map(() => '---:').join(' | ')} | ---: |`,
    ...runs.map(({ kubelet, result }) => {
      const count = counts(result);
      return `| ${kubelet} | ${STATES.map((state) => count[state]).join(' | ')} | ${Math.round(result.seconds)} s |`;
    }),
    '',
    ...runs.flatMap((run, index) => runLines(run, runs.slice(0, index), detailed)),
    ...slowestLines(runs),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function selectionText({ labels, focus, skip }: PageFacts): string {
  const parts = [labels === '' ? 'of any label' : `labelled \`${labels}\``];
  if (focus.length > 0) parts.push(`named like ${focus.map((pattern) => `\`${pattern}\``).join(', ')}`);
  if (skip.length > 0) parts.push(`but for ${skip.map((pattern) => `\`${pattern}\``).join(', ')}`);
  return parts.join(', ');
}

function runLines(run: Run, earlier: readonly Run[], detailed: boolean): string[] {
  const { kubelet, result, evidence } = run;
  const lines: string[] = [];
  const failed = result.specs.filter(({ state }) => state === 'failed');
  if (result.problems.length > 0) {
    lines.push(`## Beside the specs: ${kubelet}`, '', ...result.problems.map((problem) => `- ${oneLine(problem)}`), '');
  }
  if (failed.length > 0) {
    lines.push(`## Failed: ${kubelet}`, '');
    for (const spec of failed) lines.push(...failedLines(spec, earlier, evidence, detailed));
  }
  const skipped = result.specs.filter(({ state }) => state === 'skipped');
  if (skipped.length > 0) {
    lines.push(`## Skipped: ${kubelet}`, '', '| spec | why |', '| --- | --- |');
    lines.push(...skipped.map(({ name, message }) => `| ${cell(name)} | ${cell(message)} |`), '');
  }
  return lines;
}

function failedLines(
  spec: SpecResult,
  earlier: readonly Run[],
  evidence: readonly Evidence[],
  detailed: boolean,
): string[] {
  const lines = [`### ${spec.name}`, '', `After ${spec.seconds.toFixed(1)} s, ${spec.location}.`];
  for (const { kubelet, result } of earlier) {
    const other = result.specs.find(({ name }) => name === spec.name);
    if (other !== undefined) lines[lines.length - 1] += ` ${kubelet}: ${other.state}.`;
  }
  lines.push('', ...fenced(shortened(spec.message, detailed ? 6_000 : 800)));
  const found = evidence.find((one) => one.spec === spec.name);
  if (!detailed || found === undefined) return lines;
  lines.push(`Namespace ${found.namespace}.`, '');
  if (found.events.length > 0) lines.push('Events:', '', ...fenced(found.events.join('\n')));
  for (const { name, status, explanation } of found.pods) {
    lines.push(`Pod ${name}:`, '', ...fenced(JSON.stringify(explanation ?? status, undefined, 1)));
  }
  if (found.log.length > 0) lines.push("The kubelet's log:", '', ...fenced(found.log.join('\n')));
  return lines;
}

/** The ten specs that took longest in the last run, beside what they took in those before. */
function slowestLines(runs: readonly Run[]): string[] {
  const last = runs.at(-1);
  if (last === undefined || last.result.specs.length === 0) return [];
  const timeIn = ({ result }: Run, name: string): string => {
    const spec = result.specs.find((one) => one.name === name);
    return spec === undefined ? '' : `${spec.seconds.toFixed(0)} s`;
  };
  const slowest = [...last.result.specs].sort((a, b) => b.seconds - a.seconds).slice(0, 10);
  return [
    '## The longest',
    '',
    `| spec | ${runs.map(({ kubelet }) => kubelet).join(' | ')} |`,
    `| --- | ${runs.map(() => '---:').join(' | ')} |`,
    ...slowest.map(({ name }) => `| ${cell(name)} | ${runs.map((run) => timeIn(run, name)).join(' | ')} |`),
  ];
}

function fenced(text: string): string[] {
  // What is inside may have a fence too.
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
  return [fence, text, fence, ''];
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function cell(text: string): string {
  return oneLine(text).replaceAll('|', '\\|');
}
