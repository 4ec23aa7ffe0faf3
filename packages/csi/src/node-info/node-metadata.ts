import type { CsiDriverNodeInfo } from '../client/responses.ts';

/** Labels and annotations of the Node object. */
export interface NodeMetadata {
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Changes of a Node's labels and annotations; `null` removes an annotation. */
export interface NodeMetadataPatch {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/** Annotation of the Node with the node ID of each driver, as a JSON object (`annotationKeyNodeID`). */
const NODE_ID = 'csi.volume.kubernetes.io/nodeid';

/**
 * Returns the changes of a Node for a registered driver: the driver's node ID in the annotation, and its topology as
 * labels (`nodeinfomanager.go: updateNodeIDInNode, updateTopologyLabels`); `undefined` if nothing changes.
 * @throws Error if the annotation cannot be read
 */
export function patchForDriver(
  node: NodeMetadata,
  name: string,
  { nodeId, topology }: CsiDriverNodeInfo,
): NodeMetadataPatch | undefined {
  const ids = nodeIds(node);
  const labels = Object.entries(topology).filter(([key, value]) => labelOf(node, key) !== value);
  return patchOf({
    ...(ids.get(name) !== nodeId && annotation(ids.set(name, nodeId))),
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
  });
}

/**
 * Returns why the driver's topology does not fit the Node: labels of other drivers, or of an administrator, are never
 * changed. Returns `undefined` if the topology fits.
 */
export function topologyCollision(node: NodeMetadata, { topology }: CsiDriverNodeInfo): string | undefined {
  for (const [key, value] of Object.entries(topology)) {
    const current = labelOf(node, key);
    if (current === undefined || current === value) continue;
    const [reported, existing] = [value, current].map((text) => `${JSON.stringify(key)}:${JSON.stringify(text)}`);
    return `detected topology value collision: driver reported ${reported} but existing label is ${existing}`;
  }
  return undefined;
}

/**
 * Returns the changes of a Node for a driver that is gone (`nodeinfomanager.go: removeNodeIDFromNode`); `undefined` if
 * nothing changes. As upstream, topology labels stay, because pods were scheduled by them. @throws Error if the
 * annotation cannot be read
 */
export function patchWithoutDriver(node: NodeMetadata, name: string): NodeMetadataPatch | undefined {
  const ids = nodeIds(node);
  return ids.delete(name) ? annotation(ids) : undefined;
}

/** Returns a label's value; a key may be named like a property of every object (`constructor`). */
function labelOf({ labels = {} }: NodeMetadata, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function patchOf(patch: NodeMetadataPatch): NodeMetadataPatch | undefined {
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function annotation(ids: ReadonlyMap<string, string>): NodeMetadataPatch {
  const sorted = [...ids].sort(([a], [b]) => (a < b ? -1 : 1));
  return { annotations: { [NODE_ID]: ids.size === 0 ? null : JSON.stringify(Object.fromEntries(sorted)) } };
}

function nodeIds({ annotations }: NodeMetadata): Map<string, string> {
  const text = annotations?.[NODE_ID] ?? '';
  if (text === '') return new Map();
  const problem = `failed to parse node's ${JSON.stringify(NODE_ID)} annotation value`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error(problem, { cause });
  }
  if (value === null) return new Map();
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`${problem}: must be an object`);
  const entries = Object.entries(value);
  if (!entries.every(([, id]) => typeof id === 'string')) throw new Error(`${problem}: values must be strings`);
  return new Map(entries as [string, string][]);
}
