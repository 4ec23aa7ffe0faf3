import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { nodeFileSystem } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { ContainerNotes } from '../src/reconcile/container-notes.ts';
import { PodStatusReader } from '../src/status/pod-status-reader.ts';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

const ROOT = '/var/lib/kubelet';
const DIRECTORY = `${ROOT}/pods/uid-1/containers`;
const FILE = `${DIRECTORY}/.notes.json`;
const restart = { reason: 'LivenessProbe', message: 'm' };

async function loaded(content: string): Promise<ContainerNotes> {
  const files = new MemoryFileSystem();
  await files.mkdir(DIRECTORY);
  await files.writeFile(FILE, content);
  const notes = new ContainerNotes({ fs: files, logger: silentLogger }, { rootDirectory: ROOT });
  await notes.load('uid-1');
  return notes;
}

describe('notes that an earlier kubelet process wrote about its containers', () => {
  test.each([
    ['is empty', ''],
    ['is truncated', '{"a":{"id":"1","restart":{"reason":"L'],
    ['contains no JSON object', '[{"id":"1"}]'],
    ['contains a note without an ID', '{"a":{"postStart":true}}'],
    ['contains a note with an invalid restart', '{"a":{"id":"1","restart":true}}'],
    ['contains a note without the replaced container', '{"a":{"id":"1","replaces":{"id":"0"}}}'],
  ])('the notes file of an earlier kubelet is ignored if it %s', async (_, content) => {
    expect((await loaded(content)).get('uid-1', 'a')).toBeUndefined();
  });

  test('valid notes of an earlier kubelet are read', async () => {
    const note = { id: '1', postStart: true, replaces: { id: '0', restart } };
    expect((await loaded(JSON.stringify({ a: note, b: 1 }))).get('uid-1', 'a')).toEqual(note);
  });

  test('W5: the notes file is ignored if it is larger than any kubelet writes', async () => {
    const notes = await loaded(JSON.stringify({ a: { id: '1', restart }, b: 'x'.repeat(5 * 1024 * 1024) }));
    expect(notes.get('uid-1', 'a')).toBeUndefined();
    await notes.put('uid-1', 'a', { id: '2', restart });
    expect(notes.get('uid-1', 'a')).toMatchObject({ id: '2' });
  });

  test.each(['a FIFO', 'a link to an endless device', 'a directory'])(
    'W6: a pod is not blocked if its notes file is %s',
    async (kind) => {
      const root = fs.mkdtempSync(path.join(os.tmpdir(), 'notes-'));
      try {
        const file = path.join(root, 'pods/uid-1/containers/.notes.json');
        fs.mkdirSync(path.dirname(file), { recursive: true });
        if (kind === 'a FIFO') execFileSync('mkfifo', [file]);
        else if (kind === 'a directory') fs.mkdirSync(file);
        else fs.symlinkSync('/dev/zero', file);
        const notes = new ContainerNotes({ fs: nodeFileSystem, logger: silentLogger }, { rootDirectory: root });
        await notes.load('uid-1');
        await notes.put('uid-1', 'a', { id: '1', restart });
        expect(notes.get('uid-1', 'a')).toEqual({ id: '1', restart });
      } finally {
        fs.rmSync(root, { recursive: true });
      }
    },
  );

  test('notes that could not be saved are saved by the next sync', async () => {
    const files = new MemoryFileSystem();
    const notesOf = () => new ContainerNotes({ fs: files, logger: silentLogger }, { rootDirectory: ROOT });
    const notes = notesOf();
    await notes.load('uid-1');
    const fault = files.injectFault({ code: 'ENOSPC', path: DIRECTORY, times: Number.POSITIVE_INFINITY });
    await notes.put('uid-1', 'a', { id: '1', restart });
    await notes.load('uid-1');
    fault.remove();
    expect((await notesOf().read('uid-1')).get('a')).toBeUndefined();
    await notes.load('uid-1');
    expect((await notesOf().read('uid-1')).get('a')).toEqual({ id: '1', restart });
  });

  test('notes of many containers that stop at the same time are saved in two writes', async () => {
    const files = new MemoryFileSystem();
    const { writeFileAtomic } = files;
    let writes = 0;
    files.writeFileAtomic = (...args) => {
      writes++;
      return writeFileAtomic.apply(files, args);
    };
    const notes = new ContainerNotes({ fs: files, logger: silentLogger }, { rootDirectory: ROOT });
    const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
    await Promise.all(names.map((name) => notes.put('uid-1', name, { id: name, restart })));
    const next = new ContainerNotes({ fs: files, logger: silentLogger }, { rootDirectory: ROOT });
    await next.load('uid-1');
    expect(names.every((name) => next.get('uid-1', name) !== undefined)).toBe(true);
    expect(writes).toBeLessThanOrEqual(2);
  });

  test('K4: reading the status of a forgotten pod keeps no notes in memory', async () => {
    const machine = new Machine();
    await machine.sync(machine.kubelet(), pod({ containers: [sleeper('a'), sleeper('b')] }));
    const { cri, fs: files, clock } = machine;
    const notes = new ContainerNotes({ fs: files, logger: silentLogger }, { rootDirectory: ROOT });
    const reader = new PodStatusReader({ cri, fs: files, clock, notes }, { rootDirectory: ROOT });
    notes.forget('uid-1');
    const { containers } = await machine.settle(reader.read('uid-1', 'web', 'default'));
    expect(containers).toHaveLength(2);
    expect(notes.size).toBe(0);
  });
});
