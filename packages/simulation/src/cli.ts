import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Totals } from './report.ts';
import { runInWorkers } from './seed-pool.ts';
import { runSeed, type SeedReport } from './seed-run.ts';

const USAGE = `usage: npm run simulate -- [--seeds N] [--from S] [--seed S] [--events N] [--cluster] [--scarce] [--devices] [--shutdown] [--workers N] [--no-shrink] [--verbose]

  --seeds N    how many seeds to run; 1000 by default
  --from S     the first of them; 1 by default
  --seed S     this seed alone
  --events N   how many things are done to the node in each run; 12 by default
  --cluster    the node is one of a cluster, with an API server and its faults
  --scarce     every node has little to give, not three of ten: resizes, pressure, preemption, ephemeral containers
  --devices    every node has device plugins, not one of ten
  --shutdown   the machine of every node shuts down or loses its power, not of one in eight
  --workers N  how many seeds run at a time, each on a core; as many as there are cores by default
  --no-shrink  tells what is wrong with a seed that fails, and does not look for its shortest trace
  --verbose    all that happens, line by line, one seed at a time

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
      workers: { type: 'string' },
      verbose: { type: 'boolean' },
      'no-shrink': { type: 'boolean', default: false },
      cluster: { type: 'boolean', default: false },
      scarce: { type: 'boolean', default: false },
      devices: { type: 'boolean', default: false },
      shutdown: { type: 'boolean', default: false },
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
  const workers = values.verbose ? 1 : (wholeNumber('--workers', values.workers) ?? availableParallelism());
  if (workers < 1) throw new TypeError('--workers needs one at least');
  const { cluster, scarce, devices, shutdown } = values;
  const options = { events, cluster, scarce, devices, shutdown, shrink: !values['no-shrink'] };
  const totals = new Totals();
  const exitCode = (): number => (totals.failed === 0 ? 0 : 1);
  // Whoever reads may have read enough (`| head`): nobody is left to tell the rest to.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(exitCode());
  });
  const onReport = (report: SeedReport): void => {
    totals.add(report);
    for (const line of report.lines) say(line);
    if (totals.seeds % PROGRESS === 0)
      say(`${totals.seeds} seeds, the last is ${report.seed}; ${totals.failed} failed`);
  };
  if (workers > 1 && seeds > 1) {
    await runInWorkers({ from, count: seeds }, workers, options, { onFailure: say, onReport });
  } else {
    const listener = { onFailure: say, ...(values.verbose && { onObservation: say }) };
    for (let seed = from; seed < from + seeds; seed++) onReport(await runSeed(seed, options, listener));
  }
  for (const line of totals.lines()) say(line);
  return exitCode();
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
