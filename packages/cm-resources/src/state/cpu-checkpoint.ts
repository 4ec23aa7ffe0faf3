import { compareUtf8, fnv32a, type GoDump, goMap, goPointer, goScalar, goStruct } from '@node-agent/checkpoint';
import { goJson } from '@node-agent/pod-spec';
import type { CpuAssignments, CpuState } from '../cpu/cpu-assignments.ts';
import { CpuSet } from '../cpuset/cpu-set.ts';
import { quoteStart } from '../cpuset/quote-start.ts';
import { expectChecksum } from './expect-checksum.ts';
import { asMap, asObject, asText } from './read-json.ts';

/** Name of the CPU manager's state file in the kubelet's root directory. */
export const CPU_STATE_FILE = 'cpu_manager_state';

/** Largest number of CPUs in all lists of a file. Init containers share CPUs with later containers of their pods. */
const MAX_CPUS = 16 * 65_536;

/** Content of the CPU manager's state file. */
export interface CpuCheckpoint extends CpuState {
  readonly policyName: string;
}

/** Reference to a container by pod UID and container name. */
export interface ContainerRef {
  readonly podUid: string;
  readonly container: string;
}

/**
 * Encodes the state like upstream with its default gates: version 2, with the checksum that older kubelets accept
 * (`pkg/kubelet/cm/cpumanager/state/checkpoint.go: CPUManagerCheckpointV2`). If the state has the field `pods`, even an
 * empty one, the file has version 3, as upstream writes it with the gate `PodLevelResourceManagers`. Equal states give
 * equal bytes.
 */
export function encodeCpuState({ policyName, shared, assignments, pods: ofPods }: CpuCheckpoint): string {
  const pods = [...assignments].map(([pod, containers]) => [pod, textsOf(containers)] as const);
  const json = sorted(pods).map(([pod, containers]) => {
    const names = sorted(containers).map(([name, cpus]) => `${goJson(name)}:${goJson(cpus)}`);
    return `${goJson(pod)}:{${names.join()}}`;
  });
  const entries = json.length === 0 ? '' : `"entries":{${json.join()}},`;
  const podJson = sorted([...(ofPods ?? [])]).map(([pod, cpus]) => `${goJson(pod)}:{"cpuSet":"${cpus}"}`);
  const podEntries = podJson.length === 0 ? '' : `"podEntries":{${podJson.join()}},`;
  const checksum = checksumOf(policyName, `${shared}`, mapOfMaps(pods), ofPods && podEntriesDump([...ofPods]));
  const head = `"policyName":${goJson(policyName)},"defaultCpuSet":"${shared}"`;
  return `{${head},${entries}${podEntries}"checksum":${checksum}}`;
}

/**
 * Decodes a state file of any version: 1 (entries by container id), 2, and 3 (gate PodLevelResourceManagers). A checksum
 * of 0 in version 1 or 2 is accepted, because older kubelets wrote no checksum.
 * @param containers containers by id, for a file of version 1
 * @param podLevel gate `PodLevelResourceManagers`. If the gate is off, a file with CPUs of whole pods is rejected
 * @throws Error describing the problem
 */
export function decodeCpuState(
  text: string,
  containers: ReadonlyMap<string, ContainerRef> = new Map(),
  podLevel = false,
): CpuCheckpoint {
  const file = asObject(JSON.parse(text), 'it');
  const policyName = asText(file.policyName ?? '', 'policyName');
  const shared = asText(file.defaultCpuSet ?? '', 'defaultCpuSet');
  const cpusIn = cpuReader();
  const head = { policyName, shared: cpusIn(shared, 'defaultCpuSet') };
  const entries = asMap(file.entries, 'entries');
  if (entries?.some(isVersion1)) {
    const byId = entries.map(([id, cpus]) => [id, asText(cpus, `entries[${JSON.stringify(id)}]`)] as const);
    expectChecksum(file, [() => checksumOf(policyName, shared, mapOfTexts(byId), undefined)]);
    return { ...head, assignments: assignmentsById(byId, containers, cpusIn) };
  }
  const pods = entries?.map(([pod, value]) => {
    const field = `entries[${JSON.stringify(pod)}]`;
    const containers = asMap(value, field) ?? [];
    return [pod, containers.map(([name, cpus]) => [name, asText(cpus, `${field}.${name}`)] as const)] as const;
  });
  const podCpus = (asMap(file.podEntries, 'podEntries') ?? []).map(([pod, value]) => {
    const field = `podEntries[${JSON.stringify(pod)}]`;
    return [pod, cpusIn(asText(asObject(value, field).cpuSet ?? '', `${field}.cpuSet`), `${field}.cpuSet`)] as const;
  });
  const dump = mapOfMaps(pods ?? null);
  const version2 = () => checksumOf(policyName, shared, dump, undefined);
  const version3 = () => checksumOf(policyName, shared, dump, podEntriesDump(podCpus));
  expectChecksum(file, podCpus.length > 0 ? [version3] : [version2, version3]);
  if (podCpus.length > 0 && !podLevel) {
    throw new Error(`pod ${podCpus[0]?.[0]} has pod-level CPUs, which need the feature gate PodLevelResourceManagers`);
  }
  const assignments = (pods ?? []).map(
    ([pod, containers]) =>
      [pod, new Map(containers.map(([name, cpus]) => [name, cpusIn(cpus, `entries.${pod}.${name}`)]))] as const,
  );
  return {
    ...head,
    assignments: new Map(assignments.filter(([, containers]) => containers.size > 0)),
    ...(podCpus.length > 0 && { pods: new Map(podCpus) }),
  };
}

/**
 * Reports whether a state file has entries of version 1, which can only be decoded if the containers are known by id.
 */
export function hasContainerIds(text: string): boolean {
  try {
    return asMap(asObject(JSON.parse(text), 'it').entries, 'entries')?.some(isVersion1) ?? false;
  } catch {
    // An invalid file is reported when it is decoded.
    return false;
  }
}

function isVersion1([, value]: readonly [string, unknown]): boolean {
  return typeof value === 'string';
}

function assignmentsById(
  entries: readonly (readonly [id: string, cpus: string])[],
  known: ReadonlyMap<string, ContainerRef>,
  cpusIn: CpuReader,
): CpuAssignments {
  const assignments = new Map<string, Map<string, CpuSet>>();
  for (const [id, cpus] of entries) {
    const ref = known.get(id);
    if (ref === undefined) throw new Error(`containerID '${id}' not found in initial containers list`);
    const containers = assignments.get(ref.podUid) ?? new Map<string, CpuSet>();
    assignments.set(ref.podUid, containers.set(ref.container, cpusIn(cpus, `entries.${id}`)));
  }
  return assignments;
}

/** Parses the CPU list of a field. @throws Error that names the field */
type CpuReader = (text: string, field: string) => CpuSet;

/** Returns a reader for the CPU lists of one file. The reader limits the total number of CPUs of all lists. */
function cpuReader(): CpuReader {
  let total = 0;
  return (text, field) => {
    let cpus: CpuSet;
    try {
      cpus = CpuSet.parse(text);
    } catch (cause) {
      throw new Error(`${field}: could not parse cpu set ${quoteStart(text)}`, { cause });
    }
    total += cpus.size;
    if (total > MAX_CPUS) throw new Error(`${field}: the cpu sets have more than ${MAX_CPUS} CPUs in total`);
    return cpus;
  };
}

function checksumOf(policyName: string, shared: string, entries: GoDump, podEntries: GoDump | undefined): number {
  const type = 'state.CPUManagerCheckpoint';
  const checkpoint = goStruct(type, {
    PolicyName: goScalar('string', policyName),
    DefaultCPUSet: goScalar('string', shared),
    Entries: entries,
    ...(podEntries && { PodEntries: podEntries }),
    Checksum: goScalar('checksum.Checksum', 0),
  });
  return fnv32a(goPointer(type, checkpoint).typed);
}

function mapOfTexts(entries: readonly (readonly [string, string])[]): GoDump {
  return goMap(
    'map[string]string',
    entries.map(([name, text]) => [name, goScalar('string', text)]),
  );
}

function mapOfMaps(pods: readonly (readonly [string, readonly (readonly [string, string])[]])[] | null): GoDump {
  return goMap(
    'map[string]map[string]string',
    pods?.map(([pod, entries]) => [pod, mapOfTexts(entries)] as const) ?? null,
  );
}

function podEntriesDump(pods: readonly (readonly [string, CpuSet])[]): GoDump {
  const entry = (cpus: CpuSet): GoDump => {
    // The set is printed in one step, because it can have 65,536 CPUs, each of which would be an empty structure.
    const elements = goScalar('map[int]struct {}', `map[${[...cpus].map((cpu) => `${cpu}:{}`).join(' ')}]`);
    return goStruct('state.PodEntry', { CPUSet: goStruct('cpuset.CPUSet', { elems: elements }) });
  };
  return goMap(
    'state.PodCPUAssignments',
    pods.map(([pod, cpus]) => [pod, entry(cpus)]),
  );
}

function textsOf(containers: ReadonlyMap<string, CpuSet>): readonly (readonly [string, string])[] {
  return [...containers].map(([name, cpus]) => [name, `${cpus}`] as const);
}

/** Sorts by key as Go does, by the bytes of UTF-8. */
function sorted<T extends readonly [string, unknown]>(entries: readonly T[]): readonly T[] {
  return [...entries].sort(([a], [b]) => compareUtf8(a, b));
}
