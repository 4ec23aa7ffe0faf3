import { at, isObject, type JsonObject, listAt, numberAt, objectAt, textAt } from './json.ts';
import { parseTimestamp } from './time.ts';

interface Column {
  readonly name: string;
  readonly type?: 'string' | 'integer';
  /** Priority of the column: 1 if only the wide output shows the column. */
  readonly priority?: 1;
  readonly read: (object: JsonObject, nowMs: number) => unknown;
}

const nameColumn: Column = { name: 'Name', read: (object) => textAt(object, 'metadata', 'name') };
const ageColumn: Column = {
  name: 'Age',
  read: (object, nowMs) => age(at(object, 'metadata', 'creationTimestamp'), nowMs),
};

/** kubectl's columns for the most used kinds. Other kinds show name and age. */
const columns: Readonly<Record<string, readonly Column[]>> = {
  Pod: [
    nameColumn,
    { name: 'Ready', read: readyOfPod },
    { name: 'Status', read: statusOfPod },
    { name: 'Restarts', type: 'integer', read: restartsOfPod },
    ageColumn,
    { name: 'IP', priority: 1, read: (pod) => textAt(pod, 'status', 'podIP') || '<none>' },
    { name: 'Node', priority: 1, read: (pod) => textAt(pod, 'spec', 'nodeName') || '<none>' },
  ],
  Node: [
    nameColumn,
    { name: 'Status', read: statusOfNode },
    { name: 'Roles', read: rolesOfNode },
    ageColumn,
    { name: 'Version', read: (node) => textAt(node, 'status', 'nodeInfo', 'kubeletVersion') },
    {
      name: 'Container-Runtime',
      priority: 1,
      read: (node) => textAt(node, 'status', 'nodeInfo', 'containerRuntimeVersion'),
    },
  ],
  Event: [
    { name: 'Last Seen', read: (event, nowMs) => age(event.lastTimestamp ?? event.eventTime, nowMs) },
    { name: 'Type', read: (event) => textAt(event, 'type') },
    { name: 'Reason', read: (event) => textAt(event, 'reason') },
    { name: 'Object', read: objectOfEvent },
    { name: 'Message', read: (event) => (textAt(event, 'message') || textAt(event, 'note')).trim() },
  ],
  Lease: [nameColumn, { name: 'Holder', read: (lease) => textAt(lease, 'spec', 'holderIdentity') }, ageColumn],
  Namespace: [nameColumn, { name: 'Status', read: (namespace) => textAt(namespace, 'status', 'phase') }, ageColumn],
  ConfigMap: [
    nameColumn,
    {
      name: 'Data',
      type: 'integer',
      read: (map) => Object.keys({ ...objectAt(map, 'data'), ...objectAt(map, 'binaryData') }).length,
    },
    ageColumn,
  ],
  Secret: [
    nameColumn,
    { name: 'Type', read: (secret) => textAt(secret, 'type') },
    { name: 'Data', type: 'integer', read: (secret) => Object.keys(objectAt(secret, 'data')).length },
    ageColumn,
  ],
  Service: [
    nameColumn,
    { name: 'Type', read: (service) => textAt(service, 'spec', 'type') },
    { name: 'Cluster-IP', read: (service) => textAt(service, 'spec', 'clusterIP') || '<none>' },
    { name: 'Port(s)', read: portsOfService },
    ageColumn,
  ],
  CertificateSigningRequest: [
    nameColumn,
    ageColumn,
    { name: 'SignerName', read: (csr) => textAt(csr, 'spec', 'signerName') },
    { name: 'Requestor', read: (csr) => textAt(csr, 'spec', 'username') },
    { name: 'Condition', read: conditionsOfCsr },
  ],
};

/** Returns a list or an object as a `meta.k8s.io/v1` Table. */
export function toTable(body: JsonObject, includeObject: string, nowMs: number): JsonObject {
  const isList = Array.isArray(body.items);
  const kind = isList ? textAt(body, 'kind').replace(/List$/, '') : textAt(body, 'kind');
  const shown = columns[kind] ?? [nameColumn, ageColumn];
  const objects = (isList ? listAt(body, 'items') : [body]).filter(isObject);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: isList ? objectAt(body, 'metadata') : { resourceVersion: textAt(body, 'metadata', 'resourceVersion') },
    columnDefinitions: shown.map(({ name, type = 'string', priority = 0 }) => ({
      name,
      type,
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority,
    })),
    rows: objects.map((object) => ({
      cells: shown.map((column) => column.read(object, nowMs)),
      ...rowObject(object, includeObject),
    })),
  };
}

function rowObject(object: JsonObject, include: string): JsonObject {
  if (include === 'None') return {};
  if (include === 'Object') return { object };
  return { object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } };
}

/** Formats a duration like kubectl: one unit, or two units for small values. */
function age(since: unknown, nowMs: number): string {
  const sinceMs = parseTimestamp(since);
  if (sinceMs === undefined) return '<unknown>';
  const seconds = Math.max(Math.floor((nowMs - sinceMs) / 1000), 0);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  return `${days}d`;
}

function readyOfPod(pod: JsonObject): string {
  const ready = listAt(pod, 'status', 'containerStatuses').filter((status) => at(status, 'ready') === true).length;
  return `${ready}/${listAt(pod, 'spec', 'containers').length}`;
}

function statusOfPod(pod: JsonObject): string {
  if (at(pod, 'metadata', 'deletionTimestamp') !== undefined) return 'Terminating';
  const reasons = listAt(pod, 'status', 'containerStatuses').map(
    (status) => textAt(status, 'state', 'waiting', 'reason') || textAt(status, 'state', 'terminated', 'reason'),
  );
  return reasons.find((reason) => reason !== '') ?? (textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase'));
}

function restartsOfPod(pod: JsonObject): number {
  return listAt(pod, 'status', 'containerStatuses').reduce<number>(
    (sum, status) => sum + (numberAt(status, 'restartCount') ?? 0),
    0,
  );
}

function statusOfNode(node: JsonObject): string {
  const ready = listAt(node, 'status', 'conditions').find((one) => textAt(one, 'type') === 'Ready');
  const said = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return at(node, 'spec', 'unschedulable') === true ? `${said},SchedulingDisabled` : said;
}

function rolesOfNode(node: JsonObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.keys(objectAt(node, 'metadata', 'labels')).filter((label) => label.startsWith(prefix));
  return (
    roles
      .map((label) => label.slice(prefix.length))
      .sort()
      .join(',') || '<none>'
  );
}

function objectOfEvent(event: JsonObject): string {
  const about = objectAt(event, isObject(event.regarding) ? 'regarding' : 'involvedObject');
  return `${textAt(about, 'kind').toLowerCase()}/${textAt(about, 'name')}`;
}

function portsOfService(service: JsonObject): string {
  const ports = listAt(service, 'spec', 'ports').map((port) => `${numberAt(port, 'port')}/${textAt(port, 'protocol')}`);
  return ports.join(',') || '<none>';
}

function conditionsOfCsr(csr: JsonObject): string {
  const types = listAt(csr, 'status', 'conditions').map((one) => textAt(one, 'type'));
  const said = types.join(',') || 'Pending';
  return textAt(csr, 'status', 'certificate') === '' ? said : `${said},Issued`;
}
