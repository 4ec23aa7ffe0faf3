import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Totals } from './report.ts';
import { runInWorkers } from './seed-pool.ts';
import { runSeed, type SeedReport } from './seed-run.ts';

const USAGE = `usage: npm run simulate -- [--seeds N] [--from S] [--seed S] [--events N] [--cluster] [--scarce] [--devices] [--shutdown] [--volumes] [--resources] [--workers N] [--no-shrink] [--verbose]

  --seeds N    number of seeds to run; 1000 by default
  --from S     first seed; 1 by default
  --seed S     run only this seed
  --events N   number of random actions in each run; 12 by default
  --cluster    the node is part of a cluster, with an API server and its faults
  --scarce     every node has scarce resources (by default, three of ten): resizes, pressure, preemption, ephemeral containers
  --devices    every node has device plugins (by default, one of ten)
  --shutdown   the machine of every node shuts down or loses its power (by default, one of eight)
  --volumes    every node is part of a cluster and has CSI drivers, claims and a controller that attaches volumes
  --resources  every node is part of a cluster, and containers get CPUs, memory and claimed devices for themselves
  --workers N  number of seeds that run in parallel; by default, the number of cores
  --no-shrink  report a failing seed without searching for its shortest trace
  --verbose    print every observation; seeds then run one after another

Exits with 1 if an invariant is broken, after printing the seed and the shortest trace.`;

/** Number of seeds between two progress messages. */
const PROGRESS = 250;

/**
 * Runs the seeds that the command line selects.
 * @returns the exit code
 */
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
      volumes: { type: 'boolean', default: false },
      resources: { type: 'boolean', default: false },
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
  if (workers < 1) throw new TypeError('--workers must be at least 1');
  const { cluster, scarce, devices, shutdown, volumes, resources } = values;
  const options = { events, cluster, scarce, devices, shutdown, volumes, resources, shrink: !values['no-shrink'] };
  const totals = new Totals();
  const exitCode = (): number => (totals.failed === 0 ? 0 : 1);
  // If the reader of stdout has closed its end (`| head`), there is nothing left to print to.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(exitCode());
  });
  const onReport = (report: SeedReport): void => {
    totals.add(report);
    for (const line of report.lines) say(line);
    if (totals.seeds % PROGRESS === 0)
      say(`${totals.seeds} seeds run, last seed ${report.seed}; ${totals.failed} failed`);
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
  if (!/^\d+$/.test(text)) throw new TypeError(`${name} must be a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
  process.exitCode = 2;
}
