import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** Options of a run. */
export interface MonitoringOptions {
  /** Minutes during which Prometheus scrapes. */
  readonly minutes: number;
  /** Number of pods in addition to those of the autoscaler. */
  readonly pods: number;
  /** Interval in seconds at which Prometheus scrapes each page. */
  readonly intervalSeconds: number;
  /** Whether the Go kubelet's pages are not checked. */
  readonly alone: boolean;
  /** Whether ten hollow nodes are checked instead of a real node, without Prometheus and promtool. */
  readonly hollow: boolean;
  /** Directory with the programs. If `undefined`, the programs are searched in PATH, or built. */
  readonly programs: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

export const HELP: string = `Usage: npm run monitoring -- [options]
Checks a node with monitoring programs: Prometheus scrapes its four pages, metrics-server feeds kubectl top and an autoscaler, and
promtool checks the pages, together with those of the Go kubelet of the release that this kubelet follows. Exits with 1 if a check
fails. Needs root, and prometheus, promtool and metrics-server in PATH, or Go, with which they are built once.
  --minutes N     minutes of scraping (10)
  --interval N    interval of scrapes in seconds (15)
  --pods N        pods on the node, or on all hollow nodes together (20)
  --alone         without the Go kubelet
  --hollow        check ten hollow nodes instead: kubectl top must show the CPU and memory of their profile, an autoscaler must
                  scale a Deployment up and down, and kubectl describe node must show all that it shows of a real node. Of the
                  programs, only metrics-server is used; --minutes, --interval and --alone have no effect
  --programs DIR  directory of the programs
  --json          print JSON on the standard output
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
export function parseMonitoringOptions(argv: readonly string[]): MonitoringOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ minutes: text('10'), interval: text('15'), pods: text('20'), programs: { type: 'string' } },
      ...{ alone: flag, hollow: flag, json: flag, help: flag },
    },
  });
  const { alone, hollow, json, help, programs } = values;
  return {
    minutes: numberOption('--minutes', values.minutes, 1, 1440),
    intervalSeconds: numberOption('--interval', values.interval, 1, 300),
    pods: numberOption('--pods', values.pods, 0, 200),
    ...{ alone, hollow, json, help, programs },
  };
}
