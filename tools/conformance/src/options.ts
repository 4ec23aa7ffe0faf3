import { parseArgs } from 'node:util';
import { type ClusterFeatures, LONG_SPEC, SELECTIONS, type SelectionName, type SuiteName } from './selections.ts';

/** Options of the command. */
export interface ConformanceOptions {
  /** Selection that provides the defaults of suite, labels, focus and skip. */
  readonly selection: SelectionName;
  /** Suite: `e2e` for cluster specs, `e2e_node` for node specs. */
  readonly suite: SuiteName;
  /** Label expression of ginkgo. */
  readonly labels: string;
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  /** Whether the run has its own file system, so that the machine's disk is not filled. */
  readonly ownDisk: boolean;
  /** Whether the images of CSI drivers are built. */
  readonly deploysDrivers: boolean;
  /** Whether the image of the host path driver is built, which has a proxy mode. */
  readonly deploysProxy: boolean;
  /** Features of the cluster that are off by default. */
  readonly cluster: ClusterFeatures;
  readonly processes: number;
  /** Whether the machine's containerd is used instead of the newest tested version. */
  readonly installedContainerd: boolean;
  /** Path of another kubelet. A file that ends in `.js` is run with Node. */
  readonly kubelet: string | undefined;
  /** Whether the Go kubelet is run once, before the tested kubelet. */
  readonly compare: boolean;
  /** Number of runs of the tested kubelet. */
  readonly repeat: number;
  /**
   * Minutes between the starts of two runs, which may overlap. If undefined, a run starts when the previous one has
   * ended.
   */
  readonly apart: number | undefined;
  /** Seed for the order of the specs, equal for all runs. */
  readonly seed: number;
  /** Directory for reports and logs. */
  readonly output: string;
  /** Whether docs/reports/conformance.md is written. */
  readonly writeDocs: boolean;
  /** Whether the earlier runs in docs/reports/conformance.md are kept and counted. */
  readonly continues: boolean;
  readonly long: boolean;
  /** Whether e2e_node also runs the specs that e2e contains. */
  readonly common: boolean;
  readonly list: boolean;
  /** Whether to build nothing. If a program is missing, the command exits with 77, which means "skipped". */
  readonly there: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run conformance -- [options]
Runs specs of upstream's end-to-end suites against this kubelet: on a private control plane, containerd and network, with images
that are built here. Needs root. Exits with 1 if a spec failed or no spec was run; with --compare, if a spec passed with the Go
kubelet but not with this one.
  --selection NAME      ${Object.keys(SELECTIONS).join(', ')} (node-conformance)
  --suite NAME          e2e or e2e_node (default: the selection's)
  --labels EXPR         specs with these labels, as in ginkgo's --label-filter (default: the selection's)
  --focus REGEXP        only specs with matching names; may be given more than once
  --skip REGEXP         no specs with matching names; may be given more than once
  --long                also specs that take half an hour
  --common              with e2e_node, also the specs that e2e contains
  --processes N         number of specs that run in parallel (12)
  --repeat N            number of runs, one after another (1)
  --apart MINUTES       start each run this long after the previous one, even if that still runs: for specs that mostly wait
  --seed N              seed for the order of the specs in each run (the time)
  --kubelet PATH        another kubelet
  --compare             also run the Go kubelet once, and report what passes with it only
  --installed-containerd  use the machine's containerd instead of 2.4
  --output DIR          directory for reports and logs (.reports/conformance)
  --docs                write the selection's part of docs/reports/conformance.md; the commit must be on main
  --continue            with --docs: keep and count the earlier runs in the document, also those of the Go kubelet
  --there               build nothing; exit with 77 if a program is missing
  --list                only print the selected specs
  -h, --help
`;

/**
 * Parses the command line.
 * @param now time in ms since 1970
 * @throws Error that names the invalid option
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
        throw new Error(`--${option}: must be a regular expression, is ${JSON.stringify(pattern)}`, { cause });
      }
    }
  }
  const { selection } = values;
  if (!isSelection(selection))
    throw new Error(
      `--selection: must be one of ${Object.keys(SELECTIONS).join(', ')}, is ${JSON.stringify(selection)}`,
    );
  const named = SELECTIONS[selection];
  const { suite = named.suite } = values;
  if (suite !== 'e2e' && suite !== 'e2e_node')
    throw new Error(`--suite: must be e2e or e2e_node, is ${JSON.stringify(suite)}`);
  const whole =
    values.suite === undefined &&
    values.labels === undefined &&
    values.focus.length + values.skip.length === 0 &&
    !values.long &&
    !values.common;
  if (values.docs && !whole) throw new Error('--docs: requires a whole selection without other choices of specs');
  if (values.docs && values.kubelet !== undefined) throw new Error('--docs: cannot be combined with --kubelet');
  if (values.continue && !values.docs) throw new Error('--continue: requires --docs');
  return {
    selection,
    suite,
    labels: values.labels ?? named.labels,
    focus: values.focus.length > 0 ? values.focus : named.focus,
    skip: [...named.skip, ...values.skip, ...(values.long ? [] : [LONG_SPEC])],
    long: values.long,
    common: values.common,
    ownDisk: named.fillsDisk ?? false,
    deploysDrivers: named.deploysDrivers ?? false,
    deploysProxy: named.deploysProxy ?? false,
    cluster: named.cluster ?? { gates: [], apis: [] },
    processes: count('processes', values.processes, 64),
    repeat: count('repeat', values.repeat, 100),
    apart: values.apart === undefined ? undefined : count('apart', values.apart, 600),
    seed: count('seed', values.seed, 2 ** 32),
    kubelet: values.kubelet,
    compare: values.compare,
    installedContainerd: values['installed-containerd'],
    output: values.output,
    writeDocs: values.docs,
    continues: values.continue,
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
  throw new Error(`--${option}: must be an integer from 1 to ${most}, is ${JSON.stringify(text)}`);
}
