import { parseArgs } from 'node:util';
import { SUITES, type SuiteName } from './share.ts';

/** Parsed command line. */
export type ParsedOptions =
  | { readonly what: 'help' }
  | { readonly what: 'build' }
  | { readonly what: 'test'; readonly suites: readonly SuiteName[] }
  | { readonly what: 'run'; readonly command: string; readonly share: string | undefined };

/** Text of `--help`. */
export const HELP = `Usage: npm run test-v2 -- [COMMAND] [options]
Runs tests that require cgroup v2 and systemd, in a virtual machine. Default command: test.
  test [SUITE ...]  run suites: groups, pressure, kubelet, shutdown, package, compare, numa, volumes (default: all but
                    compare and numa)
  build             build only the machine; the other commands build it if it is missing (some minutes, as root)
  run 'COMMAND'     run a command as root in a machine that is discarded afterwards
  --share DIRECTORY with run: directory that is /mnt/host in the machine (default: an empty one)
  --help
`;

/** Parses the command line. @throws Error that names the invalid argument */
export function parseOptions(argv: readonly string[]): ParsedOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { share: { type: 'string' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) return { what: 'help' };
  const [what = 'test', ...words] = positionals;
  if (values.share !== undefined && what !== 'run') throw new Error('--share: requires the command run');
  if (what === 'test') return { what, suites: suitesOf(words) };
  if (what === 'run') {
    const [command, ...more] = words;
    if (command === undefined || more.length > 0)
      throw new Error("run: must have one command in quotes: run 'COMMAND'");
    return { what, command, share: values.share };
  }
  if (what !== 'build') throw new Error(`unknown command ${JSON.stringify(what)}; must be test, build or run`);
  if (words.length > 0) throw new Error(`build: must have no arguments: remove ${words.join(' ')}`);
  return { what };
}

function suitesOf(words: readonly string[]): readonly SuiteName[] {
  const unknown = words.find((word) => !Object.hasOwn(SUITES, word));
  if (unknown !== undefined)
    throw new Error(`unknown suite ${JSON.stringify(unknown)}; must be one of ${Object.keys(SUITES).join(', ')}`);
  // The comparison with the Go kubelet takes several minutes, and numa boots a machine of its own. These suites run only
  // on request.
  return words.length === 0
    ? ['groups', 'pressure', 'kubelet', 'shutdown', 'package', 'volumes']
    : (words as readonly SuiteName[]);
}
