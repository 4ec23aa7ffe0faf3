import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { nodeFileSystem } from '@node-agent/host';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CheckpointFile } from '../src/checkpoint-file.ts';

let directory: string;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'checkpoint-'));
});

afterEach(() => {
  fs.rmSync(directory, { recursive: true });
});

describe('CheckpointFile', () => {
  it('K1: rejects a checkpoint above the maximum string length before encoding it', async () => {
    const id = 'x'.repeat(1024 * 1024);
    const devices = new Map(Array.from({ length: 1024 }, (_, node) => [node, [id]]));
    const entry = { podUid: 'u', container: 'main', resource: 'example.com/gpu', devices, response: Buffer.alloc(0) };
    const file = new CheckpointFile(nodeFileSystem, directory, () => ({ entries: [entry], registered: new Map() }));
    await expect(file.write()).rejects.toThrow('the content would exceed 67108864 bytes');
  });

  it.each([200, 2_000])(
    'K1: does not write a checkpoint that the next process could not read: Allocate response of %d bytes',
    async (bytes) => {
      let response = Buffer.from('small');
      const devices = new Map([[-1, ['a']]]);
      const entry = { podUid: 'u', container: 'main', resource: 'example.com/gpu', devices };
      const content = () => ({ entries: [{ ...entry, response }], registered: new Map() });
      const file = new CheckpointFile(nodeFileSystem, directory, content, 400);
      await file.write();
      response = Buffer.alloc(bytes);
      await expect(file.write()).rejects.toThrow(
        /^failed to write checkpoint file .*: the content would exceed 400 bytes$/,
      );
      expect((await file.read())?.entries[0]?.response).toEqual(Buffer.from('small'));
      // After the response has shrunk below the limit, the file is written again.
      response = Buffer.from('other');
      await file.write();
      expect((await file.read())?.entries[0]?.response).toEqual(Buffer.from('other'));
    },
  );
});
