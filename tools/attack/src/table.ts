import type { Result } from './run.ts';

const HEADING = ['attack', 'input', 'the server', 'descriptors', 'longest stall', 'client served', 'verdict'];

/** Returns the results as a Markdown table, followed by the reasons of successes. */
export function attackTable(results: readonly Result[]): string {
  const rows = results.map((result) => [
    result.attack,
    result.input,
    result.did,
    `${result.descriptorsBefore} -> ${result.descriptorsAfter}`,
    result.longestStallMs === undefined ? 'no answer' : `${result.longestStallMs} ms`,
    result.notServed === 0
      ? `always (${result.served})`
      : `not ${result.notServed} of ${result.served + result.notServed}`,
    result.successes.length === 0 ? 'held' : 'SUCCEEDED',
  ]);
  const all = [HEADING, HEADING.map(() => '---'), ...rows];
  const cells = all.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = HEADING.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`);
  const reasons = results.flatMap(({ attack, successes }) => successes.map((success) => `${attack}: ${success}\n`));
  return [...lines, ...(reasons.length > 0 ? ['\n', ...reasons] : [])].join('');
}
