import { setTimeout as sleep } from 'node:timers/promises';
import { errorText, printable } from '@node-agent/telemetry';
import { type ApiServer, connect } from './api-server.ts';
import { WhyError } from './errors.ts';
import { HELP, type Options, parseOptions, UsageError } from './options.ts';
import { explain } from './why.ts';

/** The output streams of the command, and the signal that ends it. */
export interface Terminal {
  readonly out: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly err: { write(text: string): unknown };
  readonly version: string;
  readonly signal: AbortSignal;
}

/** Moves the cursor to the top left and clears the screen. */
const CLEAR = '\x1b[H\x1b[2J';

/** The exit code of an interrupted program. */
const INTERRUPTED = 130;

/**
 * Runs the command. @returns the exit code: 0 if an explanation was printed, 130 if the command was interrupted before
 * that, otherwise 1
 */
export async function runWhy(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { out, err } = terminal;
  try {
    const asked = parseOptions(argv);
    if ('show' in asked) {
      out.write(asked.show === 'help' ? HELP : `${terminal.version}\n`);
      return 0;
    }
    await using api = await connect(asked, terminal.signal);
    if (asked.watch) return (await watch(api, asked, terminal)) ? 0 : INTERRUPTED;
    out.write((await explain(api, asked)).shown);
    return 0;
  } catch (error) {
    if (terminal.signal.aborted) return INTERRUPTED;
    err.write(`error: ${printable(messageOf(error))}\n`);
    if (error instanceof UsageError) err.write("See 'kubectl why --help' for usage.\n");
    return 1;
  }
}

/**
 * Returns the message of an error. An error of another class means that the response lacks fields, because responses
 * are not validated.
 */
function messageOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof WhyError) return error.message;
  return `unexpected response: ${errorText(error)}`;
}

/**
 * Shows every change until the pod is gone: on a terminal by overwriting the screen, otherwise one after another.
 * @returns whether anything was shown before the interruption
 */
async function watch(api: ApiServer, options: Options, { out, err, signal }: Terminal): Promise<boolean> {
  let shownKey: string | undefined;
  let shownProblem: string | undefined;
  while (!signal.aborted) {
    try {
      const { shown, key } = await explain(api, options);
      // A terminal shows running times; other outputs only get changes.
      if (out.isTTY && options.output === 'text') out.write(`${CLEAR}${shown}`);
      else if (key !== shownKey)
        out.write(`${shownKey === undefined || options.output === 'json' ? '' : '\n'}${shown}`);
      shownKey = key;
      shownProblem = undefined;
    } catch (error) {
      if (signal.aborted) break;
      // A pod that was never found is an error of the user; after a first result, failures may be temporary.
      if (!(error instanceof WhyError) || shownKey === undefined || error.message.startsWith('there is no pod'))
        throw error;
      if (error.message !== shownProblem) err.write(`error: ${printable(error.message)}\n`);
      shownProblem = error.message;
    }
    await sleep(options.intervalMs, undefined, { signal }).catch(() => undefined);
  }
  return shownKey !== undefined;
}
