import { parseArgs } from 'node:util';
import { BUILT_KUBELET } from '../command.ts';
import { numberOption } from '../number-option.ts';
import type { SideBySideOptions } from '../side-by-side.ts';
import { PRESSURE_KINDS, type PressureKind } from './kinds.ts';

/** Options of a run. */
export interface PressureBenchOptions extends SideBySideOptions {
  readonly kubelet: string;
  readonly kinds: readonly PressureKind[];
  readonly json: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench-pressure -- [options]
Exhausts memory and a disk, with this kubelet and with the Go kubelet of the release that it follows, in turn. Measures the time from
crossing the threshold to the first signal, which pods are terminated in which order, and which others are affected. The pods may use
1.4 GB of memory and a disk of 900 MB in a file; the machine itself keeps enough of both. Needs root and loop devices.
  --only REGEXP   only the kinds whose names match
  --rounds N      turns of each kubelet: times are medians, other values are the worst (1). The Go kubelet checks every ten seconds, so
                  the time of a single turn depends on chance
  --alone         only this kubelet
  --kubelet FILE  another build of this kubelet
  --json          print JSON on the standard output
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
export function parsePressureOptions(argv: readonly string[]): PressureBenchOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ only: text(''), rounds: text('1'), kubelet: text(BUILT_KUBELET) },
      ...{ alone: flag, json: flag, help: flag },
    },
  });
  const { alone, json, help, kubelet } = values;
  const kinds = PRESSURE_KINDS.filter(({ name }) => new RegExp(values.only).test(name));
  if (kinds.length === 0) throw new Error('--only: must match the name of at least one kind');
  return { rounds: numberOption('--rounds', values.rounds, 1, 20), kinds, alone, json, help, kubelet };
}
