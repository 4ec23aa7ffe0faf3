import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** Options of a run. */
export interface HollowBenchOptions {
  /** Numbers of hollow nodes. Each number is measured with a new control plane. */
  readonly nodes: readonly number[];
  /** Numbers of pods on each node, in increasing order. */
  readonly pods: readonly number[];
  readonly idleSeconds: number;
  /** Whether the API server is in memory, which needs no control plane. Pods are bound when they are created. */
  readonly memoryApi: boolean;
  /** Whether pods are bound when they are created, so that the control plane needs no scheduler. */
  readonly withoutScheduler: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench-hollow -- [options]
Measures hollow nodes against a private control plane: memory, CPU, and the time until nodes and pods are Ready.
  --nodes LIST         numbers of nodes (1,100,1000)
  --pods LIST          numbers of pods on each node (0,10,30), of one Deployment that is scaled up
  --idle-seconds N     seconds for measuring the CPU time at rest (60)
  --memory-api         use an API server in memory, and bind pods when they are created
  --without-scheduler  stop the scheduler, and bind pods when they are created
  --json               print JSON on the standard output
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
export function parseHollowOptions(argv: readonly string[]): HollowBenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      nodes: { type: 'string', default: '1,100,1000' },
      pods: { type: 'string', default: '0,10,30' },
      'idle-seconds': { type: 'string', default: '60' },
      'memory-api': { type: 'boolean', default: false },
      'without-scheduler': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const list = (option: string, text: string, least: number, most: number): readonly number[] =>
    text.split(',').map((part) => numberOption(option, part, least, most));
  const pods = list('--pods', values.pods, 0, 110);
  if (pods.some((count, index) => count <= (pods[index - 1] ?? -1))) {
    throw new Error(`--pods: must be in increasing order, is ${JSON.stringify(values.pods)}`);
  }
  return {
    nodes: list('--nodes', values.nodes, 1, 10_000),
    pods,
    idleSeconds: numberOption('--idle-seconds', values['idle-seconds'], 1, 3600),
    memoryApi: values['memory-api'],
    withoutScheduler: values['without-scheduler'],
    json: values.json,
    help: values.help,
  };
}
