import { type DriverState, EMPTY_STATE, type SnapshotRecord, type VolumeRecord } from './records.ts';

/** Version of the state file's format. */
const VERSION = 1;

/** Returns the text of the state file. */
export function formatState(state: DriverState): string {
  return `${JSON.stringify({ version: VERSION, ...state }, undefined, 2)}\n`;
}

const VOLUME_FIELDS: Readonly<Record<string, string>> = {
  id: 'string',
  name: 'string',
  sequence: 'number',
  sizeBytes: 'number',
  backing: 'string',
  fsType: 'string',
  kind: 'string',
  parameters: 'object',
  mutableParameters: 'object',
  isEphemeral: 'boolean',
  isFormatted: 'boolean',
  mustGrow: 'boolean',
  staged: 'list',
  published: 'list',
};

const SNAPSHOT_FIELDS: Readonly<Record<string, string>> = {
  id: 'string',
  name: 'string',
  sequence: 'number',
  sourceVolumeId: 'string',
  sizeBytes: 'number',
  backing: 'string',
  fsType: 'string',
  isFormatted: 'boolean',
  createdAtMs: 'number',
};

/**
 * Parses the text of the state file; Returns the initial state for `undefined`, which stands for a missing file.
 * @throws Error that names the field
 */
export function parseState(text: string | undefined): DriverState {
  if (text === undefined) return EMPTY_STATE;
  const state = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (state.version !== VERSION) throw new Error(`version must be ${VERSION}, not ${String(state.version)}`);
  check(state, { nextSequence: 'number', volumes: 'list', snapshots: 'list' }, '');
  const { nextSequence, volumes, snapshots } = state as unknown as DriverState;
  for (const [index, volume] of volumes.entries()) check(volume, VOLUME_FIELDS, `volumes[${index}].`);
  for (const [index, snapshot] of snapshots.entries()) check(snapshot, SNAPSHOT_FIELDS, `snapshots[${index}].`);
  return { nextSequence, volumes, snapshots };
}

function check(
  value: object | SnapshotRecord | VolumeRecord,
  fields: Readonly<Record<string, string>>,
  prefix: string,
): void {
  for (const [name, type] of Object.entries(fields)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    const actual = Array.isArray(field) ? 'list' : field === null ? 'null' : typeof field;
    if (actual !== type) throw new Error(`${prefix}${name} must be a ${type}, not ${actual}`);
  }
}
