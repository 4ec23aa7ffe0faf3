import { deliberateBehaviour } from './deliberate.ts';
import type { Evidence } from './evidence.ts';
import type { SpecResult } from './specs.ts';
import {
  impossible,
  inARow,
  type Outcome,
  type PageFacts,
  type Run,
  type Runs,
  type Summary,
  usualSeconds,
} from './summary.ts';

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  passed: 'passed',
  failed: 'failed',
  impossible: 'impossible here',
  skipped: 'skipped',
  'not run': 'not run',
};

/**
 * Returns the report of the runs as Markdown.
 * @param summary summary of these runs and of the earlier runs that they continue
 * @param detailed whether to include the evidence for each failed spec
 */
export function page(facts: PageFacts, runs: Runs, summary: Summary, detailed: boolean): string {
  const { compared, turns } = summary;
  const all = runs.compared === undefined ? runs.ours : [runs.compared, ...runs.ours];
  const lines = [
    `## ${facts.title}`,
    '',
    `Specs of Kubernetes ${facts.kubernetes}, run on ${facts.date} at commit ${facts.commit}.`,
    '',
    `- specs: of ${facts.suite}.test, ${selectionText(facts)}`,
    `- ${facts.processes} ${facts.processes === 1 ? 'spec' : 'specs'} at a time, containerd ${facts.containerd}, ${facts.machine}`,
    ...featureLines(facts),
    ...closingLines(summary),
    '',
    `| kubelet | started | commit | ${Object.values(OUTCOMES).join(' | ')} | wall time |`,
    `| --- | --- | --- | ${Object.values(OUTCOMES)
      .map(() => '---:')
      .join(' | ')} | ---: |`,
    ...[...(compared === undefined ? [] : [compared]), ...turns].map(({ kubelet, date, commit, counts, seconds }) => {
      const cells = (Object.keys(OUTCOMES) as Outcome[]).map((outcome) => counts[outcome]);
      return `| ${kubelet} | ${date} | ${commit} | ${cells.join(' | ')} | ${seconds} s |`;
    }),
    '',
    ...impossibleLines(facts, runs, compared),
    ...all.flatMap((run, index) => runLines(run, { facts, compared, earlier: all.slice(0, index), detailed })),
    ...slowestLines(all),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function closingLines(summary: Summary): string[] {
  const { turns, compared } = summary;
  const lines = [];
  if (turns.length > 1 && inARow(summary) === turns.length)
    lines.push(`- ${turns.length} runs in a row without a failure`);
  if (compared !== undefined) lines.push(`- ${ratioText(usualSeconds(summary), compared)}`);
  return lines;
}

/** Formats the run time as a ratio to the run time of another kubelet. */
function ratioText(seconds: number, compared: NonNullable<Summary['compared']>): string {
  return `${(seconds / compared.seconds).toFixed(2)} of the wall time of the ${compared.kubelet} (${seconds} s and ${compared.seconds} s)`;
}

function selectionText({ labels, focus, skip }: PageFacts): string {
  const parts = [labels === '' ? 'of any label' : `labelled \`${labels}\``];
  if (focus.length > 0) parts.push(`named like ${focus.map((pattern) => `\`${pattern}\``).join(', ')}`);
  if (skip.length > 0) parts.push(`except ${skip.map((pattern) => `\`${pattern}\``).join(', ')}`);
  return parts.join(', ');
}

function featureLines({ cluster: { gates, apis } }: PageFacts): string[] {
  const lines = [
    { title: 'feature gates that are off by default', names: gates },
    { title: 'API versions that are off by default', names: apis },
  ];
  return lines.flatMap(({ title, names }) =>
    names.length === 0 ? [] : [`- ${title}: ${names.map((name) => `\`${name}\``).join(', ')}`],
  );
}

/** Returns a table of the specs that no kubelet passes, with the reasons and the compared kubelet's results. */
function impossibleLines({ has }: PageFacts, { ours }: Runs, compared: Summary['compared']): string[] {
  const found = new Map<string, string>();
  for (const { result } of ours) {
    for (const spec of result.specs) {
      const reason = impossible(spec, has, compared);
      if (reason !== undefined) found.set(spec.name, reason);
    }
  }
  if (found.size === 0) return [];
  const proof = (name: string): string => (compared === undefined ? '' : ` ${compared.notPassed[name] ?? 'passed'} |`);
  return [
    '### Impossible on this machine with any kubelet',
    '',
    `| spec | why |${compared === undefined ? '' : ` ${compared.kubelet} |`}`,
    `| --- | --- |${compared === undefined ? '' : ' --- |'}`,
    ...[...found].map(([name, reason]) => `| ${cell(name)} | ${cell(reason)} |${proof(name)}`),
    '',
  ];
}

/** What the report's lines about one run need besides this run. */
interface Beside {
  readonly facts: PageFacts;
  readonly compared: Summary['compared'];
  readonly earlier: readonly Run[];
  readonly detailed: boolean;
}

function runLines({ kubelet, result, evidence }: Run, beside: Beside): string[] {
  const { facts, compared } = beside;
  const lines: string[] = [];
  const failed = result.specs.filter(
    (spec) => spec.state === 'failed' && impossible(spec, facts.has, compared) === undefined,
  );
  if (result.problems.length > 0) {
    lines.push(
      `### Problems outside the specs: ${kubelet}`,
      '',
      ...result.problems.map((problem) => `- ${oneLine(problem)}`),
      '',
    );
  }
  if (failed.length > 0) {
    lines.push(`### Failed: ${kubelet}`, '');
    for (const spec of failed) lines.push(...failedLines(spec, beside, evidence));
  }
  const skipped = result.specs.filter(({ state }) => state === 'skipped');
  if (skipped.length > 0) {
    lines.push(`### Skipped: ${kubelet}`, '', '| spec | why |', '| --- | --- |');
    lines.push(...skipped.map(({ name, message }) => `| ${cell(name)} | ${cell(message)} |`), '');
  }
  return lines;
}

function failedLines(spec: SpecResult, { earlier, detailed }: Beside, evidence: readonly Evidence[]): string[] {
  const lines = [`#### ${spec.name}`, '', `After ${spec.seconds.toFixed(1)} s, ${spec.location}.`];
  for (const { kubelet, result } of earlier) {
    const other = result.specs.find(({ name }) => name === spec.name);
    if (other !== undefined) lines[lines.length - 1] += ` ${kubelet}: ${other.state}.`;
  }
  const behaviour = deliberateBehaviour(spec);
  if (behaviour !== undefined) lines.push('', `A deliberate difference (docs/differences.md): ${behaviour}.`);
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

/** Returns a table of the ten longest specs of the last run, with their times in all runs. */
function slowestLines(runs: readonly Run[]): string[] {
  const last = runs.at(-1);
  if (last === undefined || last.result.specs.length === 0) return [];
  const timeIn = ({ result }: Run, name: string): string => {
    const spec = result.specs.find((one) => one.name === name);
    return spec === undefined ? '' : `${spec.seconds.toFixed(0)} s`;
  };
  const slowest = [...last.result.specs].sort((a, b) => b.seconds - a.seconds).slice(0, 10);
  return [
    '### The longest',
    '',
    `| spec | ${runs.map(({ kubelet }) => kubelet).join(' | ')} |`,
    `| --- | ${runs.map(() => '---:').join(' | ')} |`,
    ...slowest.map(({ name }) => `| ${cell(name)} | ${runs.map((run) => timeIn(run, name)).join(' | ')} |`),
  ];
}

function fenced(text: string): string[] {
  // The text may itself contain a fence.
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
  return [fence, text, fence, ''];
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Formats a text as a table cell. */
export function cell(text: string): string {
  return oneLine(text).replaceAll('|', '\\|');
}
