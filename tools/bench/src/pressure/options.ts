import { parseArgs } from 'node:util';
import { BUILT_KUBELET } from '../command.ts';
import { numberOption } from '../number-option.ts';
import type { SideBySideOptions } from '../side-by-side.ts';
import { PRESSURE_KINDS, type PressureKind } from './kinds.ts';

/** What runs out, and how often. */
export interface PressureBenchOptions extends SideBySideOptions {
  readonly kubelet: string;
  readonly kinds: readonly PressureKind[];
  readonly json: boolean;
  readonly help: boolean;
}

/** What `--help` prints. */
export const HELP: string = `Usage: npm run bench-pressure -- [options]
Memory and a disk run out, with this kubelet and with the Go kubelet of the release that it follows, in turn: how long it takes from the
crossing of the threshold to the first signal, who is told to end in which order, and who else suffers. Pods may have 1.4 GB together and a
disk of 900 MB in a file: the machine itself runs out of nothing. Needs root and loop devices.
  --only REGEXP   only the kinds whose names match
  --rounds N      turns of each kubelet: times are the medians of them, all else the worst (1). The Go kubelet looks each ten seconds: one
                  turn of it is chance
  --alone         this kubelet only
  --kubelet FILE  another build of this kubelet
  --json          print JSON, on the standard output
  --help
`;

/** Reads the command line. @throws Error naming the option that is wrong */
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
  if (kinds.length === 0) throw new Error('--only: no kind has such a name');
  return { rounds: numberOption('--rounds', values.rounds, 1, 20), kinds, alone, json, help, kubelet };
}
