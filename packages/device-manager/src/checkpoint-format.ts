import { fnv32a } from '@node-agent/checkpoint';
import { goJson } from '@node-agent/pod-spec';
import type { DevicesByNuma } from './device.ts';

/** Devices that a container holds, in the checkpoint. */
interface CheckpointEntry {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly devices: DevicesByNuma;
  /** The plugin's `ContainerAllocateResponse` in wire format. */
  readonly response: Uint8Array;
}

/** State that survives a restart of the kubelet. */
export interface DeviceCheckpoint {
  readonly entries: readonly CheckpointEntry[];
  /** Resources with their healthy devices. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** Entry with the field names of the file (`checkpoint/checkpoint.go`). Go writes nil as null. */
interface Entry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | null;
  readonly AllocResp: string | null;
}

interface Data {
  readonly PodDeviceEntries: readonly Entry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}

/** Entry of the file as this package writes it, without null values. */
interface WrittenEntry extends Entry {
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
  readonly AllocResp: string;
}

/**
 * Encodes upstream's file `kubelet_internal_checkpoint`, so that a machine can switch between that kubelet and this one
 * (`pkg/kubelet/cm/devicemanager/checkpoint`). Equal content gives equal bytes, because entries and names are sorted.
 */
export function encodeCheckpoint({ entries, registered }: DeviceCheckpoint): string {
  // Upstream writes nil for an empty list.
  const written = entries.length === 0 ? null : entries.map(encodeEntry);
  const lists = Object.fromEntries(registered);
  // The map is encoded manually, because JSON.stringify orders numeric property names differently than Go.
  const map = (of: WrittenEntry['DeviceIDs']): string =>
    `{${Object.entries(of)
      .sort(byBytes)
      .map(([key, ids]) => `${goString(key)}:[${ids.map(goString).join()}]`)
      .join()}}`;
  const entry = (one: WrittenEntry): string => {
    const names = `"PodUID":${goString(one.PodUID)},"ContainerName":${goString(one.ContainerName)},"ResourceName":${goString(one.ResourceName)}`;
    return `{${names},"DeviceIDs":${map(one.DeviceIDs)},"AllocResp":"${one.AllocResp}"}`;
  };
  const all = written === null ? 'null' : `[${written.map(entry).join()}]`;
  const content = `{"PodDeviceEntries":${all},"RegisteredDevices":${map(lists)}}`;
  return `{"Data":${content},"Checksum":${dataChecksum({ PodDeviceEntries: written, RegisteredDevices: lists })}}`;
}

/** Sizes of an entry, and of the whole file, without names and lists. */
const ENTRY_BYTES = '{"PodUID":,"ContainerName":,"ResourceName":,"DeviceIDs":{},"AllocResp":""},'.length;
const WHOLE_BYTES = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":4294967295}'.length;

/**
 * Returns whether the result of {@link encodeCheckpoint} would exceed `maxBytes`, without creating it, because it might
 * exceed the maximum string length. The estimate counts a comma after each element of a list, including the last.
 */
export function isLargerThan({ entries, registered }: DeviceCheckpoint, maxBytes: number): boolean {
  let bytes = 0;
  // Counting stops at the first excess: names may repeat so often that counting all would take minutes.
  const fits = (more: number): boolean => {
    bytes += more;
    return bytes <= maxBytes;
  };
  const listsFit = (lists: ReadonlyMap<string | number, readonly string[]>): boolean =>
    [...lists].every(
      ([key, ids]) =>
        fits(jsonBytes(String(key)) + ':[],'.length) && ids.every((id) => fits(jsonBytes(id) + ','.length)),
    );
  const entryFits = ({ podUid, container, resource, devices, response }: CheckpointEntry): boolean =>
    fits(ENTRY_BYTES + jsonBytes(podUid) + jsonBytes(container) + jsonBytes(resource)) &&
    fits(Math.ceil(response.length / 3) * 4) &&
    listsFit(devices);
  return !(fits(WHOLE_BYTES) && entries.every(entryFits) && listsFit(registered));
}

/** Decodes a checkpoint file. @throws Error describing the problem */
export function decodeCheckpoint(text: string): DeviceCheckpoint {
  const { Data: data, Checksum: expected } = asObject(JSON.parse(text), 'it') as { Data?: unknown; Checksum?: unknown };
  const read = readData(data);
  const actual = dataChecksum(read);
  if (actual !== expected) throw new Error(`checksum is ${actual}, must be ${String(expected)}`);
  return {
    entries: (read.PodDeviceEntries ?? []).map(decodeEntry),
    registered: new Map(Object.entries(read.RegisteredDevices ?? {}).map(([name, ids]) => [name, ids ?? []])),
  };
}

function encodeEntry({ podUid, container, resource, devices, response }: CheckpointEntry): WrittenEntry {
  return {
    PodUID: podUid,
    ContainerName: container,
    ResourceName: resource,
    DeviceIDs: Object.fromEntries([...devices].map(([node, ids]) => [String(node), ids])),
    AllocResp: Buffer.from(response).toString('base64'),
  };
}

function decodeEntry({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }: Entry): CheckpointEntry {
  return {
    podUid: PodUID,
    container: ContainerName,
    resource: ResourceName,
    devices: new Map(Object.entries(DeviceIDs ?? {}).map(([node, ids]) => [Number(node), ids ?? []])),
    response: Buffer.from(AllocResp ?? '', 'base64'),
  };
}

function readData(value: unknown): Data {
  const { PodDeviceEntries: entries = null, RegisteredDevices: registered = null } = asObject(value, 'Data');
  if (entries !== null && !Array.isArray(entries)) throw new Error('Data.PodDeviceEntries must be a list');
  return {
    PodDeviceEntries: entries === null ? null : entries.map((entry, index) => readEntry(entry, index)),
    RegisteredDevices: readLists(registered, 'Data.RegisteredDevices'),
  };
}

function readEntry(value: unknown, index: number): Entry {
  const where = `Data.PodDeviceEntries[${index}]`;
  const {
    PodUID = '',
    ContainerName = '',
    ResourceName = '',
    DeviceIDs = null,
    AllocResp = null,
  } = asObject(value, where);
  const text = (of: unknown, name: string): string => {
    if (typeof of !== 'string') throw new Error(`${where}.${name} must be a string`);
    return of;
  };
  const devices = readLists(DeviceIDs, `${where}.DeviceIDs`);
  const stray = Object.keys(devices ?? {}).find((node) => !/^(0|-?[1-9]\d*)$/.test(node));
  if (stray !== undefined) throw new Error(`${where}.DeviceIDs has ${JSON.stringify(stray)}, must be a NUMA node`);
  return {
    PodUID: text(PodUID, 'PodUID'),
    ContainerName: text(ContainerName, 'ContainerName'),
    ResourceName: text(ResourceName, 'ResourceName'),
    DeviceIDs: devices,
    AllocResp: AllocResp === null ? null : text(AllocResp, 'AllocResp'),
  };
}

function readLists(value: unknown, where: string): Data['RegisteredDevices'] {
  if (value === null) return null;
  const lists = asObject(value, where);
  for (const [name, ids] of Object.entries(lists)) {
    const fits = ids === null || (Array.isArray(ids) && ids.every((id) => typeof id === 'string'));
    if (!fits) throw new Error(`${where}[${JSON.stringify(name)}] must be a list of strings`);
  }
  return lists as Data['RegisteredDevices'];
}

/**
 * Computes upstream's checksum: 32-bit FNV-1a of the text that go-spew prints for the structures
 * (`pkg/kubelet/checkpointmanager/checksum`, `%#v` with sorted keys).
 */
function dataChecksum({ PodDeviceEntries, RegisteredDevices }: Data): number {
  const list = (ids: readonly string[] | null): string => (ids === null ? '<nil>' : `[${ids.join(' ')}]`);
  const map = (of: Data['RegisteredDevices'], order: (a: Named, b: Named) => number): string =>
    of === null
      ? '<nil>'
      : `map[${Object.entries(of)
          .sort(order)
          .map(([key, ids]) => `${key}:${list(ids)}`)
          .join(' ')}]`;
  const entry = (one: Entry): string => {
    const names = `PodUID:(string)${one.PodUID} ContainerName:(string)${one.ContainerName} ResourceName:(string)${one.ResourceName}`;
    const bytes = one.AllocResp === null ? '<nil>' : `[${[...Buffer.from(one.AllocResp, 'base64')].join(' ')}]`;
    return `{${names} DeviceIDs:(checkpoint.DevicesPerNUMA)${map(one.DeviceIDs, byNumber)} AllocResp:([]uint8)${bytes}}`;
  };
  const entries = PodDeviceEntries === null ? '<nil>' : `[${PodDeviceEntries.map(entry).join(' ')}]`;
  const registered = map(RegisteredDevices, byBytes);
  return fnv32a(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} RegisteredDevices:(map[string][]string)${registered}}`,
  );
}

/**
 * Matches strings that JSON contains unescaped: nearly all names, of which there may be some 100,000. The size of such
 * a name is known without encoding it.
 */
const PLAIN = /^[ !#-%'-;=?-[\]-~]*$/;

/** Returns the size of a string in the file, including its quotes. */
export function jsonBytes(text: string): number {
  return PLAIN.test(text) ? text.length + 2 : Buffer.byteLength(goString(text));
}

function goString(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : goJson(text);
}

type Named = readonly [name: string, ids: unknown];

function byBytes([a]: Named, [b]: Named): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function byNumber([a]: Named, [b]: Named): number {
  return Number(a) - Number(b);
}

function asObject(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${where} must be an object`);
}
