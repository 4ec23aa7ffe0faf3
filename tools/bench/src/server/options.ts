import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** Options of a run. */
export interface ServerBenchOptions {
  readonly pods: number;
  /** Number of log followers. Each follows a container that writes 10 lines a second. */
  readonly followers: number;
  readonly execsPerMinute: number;
  /** Requests of `/metrics/resource` per minute. */
  readonly scrapesPerMinute: number;
  /** Megabytes that are sent through a port-forward. */
  readonly megabytes: number;
  /** Duration of each load in seconds. */
  readonly seconds: number;
  readonly rounds: number;
  readonly alone: boolean;
  readonly profiles: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench-server -- [options]
Loads the servers of this kubelet and of the Go kubelet of the release that it follows. The kubelets run in turn, each on a private
containerd, both in one private cluster. The loads are log followers, execs, scrapes and a port-forward. Needs root.
  --pods N       pods on the node (100)
  --followers N  followers of container logs that grow by 10 lines a second each (500)
  --scale F      factor for the followers, the 200 execs and the 1,000 scrapes of /metrics/resource a minute (1)
  --megabytes N  megabytes through a port-forward (256)
  --seconds N    duration of each load (60)
  --rounds N     turns of each kubelet; the values are their medians (1)
  --alone        only this kubelet
  --profiles DIR directory for CPU profiles of this kubelet
  --json         print JSON on the standard output
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
export function parseServerOptions(argv: readonly string[]): ServerBenchOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ pods: text('100'), followers: text('500'), scale: text('1'), megabytes: text('256'), seconds: text('60') },
      ...{ rounds: text('1'), profiles: { type: 'string' }, alone: flag, json: flag, help: flag },
    },
  });
  const { alone, json, help, profiles } = values;
  const scale = numberOption('--scale', values.scale, 0.01, 10, { whole: false });
  const scaled = (value: number): number => Math.max(1, Math.round(value * scale));
  return {
    pods: numberOption('--pods', values.pods, 1, 240),
    followers: scaled(numberOption('--followers', values.followers, 1, 5_000)),
    ...{ execsPerMinute: scaled(200), scrapesPerMinute: scaled(1_000) },
    megabytes: numberOption('--megabytes', values.megabytes, 1, 4_096),
    seconds: numberOption('--seconds', values.seconds, 2, 3_600),
    rounds: numberOption('--rounds', values.rounds, 1, 20),
    ...{ alone, json, help, profiles },
  };
}
