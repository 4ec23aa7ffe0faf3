/** Sections of the output of `kubectl describe node` with the cells of their lines, by the name of the section. */
export type NodeDescription = ReadonlyMap<string, readonly (readonly string[])[]>;

/**
 * Splits the output of `kubectl describe node` of one node into its sections. `NAME: VALUE` lines have two cells. Lines
 * of tables have a cell per column, without the headings.
 */
export function parseNodeDescription(text: string): NodeDescription {
  const sections = new Map<string, (readonly string[])[]>();
  let rows: (readonly string[])[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const [, name, rest = ''] = /^([^\s:][^:]*):(.*)$/.exec(line) ?? [];
    if (name !== undefined) {
      rows = [];
      sections.set(name, rows);
    }
    const row = name === undefined ? line : rest;
    if (/^\s*-{2}/.test(row)) rows.length = 0;
    else if (row.trim() !== '' && row.trim() !== '<none>') rows.push(cellsOf(row.trim()));
  }
  return sections;
}

function cellsOf(line: string): readonly string[] {
  const [, name, value] = /^([^\s:][^:]*):\s+(.+)$/.exec(line) ?? [];
  const isField = name !== undefined && value !== undefined && !/\s{2}/.test(name);
  return isField ? [name, value] : line.split(/\s{2,}/);
}

const RESOURCES = ['cpu', 'ephemeral-storage', 'hugepages-1Gi', 'hugepages-2Mi', 'memory'];

interface ExpectedSection {
  readonly name: string;
  /** Values that must be in the given column; absent if the section differs between real nodes, too. */
  readonly cells?: { readonly column: number; readonly values: readonly string[] };
}

function section(name: string, values?: readonly string[], column = 0): ExpectedSection {
  return { name, ...(values && { cells: { column, values } }) };
}

/** Sections and rows of every real Linux node on x86 that runs pods and was registered within the last hour. */
const REAL_NODE: readonly ExpectedSection[] = [
  ...['Name', 'Roles', 'Labels', 'Annotations', 'CreationTimestamp', 'Taints', 'Unschedulable'].map((name) =>
    section(name),
  ),
  section('Lease', ['HolderIdentity', 'AcquireTime', 'RenewTime']),
  section('Conditions', ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready']),
  section(
    'Conditions',
    ['KubeletHasSufficientMemory', 'KubeletHasNoDiskPressure', 'KubeletHasSufficientPID', 'KubeletReady'],
    4,
  ),
  section('Addresses', ['InternalIP', 'Hostname']),
  section('Capacity', [...RESOURCES, 'pods']),
  section('Allocatable', [...RESOURCES, 'pods']),
  section('System Info', [
    ...['Machine ID', 'System UUID', 'Boot ID', 'Kernel Version', 'OS Image', 'Operating System', 'Architecture'],
    ...['Container Runtime Version', 'Kubelet Version'],
  ]),
  section('Non-terminated Pods'),
  section('Allocated resources', RESOURCES),
  section(
    'Events',
    [
      ...['Starting', 'NodeAllocatableEnforced', 'NodeHasSufficientMemory', 'NodeHasNoDiskPressure'],
      ...['NodeHasSufficientPID', 'RegisteredNode'],
    ],
    1,
  ),
];

/**
 * Returns what the description of a node lacks in comparison with real nodes.
 * @param pods names of the pods on the node
 */
export function descriptionProblems(description: NodeDescription, pods: readonly string[]): readonly string[] {
  const missing = REAL_NODE.flatMap(({ name, cells }) => {
    const rows = description.get(name);
    if (rows === undefined) return [`no section ${name}`];
    if (cells === undefined) return [];
    const found = new Set(rows.map((row) => row[cells.column]));
    return cells.values.filter((value) => !found.has(value)).map((value) => `${name}: ${value} is missing`);
  });
  const isReady = description.get('Conditions')?.some(([type, status]) => type === 'Ready' && status === 'True');
  const described = new Set(description.get('Non-terminated Pods')?.map(([, name]) => name));
  return [
    ...new Set(missing),
    ...(isReady ? [] : ['Conditions: the node is not Ready']),
    ...pods.filter((pod) => !described.has(pod)).map((pod) => `Non-terminated Pods: ${pod} is missing`),
  ];
}
