import { crc32 } from 'node:zlib';
import { goJson } from '@node-agent/pod-spec';
import { type ClaimInfo, claimKey, type PreparedDevice } from './claim-info.ts';

/** Part of a claim's state that survives a restart of the kubelet. */
export type StoredClaim = Pick<ClaimInfo, 'uid' | 'name' | 'namespace' | 'podUids' | 'drivers'>;

/** `CheckpointKind` and `CheckpointAPIVersion` of `pkg/kubelet/cm/dra/state/checkpoint.go`. */
const KIND = 'DRACheckpoint';
const API_VERSION = 'checkpoint.dra.kubelet.k8s.io/v1';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Encodes the file `dra_manager_state` in upstream's format, so that a machine can switch between the Go kubelet and
 * this one. The file contains the claims as JSON text, and the CRC-32 (IEEE) of that text. Equal claims give equal
 * bytes, whereas the order of upstream's list is random.
 */
export function encodeCheckpoint(claims: Iterable<StoredClaim>): string {
  const list = [...claims].sort((a, b) => byBytes(claimKey(a), claimKey(b))).map(encodeClaim);
  const data = `{"kind":"${KIND}","apiVersion":"${API_VERSION}","ClaimInfoStateList":[${list.join()}]}`;
  return `{"Data":${goJson(data)},"Checksum":${crc32(data)}}`;
}

/** Decodes the file `dra_manager_state`. @throws Error naming the invalid field */
export function decodeCheckpoint(text: string): readonly StoredClaim[] {
  const { Data: data, Checksum: expected } = fieldsOf(JSON.parse(text), 'it');
  if (typeof data !== 'string') throw new Error('Data must be a string');
  const actual = crc32(data);
  if (actual !== expected) throw new Error(`Checksum is ${String(expected)}, must be ${actual}`);
  const { ClaimInfoStateList: list } = fieldsOf(JSON.parse(data), 'Data');
  return listOf(list, 'ClaimInfoStateList').map((claim, index) => decodeClaim(claim, `ClaimInfoStateList[${index}]`));
}

// The JSON is assembled manually, because JavaScript orders property names that are numbers differently from Go.
function encodeClaim({ uid, name, namespace, podUids, drivers }: StoredClaim): string {
  const names = `"ClaimUID":${goJson(uid)},"ClaimName":${goJson(name)},"Namespace":${goJson(namespace)}`;
  const pods = [...podUids].sort(byBytes).map((podUid) => `${goJson(podUid)}:{}`);
  const states = [...drivers]
    .sort(([a], [b]) => byBytes(a, b))
    .map(([driver, devices]) => `${goJson(driver)}:{"Devices":${encodeList(devices.map(encodeDevice))}}`);
  return `{${names},"PodUIDs":{${pods.join()}},"DriverState":{${states.join()}}}`;
}

function encodeDevice({ pool, device, shareId, requestNames, cdiDeviceIds }: PreparedDevice): string {
  const names = `"PoolName":${goJson(pool)},"DeviceName":${goJson(device)}`;
  const share = shareId === undefined ? 'null' : goJson(shareId);
  const requests = encodeList(requestNames.map(goJson));
  return `{${names},"ShareID":${share},"RequestNames":${requests},"CDIDeviceIDs":${encodeList(cdiDeviceIds.map(goJson))}}`;
}

/** Encodes a list. An empty list becomes `null`, because Go has nil for a list that a driver left empty. */
function encodeList(elements: readonly string[]): string {
  return elements.length === 0 ? 'null' : `[${elements.join()}]`;
}

function decodeClaim(value: unknown, at: string): StoredClaim {
  const { ClaimUID, ClaimName, Namespace, PodUIDs, DriverState } = fieldsOf(value, at);
  const drivers = Object.entries(fieldsOf(DriverState ?? {}, `${at}.DriverState`)).map(([driver, state]) => {
    const where = `${at}.DriverState[${JSON.stringify(driver)}]`;
    const devices = listOf(fieldsOf(state, where).Devices, `${where}.Devices`);
    return [driver, devices.map((device, index) => decodeDevice(device, `${where}.Devices[${index}]`))] as const;
  });
  return {
    uid: textOf(ClaimUID, `${at}.ClaimUID`),
    name: textOf(ClaimName, `${at}.ClaimName`),
    namespace: textOf(Namespace, `${at}.Namespace`),
    podUids: new Set(Object.keys(fieldsOf(PodUIDs ?? {}, `${at}.PodUIDs`))),
    drivers: new Map(drivers),
  };
}

function decodeDevice(value: unknown, at: string): PreparedDevice {
  const { PoolName, DeviceName, ShareID, RequestNames, CDIDeviceIDs } = fieldsOf(value, at);
  const texts = (list: unknown, where: string): readonly string[] =>
    listOf(list, where).map((text, index) => textOf(text, `${where}[${index}]`));
  return {
    pool: textOf(PoolName, `${at}.PoolName`),
    device: textOf(DeviceName, `${at}.DeviceName`),
    // Files of older versions have no ShareID.
    ...(ShareID != null && { shareId: textOf(ShareID, `${at}.ShareID`) }),
    requestNames: texts(RequestNames, `${at}.RequestNames`),
    cdiDeviceIds: texts(CDIDeviceIDs, `${at}.CDIDeviceIDs`),
  };
}

function fieldsOf(value: unknown, at: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`${at} must be an object`);
}

function listOf(value: unknown, at: string): readonly unknown[] {
  if (value == null) return [];
  if (Array.isArray(value)) return value;
  throw new Error(`${at} must be a list`);
}

function textOf(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw new Error(`${at} must be a string`);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
