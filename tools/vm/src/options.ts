import { parseArgs } from 'node:util';
import { SUITES, type SuiteName } from './share.ts';

/** What the command line asks for. */
export type Asked =
  | { readonly what: 'help' }
  | { readonly what: 'build' }
  | { readonly what: 'test'; readonly suites: readonly SuiteName[] }
  | { readonly what: 'run'; readonly command: string; readonly share: string | undefined };

/** What `--help` prints. */
export const HELP = `Usage: npm run test-v2 -- [COMMAND] [options]
Runs what takes cgroup v2 and systemd, in a virtual machine of its own. Without a command: test.
  test [SUITE ...]  runs suites: groups, pressure, kubelet, shutdown, compare (without one: all but the last)
  build             builds the machine alone; the others build it where there is none: some minutes, and root
  run 'COMMAND'     runs a command as root in a machine that is thrown away
  --share DIRECTORY what is /mnt/host in the machine of run (an empty one)
  --help
`;

/** @throws Error naming what is wrong */
export function parseOptions(argv: readonly string[]): Asked {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { share: { type: 'string' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) return { what: 'help' };
  const [what = 'test', ...words] = positionals;
  if (values.share !== undefined && what !== 'run') throw new Error('--share is for run alone');
  if (what === 'test') return { what, suites: suitesOf(words) };
  if (what === 'run') {
    const [command, ...more] = words;
    if (command === undefined || more.length > 0) throw new Error("run: want one command, in quotes: run 'COMMAND'");
    return { what, command, share: values.share };
  }
  if (what !== 'build') throw new Error(`unknown command ${JSON.stringify(what)}; there are test, build and run`);
  if (words.length > 0) throw new Error(`build takes nothing more: leave out ${words.join(' ')}`);
  return { what };
}

function suitesOf(words: readonly string[]): readonly SuiteName[] {
  const unknown = words.find((word) => !Object.hasOwn(SUITES, word));
  if (unknown !== undefined)
    throw new Error(`no suite ${JSON.stringify(unknown)}; there are ${Object.keys(SUITES).join(', ')}`);
  // Beside the Go kubelet only where that is asked for: it takes minutes more.
  return words.length === 0 ? ['groups', 'pressure', 'kubelet', 'shutdown'] : (words as readonly SuiteName[]);
}
