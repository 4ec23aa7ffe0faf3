/** How the program was called. */
export interface Call {
  /** Command that the user typed, for messages: options follow it. */
  readonly calledAs: string;
  /** Arguments of the command. */
  readonly args: readonly string[];
}

/** First arguments that start a part of the program in namespaces. */
export const PARTS = { cluster: 'run-cluster', node: 'run-node' } as const;

/** Word before the arguments if the kubelet has started the program: `kubelet cluster up`. */
const SUBCOMMAND = 'cluster';

/**
 * Returns how the program was called.
 * @param argv the arguments after the program's name
 */
export function readCall(argv: readonly string[]): Call {
  if (argv[0] === SUBCOMMAND) return { calledAs: 'kubelet cluster', args: argv.slice(1) };
  if (argv.includes('--cluster')) {
    return { calledAs: 'npm start -- --cluster', args: argv.filter((arg) => arg !== '--cluster') };
  }
  return { calledAs: 'kubelet-cluster', args: argv };
}
