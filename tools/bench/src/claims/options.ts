import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';
import type { SideBySideOptions } from '../side-by-side.ts';

/** Options of a run. */
export interface ClaimsBenchOptions extends SideBySideOptions {
  /** Number of pods. Each pod has one claim. */
  readonly pods: number;
  /** Number of additional mounts on the node, which belong to no pod. */
  readonly mounts: number;
  /**
   * Duration in seconds of each measurement at rest: with the pods, and with the additional mounts as well. 0 skips
   * both.
   */
  readonly seconds: number;
  /**
   * Number of other pods in each case of a fault of the driver or the kubelet. 0 measures starts, deletions and rest
   * instead.
   */
  readonly faults: number;
  /** Pattern of the names of the cases to measure. */
  readonly only: RegExp;
  readonly json: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench-claims -- [options]
Starts pods with one CSI volume each, all at once, with this kubelet and with the Go kubelet of the release that it follows, and deletes them. The
kubelets run in turn, each on a private containerd with a CSI driver of its own, both in one private cluster. Each pod has a PersistentVolumeClaim
that is bound to a PersistentVolume before the pod is created. The driver needs no attachment, so no controller takes part. Its volumes are
directories. Then measures the CPU time at rest with these pods, without and with many more mounts on the node. Needs root.
  --pods N       pods, each with a claim (100)
  --mounts N     additional mounts on the node (1000)
  --seconds N    seconds at rest for each measurement, 0 for none (60)
  --faults N     instead: kills the driver, the kubelet or both in each call of the driver, and measures what N other pods notice (0: no)
  --only REGEXP  with --faults, only the cases whose names match
  --rounds N     turns of each kubelet; the values are their medians (1)
  --alone        only this kubelet
  --kubelet FILE another build of this kubelet
  --profiles DIR directory for CPU profiles of this kubelet
  --json         print JSON on the standard output
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
export function parseClaimsOptions(argv: readonly string[]): ClaimsBenchOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{
        pods: text('100'),
        mounts: text('1000'),
        seconds: text('60'),
        rounds: text('1'),
        faults: text('0'),
        only: text(''),
      },
      ...{ kubelet: { type: 'string' }, profiles: { type: 'string' }, alone: flag, json: flag, help: flag },
    },
  });
  const { alone, json, help, profiles, kubelet, only } = values;
  return {
    pods: numberOption('--pods', values.pods, 1, 240),
    mounts: numberOption('--mounts', values.mounts, 1, 50_000),
    seconds: numberOption('--seconds', values.seconds, 0, 3_600),
    faults: numberOption('--faults', values.faults, 0, 200),
    rounds: numberOption('--rounds', values.rounds, 1, 20),
    only: new RegExp(only),
    ...{ alone, json, help, profiles, ...(kubelet !== undefined && { kubelet }) },
  };
}
