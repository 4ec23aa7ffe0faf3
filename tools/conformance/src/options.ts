import { parseArgs } from 'node:util';
import { LONG_SPEC, SELECTIONS, type SelectionName, type SuiteName } from './selections.ts';

/** What is run, and on what. */
export interface ConformanceOptions {
  /** The selection that the rest begins with. */
  readonly selection: SelectionName;
  /** Whose specs: those of clusters, `e2e`, or those of nodes, `e2e_node`. */
  readonly suite: SuiteName;
  /** Of ginkgo: an expression over labels. */
  readonly labels: string;
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  /** Whether the run has a file system of its own, and the machine's is left alone. */
  readonly ownDisk: boolean;
  readonly processes: number;
  /** The containerd of the machine rather than the newest that is known to work. */
  readonly installedContainerd: boolean;
  /** A kubelet that is not this repository's; one that ends in `.js` is run by Node. */
  readonly kubelet: string | undefined;
  /** The Go kubelet is run too: first, and once. */
  readonly compare: boolean;
  /** How often the kubelet that is looked at is run. */
  readonly repeat: number;
  /** How many minutes after the one before it a run begins, whether that is over or not; `undefined`: when it is over. */
  readonly apart: number | undefined;
  /** What ginkgo orders the specs by: the same for all runs. */
  readonly seed: number;
  /** Where reports and logs go. */
  readonly output: string;
  /** Whether docs/reports/conformance.md is written. */
  readonly writeDocs: boolean;
  /** The runs that docs/reports/conformance.md has of the selection count on. */
  readonly goOn: boolean;
  readonly long: boolean;
  /** Specs that both suites have are run where they are not the first suite's too. */
  readonly common: boolean;
  readonly list: boolean;
  /** Nothing is built for it: where a program is missing, that is told by an exit code of its own. */
  readonly there: boolean;
  readonly help: boolean;
}

/** What `--help` prints. */
export const HELP: string = `Usage: npm run conformance -- [options]
Runs specs of upstream's end-to-end suites against this kubelet: on a private control plane, containerd and network, with images
that are made here. Needs root. Exits with 1 where a spec has failed, or none was run; with --compare, one that passes with the
Go kubelet.
  --selection NAME      ${Object.keys(SELECTIONS).join(', ')} (node-conformance)
  --suite NAME          e2e, or e2e_node (the selection's)
  --labels EXPR         specs with these labels, as ginkgo's --label-filter (the selection's)
  --focus REGEXP        only specs of these names; may be given more than once
  --skip REGEXP         no specs of these names; may be given more than once
  --long                specs of half an hour too
  --common              of e2e_node also the specs that e2e has
  --processes N         how many run at once (12)
  --repeat N            how often, one after another (1)
  --apart MINUTES       begin each run so long after the one before, which may go on: for specs that wait more than they work
  --seed N              what the specs are ordered by, in each run (the time)
  --kubelet PATH        another kubelet
  --compare             the Go kubelet too, once, and what passes there and not here
  --installed-containerd  the machine's containerd rather than 2.4
  --output DIR          where reports and logs go (.reports/conformance)
  --docs                write the selection's part of docs/reports/conformance.md; of a commit that is on main
  --continue            with --docs: the runs that the page has of the selection count on, and the Go kubelet's with them
  --there               build nothing; exit with 77 where a program is missing
  --list                only tell the specs that are chosen
  -h, --help
`;

/**
 * Reads the command line.
 * @param now in milliseconds since 1970
 * @throws Error naming the option that is wrong
 */
export function parseConformanceOptions(argv: readonly string[], now: number = Date.now()): ConformanceOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      selection: { type: 'string', default: 'node-conformance' },
      suite: { type: 'string' },
      labels: { type: 'string' },
      focus: { type: 'string', multiple: true, default: [] },
      skip: { type: 'string', multiple: true, default: [] },
      long: { type: 'boolean', default: false },
      common: { type: 'boolean', default: false },
      processes: { type: 'string', default: '12' },
      repeat: { type: 'string', default: '1' },
      apart: { type: 'string' },
      seed: { type: 'string', default: String(Math.trunc(now / 1000)) },
      kubelet: { type: 'string' },
      compare: { type: 'boolean', default: false },
      'installed-containerd': { type: 'boolean', default: false },
      output: { type: 'string', default: '.reports/conformance' },
      docs: { type: 'boolean', default: false },
      continue: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      there: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  for (const [option, patterns] of Object.entries({ focus: values.focus, skip: values.skip })) {
    for (const pattern of patterns) {
      try {
        new RegExp(pattern);
      } catch (cause) {
        throw new Error(`--${option}: ${JSON.stringify(pattern)} is not a regular expression`, { cause });
      }
    }
  }
  const { selection } = values;
  if (!isSelection(selection))
    throw new Error(`--selection: ${JSON.stringify(selection)} is none of ${Object.keys(SELECTIONS).join(', ')}`);
  const named = SELECTIONS[selection];
  const { suite = named.suite } = values;
  if (suite !== 'e2e' && suite !== 'e2e_node')
    throw new Error(`--suite: ${JSON.stringify(suite)} is neither e2e nor e2e_node`);
  const whole =
    values.suite === undefined &&
    values.labels === undefined &&
    values.focus.length + values.skip.length === 0 &&
    !values.long &&
    !values.common;
  if (values.docs && !whole) throw new Error('--docs: a page is written of whole selections alone');
  if (values.docs && values.kubelet !== undefined) throw new Error('--docs: a page is written of this kubelet alone');
  if (values.continue && !values.docs) throw new Error('--continue: only with --docs, whose page has the earlier runs');
  return {
    selection,
    suite,
    labels: values.labels ?? named.labels,
    focus: values.focus.length > 0 ? values.focus : named.focus,
    skip: [...named.skip, ...values.skip, ...(values.long ? [] : [LONG_SPEC])],
    long: values.long,
    common: values.common,
    ownDisk: named.fillsDisk ?? false,
    processes: count('processes', values.processes, 64),
    repeat: count('repeat', values.repeat, 100),
    apart: values.apart === undefined ? undefined : count('apart', values.apart, 600),
    seed: count('seed', values.seed, 2 ** 32),
    kubelet: values.kubelet,
    compare: values.compare,
    installedContainerd: values['installed-containerd'],
    output: values.output,
    writeDocs: values.docs,
    goOn: values.continue,
    list: values.list,
    there: values.there,
    help: values.help,
  };
}

function isSelection(name: string): name is SelectionName {
  return Object.hasOwn(SELECTIONS, name);
}

function count(option: string, text: string, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`--${option}: ${JSON.stringify(text)} is not a whole number from 1 to ${most}`);
}
