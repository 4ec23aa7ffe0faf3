import {
  compareUtf8,
  fnv32a,
  type GoDump,
  goMap,
  goPointer,
  goScalar,
  goSlice,
  goStruct,
} from '@node-agent/checkpoint';
import { goJson } from '@node-agent/pod-spec';
import type { MemoryBlock, MemoryNode, MemoryState, MemoryTable } from '../memory/memory-state.ts';
import { expectChecksum } from './expect-checksum.ts';
import { asCount, asList, asMap, asObject, asText } from './read-json.ts';

/** Name of the memory manager's state file in the kubelet's root directory. */
export const MEMORY_STATE_FILE = 'memory_manager_state';

/** Content of the memory manager's state file. */
export interface MemoryCheckpoint extends MemoryState {
  readonly policyName: string;
}

/** Maximum number of NUMA nodes, as in the kernel (`MAX_NUMNODES`). */
const MAX_NODES = 1024;
/** Maximum number of resources of a node. No processor has that many sizes of huge pages. */
const MAX_RESOURCES = 64;

/** Fields of a table in the file, in the order of their declaration, with the names of Go's structure. */
const TABLE = [
  ['total', 'TotalMemSize', 'total'],
  ['systemReserved', 'SystemReserved', 'systemReserved'],
  ['allocatable', 'Allocatable', 'allocatable'],
  ['reserved', 'Reserved', 'reserved'],
  ['free', 'Free', 'free'],
] as const satisfies readonly (readonly [json: string, go: string, field: keyof MemoryTable])[];

/**
 * Encodes the state like upstream with its default gates: version 1 (`pkg/kubelet/cm/memorymanager/state/checkpoint.go:
 * MemoryManagerCheckpointV1`). If the state has the field `pods`, even an empty one, the file has version 2, as
 * upstream writes it with the gate `PodLevelResourceManagers`. Equal states give equal bytes.
 */
export function encodeMemoryState(state: MemoryCheckpoint): string {
  const { policyName, nodes, assignments, pods: ofPods } = state;
  const table = (one: MemoryTable): string => `{${TABLE.map(([json, , field]) => `"${json}":${one[field]}`).join()}}`;
  const node = ({ assignments: count, tables, cells }: MemoryNode): string =>
    `{"numberOfAssignments":${count},"memoryMap":${jsonMap(tables, table)},"cells":[${cells.join()}]}`;
  const block = ({ nodes: ids, resource, bytes }: MemoryBlock): string =>
    `{"numaAffinity":[${ids.join()}],"type":${goJson(resource)},"size":${bytes}}`;
  const machine = jsonMap(new Map([...nodes].map(([id, one]) => [`${id}`, one] as const)), node);
  const list = (blocks: readonly MemoryBlock[]): string => `[${blocks.map(block).join()}]`;
  const pods = jsonMap(assignments, (containers) => jsonMap(containers, list));
  const entries = assignments.size === 0 ? '' : `"entries":${pods},`;
  const podJson = jsonMap(ofPods ?? new Map(), (blocks) =>
    blocks.length > 0 ? `{"memoryBlocks":${list(blocks)}}` : '{}',
  );
  const podEntries = (ofPods?.size ?? 0) === 0 ? '' : `"podEntries":${podJson},`;
  const checksum = checksumOf(policyName, dumpsOf(nodes, assignments), ofPods && podEntriesDump(ofPods));
  const head = `"policyName":${goJson(policyName)},"machineState":${machine}`;
  return `{${head},${entries}${podEntries}"checksum":${checksum}}`;
}

/**
 * Decodes a state file of version 1 or 2 (gate PodLevelResourceManagers). A checksum of 0 is accepted, because older
 * kubelets wrote no checksum.
 * @param podLevel gate `PodLevelResourceManagers`. If the gate is off, a file with memory of whole pods is rejected
 * @throws Error describing the problem
 */
export function decodeMemoryState(text: string, podLevel = false): MemoryCheckpoint {
  const file = asObject(JSON.parse(text), 'it');
  const machine = atMost(MAX_NODES, asMap(file.machineState, 'machineState') ?? [], 'machineState').map(
    ([id, value]) => {
      if (!/^\d{1,4}$/.test(id)) throw new Error(`machineState has ${JSON.stringify(id)}, must be a NUMA node`);
      return [Number(id), readNode(value, `machineState[${id}]`)] as const;
    },
  );
  const pods = (asMap(file.entries, 'entries') ?? []).map(([pod, value]) => {
    const containers = (asMap(value, `entries.${pod}`) ?? []).map(
      ([name, blocks]) => [name, readBlocks(blocks, `entries.${pod}.${name}`)] as const,
    );
    return [pod, new Map(containers)] as const;
  });
  const policyName = asText(file.policyName ?? '', 'policyName');
  const nodes = new Map(machine);
  const assignments = new Map(pods);
  const ofPods = (asMap(file.podEntries, 'podEntries') ?? []).map(([pod, value]) => {
    const { memoryBlocks = [] } = asObject(value, `podEntries.${pod}`);
    return [pod, readBlocks(memoryBlocks, `podEntries.${pod}.memoryBlocks`)] as const;
  });
  let dumps: StateDumps | undefined;
  const checksum = (podEntries?: GoDump) => (): number => {
    dumps ??= dumpsOf(nodes, assignments);
    return checksumOf(policyName, dumps, podEntries);
  };
  const version2 = checksum(podEntriesDump(ofPods));
  expectChecksum(file, ofPods.length > 0 ? [version2] : [checksum(), version2]);
  if (ofPods.length > 0 && !podLevel) {
    throw new Error(
      `pod ${ofPods[0]?.[0]} has pod-level memory, which needs the feature gate PodLevelResourceManagers`,
    );
  }
  return { policyName, nodes, assignments, ...(ofPods.length > 0 && { pods: new Map(ofPods) }) };
}

function readNode(value: unknown, field: string): MemoryNode {
  const { numberOfAssignments, memoryMap, cells } = asObject(value, field);
  const resources = asMap(memoryMap, `${field}.memoryMap`) ?? [];
  const tables = atMost(MAX_RESOURCES, resources, `${field}.memoryMap`).map(
    ([resource, table]) => [resource, readTable(table, `${field}.memoryMap.${resource}`)] as const,
  );
  return {
    assignments: asCount(numberOfAssignments, `${field}.numberOfAssignments`),
    tables: new Map(tables),
    cells: readNodeIds(cells, `${field}.cells`),
  };
}

function readTable(value: unknown, field: string): MemoryTable {
  const table = asObject(value, field);
  const amount = (name: string): number => asCount(table[name] ?? 0, `${field}.${name}`);
  return {
    total: amount('total'),
    systemReserved: amount('systemReserved'),
    allocatable: amount('allocatable'),
    reserved: amount('reserved'),
    free: amount('free'),
  };
}

function readBlocks(value: unknown, field: string): readonly MemoryBlock[] {
  return asList(value, field).map((one, index) => {
    const { numaAffinity, type, size } = asObject(one, `${field}[${index}]`);
    return {
      nodes: readNodeIds(numaAffinity, `${field}[${index}].numaAffinity`),
      resource: asText(type, `${field}[${index}].type`),
      bytes: asCount(size, `${field}[${index}].size`),
    };
  });
}

function readNodeIds(value: unknown, field: string): readonly number[] {
  return atMost(MAX_NODES, asList(value, field), field).map((id) => asCount(id, field));
}

/** Returns a list that has at most `most` elements. @throws Error that names the field if the list has more */
function atMost<T>(most: number, elements: readonly T[], field: string): readonly T[] {
  if (elements.length > most) throw new Error(`${field} must have at most ${most} elements, has ${elements.length}`);
  return elements;
}

interface StateDumps {
  readonly nodes: GoDump;
  readonly assignments: GoDump;
}

function dumpsOf(nodes: MemoryState['nodes'], assignments: MemoryState['assignments']): StateDumps {
  const containersDump = (containers: ReadonlyMap<string, readonly MemoryBlock[]>): GoDump =>
    goMap(
      '',
      [...containers].map(([name, blocks]) => [name, blocksDump(blocks)]),
    );
  return {
    nodes: goMap(
      'state.NUMANodeMap',
      [...nodes].map(([id, node]) => [id, nodeDump(node)]),
    ),
    assignments: goMap(
      'state.ContainerMemoryAssignments',
      [...assignments].map(([pod, containers]) => [pod, containersDump(containers)]),
    ),
  };
}

function blocksDump(blocks: readonly MemoryBlock[]): GoDump {
  return goSlice('[]state.Block', blocks.map(blockDump));
}

function podEntriesDump(pods: Iterable<readonly [string, readonly MemoryBlock[]]>): GoDump {
  return goMap(
    'state.PodMemoryAssignments',
    [...pods].map(([pod, blocks]) => [pod, goStruct('state.PodEntry', { MemoryBlocks: blocksDump(blocks) })]),
  );
}

function checksumOf(policyName: string, { nodes, assignments }: StateDumps, podEntries?: GoDump): number {
  const type = 'state.MemoryManagerCheckpoint';
  const checkpoint = goStruct(type, {
    PolicyName: goScalar('string', policyName),
    MachineState: nodes,
    Entries: assignments,
    ...(podEntries && { PodEntries: podEntries }),
    Checksum: goScalar('checksum.Checksum', 0),
  });
  return fnv32a(goPointer(type, checkpoint).typed);
}

function nodeDump({ assignments, tables, cells }: MemoryNode): GoDump {
  const type = 'state.MemoryTable';
  const table = (one: MemoryTable): GoDump =>
    goPointer(
      type,
      goStruct(type, Object.fromEntries(TABLE.map(([, go, field]) => [go, goScalar('uint64', one[field])]))),
    );
  const node = goStruct('state.NUMANodeState', {
    NumberOfAssignments: goScalar('int', assignments),
    MemoryMap: goMap(
      'map[v1.ResourceName]*state.MemoryTable',
      [...tables].map(([name, one]) => [name, table(one)]),
    ),
    Cells: intsDump(cells),
  });
  return goPointer('state.NUMANodeState', node);
}

function blockDump({ nodes, resource, bytes }: MemoryBlock): GoDump {
  return goStruct('state.Block', {
    NUMAAffinity: intsDump(nodes),
    Type: goScalar('v1.ResourceName', resource),
    Size: goScalar('uint64', bytes),
  });
}

function intsDump(numbers: readonly number[]): GoDump {
  return goSlice(
    '[]int',
    numbers.map((number) => goScalar('int', number)),
  );
}

/** Writes a map as JSON with its keys sorted by their UTF-8 bytes, as Go does. */
function jsonMap<T>(map: ReadonlyMap<string, T>, value: (one: T) => string): string {
  const entries = [...map].sort(([a], [b]) => compareUtf8(a, b));
  return `{${entries.map(([key, one]) => `${goJson(key)}:${value(one)}`).join()}}`;
}
