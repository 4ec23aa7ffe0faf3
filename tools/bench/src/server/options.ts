import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** What a run loads the servers of kubelets with. */
export interface ServerBenchOptions {
  readonly pods: number;
  /** Followers of logs, each of a container that writes 10 lines a second. */
  readonly followers: number;
  readonly execsPerMinute: number;
  /** Of `/metrics/resource`. */
  readonly scrapesPerMinute: number;
  /** What is sent through a port-forward. */
  readonly megabytes: number;
  /** How long each load lasts. */
  readonly seconds: number;
  readonly rounds: number;
  readonly alone: boolean;
  readonly profiles: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** What `--help` prints. */
export const HELP: string = `Usage: npm run bench-server -- [options]
Loads the server of this kubelet and of the Go kubelet of the release that it follows, in turn, each with a private containerd, both in one
private cluster: log followers, execs, scrapes, a port-forward. Needs root.
  --pods N       pods on the node (100)
  --followers N  that follow the logs of containers that write 10 lines a second each (500)
  --scale F      multiplies the followers, the 200 execs and the 1,000 scrapes of /metrics/resource a minute (1)
  --megabytes N  through a port-forward (256)
  --seconds N    how long each load lasts (60)
  --rounds N     turns of each kubelet; figures are the medians of them (1)
  --alone        this kubelet only
  --profiles DIR keep CPU profiles of this kubelet there
  --json         print JSON, on the standard output
  --help
`;

/** Reads the command line. @throws Error naming the option that is wrong */
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
