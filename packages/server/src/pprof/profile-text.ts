import type { Profile } from './profile.ts';

/** Formats a profile for people (`?debug=1`): each stack with its counts, the stack with the highest count first. */
export function profileText(name: string, { sampleTypes, samples, durationMs }: Profile): string {
  const main = sampleTypes.length - 1;
  const total = samples.reduce((sum, { values }) => sum + (values[main] ?? 0), 0);
  const { type = '', unit = '' } = sampleTypes[main] ?? {};
  const during = durationMs === undefined ? '' : ` in ${(durationMs / 1000).toFixed(3)} s`;
  const head = `${name} profile: total ${total} ${unit === 'count' ? type : `${unit} (${type})`}${during}\n`;
  const stacks = [...samples]
    .sort((a, b) => (b.values[main] ?? 0) - (a.values[main] ?? 0))
    .map(({ values, stack }) => {
      const lines = stack.map(({ name: fn, file, line }) => `#\t${fn}${file === '' ? '' : `\t${file}:${line}`}\n`);
      return `\n${values.join(' ')} @\n${lines.join('')}`;
    });
  return head + stacks.join('');
}
