import { parseArgs } from 'node:util';
import { failureLines, Totals } from './report.ts';
import { generateScenario } from './scenario/generate.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';

const USAGE = `usage: npm run simulate -- [--seeds N] [--from S] [--seed S] [--events N] [--cluster] [--verbose]

  --seeds N    how many seeds to run; 1000 by default
  --from S     the first of them; 1 by default
  --seed S     this seed alone
  --events N   how many things are done to the node in each run; 12 by default
  --cluster    the node is one of a cluster, with an API server and its faults
  --verbose    all that happens, line by line

Exits with 1 where an invariant is broken, after it has printed the seed and the shortest trace.`;

/** How often progress is told. */
const PROGRESS = 250;

/** Runs seeds as the command line says. @returns the exit code */
async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      events: { type: 'string' },
      verbose: { type: 'boolean' },
      cluster: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    say(USAGE);
    return 0;
  }
  const from = wholeNumber('--seed', values.seed) ?? wholeNumber('--from', values.from) ?? 1;
  const seeds = values.seed === undefined ? (wholeNumber('--seeds', values.seeds) ?? 1000) : 1;
  const events = wholeNumber('--events', values.events) ?? 12;
  const onObservation = values.verbose ? { onObservation: say } : {};
  const totals = new Totals();
  for (let seed = from; seed < from + seeds; seed++) {
    const result = await simulate(generateScenario(seed, { events, cluster: values.cluster }), onObservation);
    totals.add(result);
    if (result.violation !== undefined) {
      for (const line of failureLines(seed, await shrink(result))) say(line);
    }
    if (totals.seeds % PROGRESS === 0) say(`${totals.seeds} seeds, the last is ${seed}; ${totals.failed} failed`);
  }
  for (const line of totals.lines()) say(line);
  return totals.failed === 0 ? 0 : 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new TypeError(`${name} needs a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
  process.exitCode = 2;
}
