import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** How long a run looks, and at what. */
export interface MonitoringOptions {
  /** How long Prometheus scrapes. */
  readonly minutes: number;
  /** How many pods there are beside those of the autoscaler. */
  readonly pods: number;
  /** How often Prometheus scrapes each page, in seconds. */
  readonly intervalSeconds: number;
  /** Without the Go kubelet, whose pages promtool is shown too. */
  readonly alone: boolean;
  /** A directory with the programs; looked for, or built, where absent. */
  readonly programs: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

export const HELP: string = `Usage: npm run monitoring -- [options]
Shows a node to those who read its figures: Prometheus scrapes its four pages, metrics-server feeds kubectl top and an autoscaler,
promtool checks the pages, and those of the Go kubelet of the release that it follows. Exit code 1 where something of it fails. Needs root,
and prometheus, promtool and metrics-server: in PATH, or Go, by which they are built once.
  --minutes N     how long Prometheus scrapes (10)
  --interval N    how often, in seconds (15)
  --pods N        pods on the node (20)
  --alone         without the Go kubelet
  --programs DIR  where the three programs are
  --json          print JSON, on the standard output
  --help
`;

/** Reads the command line. @throws Error naming the option that is wrong */
export function parseMonitoringOptions(argv: readonly string[]): MonitoringOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ minutes: text('10'), interval: text('15'), pods: text('20'), programs: { type: 'string' } },
      ...{ alone: flag, json: flag, help: flag },
    },
  });
  const { alone, json, help, programs } = values;
  return {
    minutes: numberOption('--minutes', values.minutes, 1, 1440),
    intervalSeconds: numberOption('--interval', values.interval, 1, 300),
    pods: numberOption('--pods', values.pods, 0, 200),
    ...{ alone, json, help, programs },
  };
}
