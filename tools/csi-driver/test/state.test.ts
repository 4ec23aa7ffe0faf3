import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { formatState, parseState } from '../src/state/parse-state.ts';
import { EMPTY_STATE } from '../src/state/records.ts';
import { StateStore } from '../src/state/state-store.ts';
import { snapshotRecord, volumeRecord } from './values.ts';

const state = { nextSequence: 3, volumes: [volumeRecord()], snapshots: [snapshotRecord()] };

describe('parseState', () => {
  test('parseState reads what formatState wrote', () => {
    expect(parseState(formatState(state))).toEqual(state);
    expect(parseState(undefined)).toBe(EMPTY_STATE);
  });

  test.each([
    ['{}', 'version must be 1, not undefined'],
    ['{"version":1,"nextSequence":1,"volumes":[]}', 'snapshots must be a list, not undefined'],
    [
      formatState({ ...state, volumes: [{ ...volumeRecord(), staged: null as never }] }),
      'volumes[0].staged must be a list, not null',
    ],
    [
      formatState({ ...state, snapshots: [{ ...snapshotRecord(), sizeBytes: '1' as never }] }),
      'snapshots[0].sizeBytes must be a number, not string',
    ],
  ])('parseState rejects %j', (text, message) => {
    expect(() => parseState(text)).toThrow(message);
  });
});

describe('StateStore', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'csi-state-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  test('a new StateStore has the records of the previous process', async () => {
    const store = new StateStore(join(directory, 'new'));
    await store.load();
    const first = volumeRecord({ id: 'a', sequence: store.nextSequence() });
    await store.putVolume(first);
    await store.putVolume({ ...first, sizeBytes: 200 });
    await Promise.all(['b', 'c'].map((id) => store.putVolume(volumeRecord({ id, sequence: store.nextSequence() }))));
    await store.putSnapshot(snapshotRecord());
    await store.removeVolume('b');
    const later = new StateStore(join(directory, 'new'));
    await later.load();
    expect(later.state).toEqual(store.state);
    expect(later.state.volumes.map(({ id, sizeBytes }) => [id, sizeBytes])).toEqual([
      ['a', 200],
      ['c', 100],
    ]);
    expect(later.nextSequence()).toBe(4);
  });

  test('the error of a StateStore with a damaged file names file and field, and the file is kept', async () => {
    const path = join(directory, 'state.json');
    await writeFile(path, '{"version":2}');
    await expect(new StateStore(directory).load()).rejects.toThrow(`read ${path}: version must be 1, not 2`);
    expect(await readFile(path, 'utf8')).toBe('{"version":2}');
  });
});
