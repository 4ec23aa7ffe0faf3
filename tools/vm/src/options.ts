import { parseArgs } from 'node:util';
import { SUITES, type SuiteName } from './share.ts';

/** Choice of upstream's specs for the suite `e2e-node`. */
export interface SpecOptions {
  /** Regular expressions; only specs with a matching name are run. Default: all specs of the suite. */
  readonly focus: readonly string[];
  /** Regular expressions; specs with a matching name are not run. */
  readonly skip: readonly string[];
  /** Whether the Go kubelet is tested instead of this kubelet. */
  readonly upstream: boolean;
  /** Directory for reports and logs. Default: `.reports/vm/e2e-node` in the repository. */
  readonly output: string | undefined;
}

/** Parsed command line. */
export type ParsedOptions =
  | { readonly what: 'help' }
  | { readonly what: 'build' }
  | { readonly what: 'test'; readonly suites: readonly SuiteName[]; readonly specs?: SpecOptions }
  | { readonly what: 'run'; readonly command: string; readonly share: string | undefined };

/** Text of `--help`. */
export const HELP = `Usage: npm run test-v2 -- [COMMAND] [options]
Runs tests that require cgroup v2 and systemd, in a virtual machine. Default command: test.
  test [SUITE ...]  run suites: groups, pressure, kubelet, shutdown, package, compare, numa, volumes, e2e-node (default:
                    all but compare, numa and e2e-node)
  build             build only the machine; the other commands build it if it is missing (some minutes, as root)
  run 'COMMAND'     run a command as root in a machine that is discarded afterwards
  --share DIRECTORY with run: directory that is /mnt/host in the machine (default: an empty one)
  --focus REGEXP    with e2e-node: only upstream's specs with matching names; may be given more than once
  --skip REGEXP     with e2e-node: no specs with matching names; may be given more than once
  --upstream        with e2e-node: test the Go kubelet
  --output DIR      with e2e-node: directory for the reports and logs (.reports/vm/e2e-node)
  --help
`;

/** Parses the command line. @throws Error that names the invalid argument */
export function parseOptions(argv: readonly string[]): ParsedOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      share: { type: 'string' },
      focus: { type: 'string', multiple: true },
      skip: { type: 'string', multiple: true },
      upstream: { type: 'boolean' },
      output: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return { what: 'help' };
  const [what = 'test', ...words] = positionals;
  if (values.share !== undefined && what !== 'run') throw new Error('--share: requires the command run');
  const suites = what === 'test' ? suitesOf(words) : [];
  const { focus, skip, upstream, output } = values;
  const chosen = Object.entries({ focus, skip, upstream, output }).find(([, value]) => value !== undefined);
  if (chosen !== undefined && !suites.includes('e2e-node'))
    throw new Error(`--${chosen[0]}: requires the suite e2e-node`);
  if (what === 'test') {
    const specs = { focus: focus ?? [], skip: skip ?? [], upstream: upstream ?? false, output };
    return { what, suites, ...(suites.includes('e2e-node') && { specs }) };
  }
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
  // The comparison with the Go kubelet takes several minutes, and numa and e2e-node boot a machine of their own. These
  // suites run only on request.
  return words.length === 0
    ? ['groups', 'pressure', 'kubelet', 'shutdown', 'package', 'volumes']
    : (words as readonly SuiteName[]);
}
