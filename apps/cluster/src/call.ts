/** How the program was called. */
export interface Call {
  /** Command that the user typed, without its options, for messages. */
  readonly calledAs: string;
  /** Arguments of the command. */
  readonly args: readonly string[];
}

/** Program parts that run in namespaces, by the first argument that starts them. */
export const PARTS = { cluster: 'run-cluster', node: 'run-node' } as const;

/** First argument if the kubelet has started this program, as in `kubelet cluster up`. */
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
