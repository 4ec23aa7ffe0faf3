import { endingSignals } from '@node-agent/tools-standalone';
import { type DetachedMessage, startDetached } from './detach.ts';
import { down } from './down.ts';
import { type ClusterOptions, parseClusterOptions, USAGE } from './options.ts';
import { up } from './up.ts';

/** Exit code without root or on a system other than Linux. */
const CANNOT_RUN = 3;

/** Program and arguments of a command. */
export interface Invocation {
  readonly args: readonly string[];
  /** File of the program, which a detached command starts again. */
  readonly program: string;
  /** Command that starts the kubelet. */
  readonly kubelet: readonly string[];
}

/** A process with a channel to its parent was started by {@link startDetached}. */
const isDetached = process.send !== undefined;

function tell(message: DetachedMessage): void {
  // The parent returns when the cluster is ready.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

function say(line: string): void {
  if (isDetached) tell({ line });
  else process.stdout.write(`${line}\n`);
}

/** Implements `npm start -- --cluster`. @returns the exit code, as {@link USAGE} says */
export async function runCommand(invocation: Invocation): Promise<number> {
  const parsed = parseClusterOptions(invocation.args);
  if ('problem' in parsed) {
    say(`npm start -- --cluster: ${parsed.problem}\n\n${USAGE}`);
    return 2;
  }
  const { options } = parsed;
  if (options.help) {
    say(USAGE);
    return 0;
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    say('npm start -- --cluster: must run as root on Linux: it makes namespaces, cgroups, mounts and firewall rules');
    return CANNOT_RUN;
  }
  try {
    if (options.command === 'down') {
      if (!(await down(options, say))) say(`no cluster in ${options.directory}`);
      return 0;
    }
    const { program, args, kubelet } = invocation;
    return options.detaches && !isDetached ? await startDetached(program, args, say) : await runUp(options, kubelet);
  } catch (error) {
    say(`npm start -- --cluster: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

async function runUp(options: ClusterOptions, kubelet: readonly string[]): Promise<number> {
  const signals = endingSignals({ watchesParent: !isDetached });
  const abandoned = new AbortController();
  let isReady = false;
  // The command that waits for a detached cluster was interrupted.
  process.on('disconnect', () => isReady || abandoned.abort());
  const ready = (): void => {
    isReady = true;
    tell({ ready: true });
  };
  const ending = AbortSignal.any([signals.ending, abandoned.signal]);
  await up(options, { say, kubelet, ending, hurry: signals.hurry, ready });
  return signals.hasFailed() ? 1 : 0;
}
