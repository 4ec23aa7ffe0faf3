import { systemClock, systemRandom } from '@node-agent/async';
import { createLogger, errorText, levelOfVerbosity, MetricsRegistry } from '@node-agent/telemetry';
import { HELP, type HollowOptions, parseOptions, UsageError } from './options.ts';
import { runFleet } from './run-fleet.ts';

const OK = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

/** Environment of the command: its streams and environment variables. */
interface Surroundings {
  readonly environment: NodeJS.ProcessEnv;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/**
 * Runs the `hollow-node` command until `signal` is aborted.
 * @param argv the command line, without the program's name
 * @returns the exit code
 */
export async function runHollowNode(
  argv: readonly string[],
  { environment, write, writeError }: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  let options: HollowOptions | undefined;
  try {
    options = parseOptions(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    writeError(`hollow-node: ${error.message}\n`);
    return WRONG_USAGE;
  }
  if (options === undefined) {
    write(HELP);
    return OK;
  }
  const { nodes, verbosity } = options;
  const level = verbosity === 0 ? 'warn' : levelOfVerbosity(verbosity);
  const logger = await createLogger({ level, write: writeError });
  const components = { clock: systemClock, random: systemRandom, metrics: new MetricsRegistry(), logger, environment };
  try {
    await runFleet(options, components, signal, () => write(`started ${nodes} hollow nodes\n`));
    return OK;
  } catch (error) {
    if (signal.aborted) return OK;
    writeError(`hollow-node: ${errorText(error)}\n`);
    return FAILED;
  }
}
