import { endingSignals } from '@node-agent/tools-standalone';
import { type DetachedMessage, startDetached } from './detach.ts';
import { down } from './down.ts';
import { type ClusterOptions, parseClusterOptions, usage } from './options.ts';
import { up } from './up.ts';

/** Exit code of a command that runs without root or on a system other than Linux. */
const CANNOT_RUN = 3;

/** Whether this process was started by {@link startDetached}: only then it has a channel to its parent. */
const isDetached = process.send !== undefined;

function tell(message: DetachedMessage): void {
  // The parent returns as soon as the cluster is ready, which closes the channel.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

function say(line: string): void {
  if (isDetached) tell({ line });
  else process.stdout.write(`${line}\n`);
}

/**
 * Runs the command. @returns the exit code, as {@link usage} says
 * @param calledAs command that the user typed, for messages
 */
export async function runCommand(calledAs: string, args: readonly string[]): Promise<number> {
  const parsed = parseClusterOptions(args);
  if ('problem' in parsed) {
    say(`${calledAs}: ${parsed.problem}\n\n${usage(calledAs)}`);
    return 2;
  }
  const { options } = parsed;
  if (options.help) {
    say(usage(calledAs));
    return 0;
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    say(`${calledAs}: must run as root on Linux: it makes namespaces, cgroups, mounts and firewall rules`);
    return CANNOT_RUN;
  }
  try {
    if (options.command === 'down') {
      if (!(await down(options, say))) say(`no cluster in ${options.directory}`);
      return 0;
    }
    return options.detaches && !isDetached ? await startDetached(say) : await runUp(options, calledAs);
  } catch (error) {
    say(`${calledAs}: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

async function runUp(options: ClusterOptions, calledAs: string): Promise<number> {
  const signals = endingSignals({ name: calledAs, watchesParent: !isDetached });
  const abandoned = new AbortController();
  let isReady = false;
  // The channel closes early if the command that waits for the detached cluster was interrupted.
  process.on('disconnect', () => isReady || abandoned.abort());
  const ready = (): void => {
    isReady = true;
    tell({ ready: true });
  };
  const ending = AbortSignal.any([signals.ending, abandoned.signal]);
  await up(options, { say, calledAs, ending, hurry: signals.hurry, ready });
  return signals.hasFailed() ? 1 : 0;
}
