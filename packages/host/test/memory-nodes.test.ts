import { describe, expect, test } from 'vitest';
import { namesAt, pathsBelow } from '../src/memory/listing.ts';
import {
  appendTo,
  contentOf,
  type DirectoryNode,
  type FileNode,
  forgetUnsynced,
  type MemoryNode,
  setName,
  statOfNode,
  syncFile,
  syncNames,
  truncate,
  usedBytes,
} from '../src/memory/nodes.ts';
import { whyNotRename } from '../src/memory/rename-rule.ts';
import type { Resolved } from '../src/memory/resolve.ts';
import type { Found } from '../src/memory/tree.ts';

const attributes = { inode: 1, device: 1, mode: 0o644, uid: 2, gid: 3, modifiedAtMs: 4 };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const file = (text = '', synced = ''): FileNode => {
  const buffer = bytes(text);
  return { ...attributes, kind: 'file', buffer, sizeBytes: buffer.length, synced: bytes(synced) };
};
const directory = (
  entries: Readonly<Record<string, MemoryNode>> = {},
  unsynced: Readonly<Record<string, MemoryNode | undefined>> = {},
  device = 1,
): DirectoryNode => ({
  ...{ ...attributes, kind: 'directory', device },
  ...{ entries: new Map(Object.entries(entries)), unsynced: new Map(Object.entries(unsynced)) },
});
const link = (target: string): MemoryNode => ({ ...attributes, kind: 'symlink', target });
const fifo: MemoryNode = { ...attributes, kind: 'fifo' };
const textOf = (node: FileNode): string => new TextDecoder().decode(contentOf(node));

describe('files of the in-memory file system', () => {
  test('the buffer of an in-memory file grows in large steps as content is appended', () => {
    const node = file('ab');
    const buffers = new Set<Uint8Array>();
    let text = 'ab';
    for (let n = 0; n < 100; n++) {
      appendTo(node, bytes(`${n} `));
      text += `${n} `;
      expect(textOf(node)).toBe(text);
      buffers.add(node.buffer);
    }
    expect(buffers.size).toBeLessThan(12);
  });

  test('appending more than the size of an in-memory file reallocates exactly, and small appends use spare room', () => {
    const node = file('ab');
    appendTo(node, bytes('x'.repeat(9)));
    expect([textOf(node), node.buffer.length]).toEqual([`ab${'x'.repeat(9)}`, 11]);
    appendTo(node, bytes('yz'));
    expect([textOf(node), node.buffer.length]).toEqual([`ab${'x'.repeat(9)}yz`, 22]);
    const { buffer } = node;
    appendTo(node, bytes('z'.repeat(9)));
    expect([node.buffer === buffer, node.sizeBytes]).toEqual([true, 22]);
  });

  test('after a power loss an in-memory file has the content that was synced', () => {
    const kept = file('later', 'old');
    const root = directory({ kept, new: file('x') }, { new: undefined, gone: file('', 'gone') });
    forgetUnsynced(root);
    expect([...root.entries.keys()]).toEqual(['kept', 'gone']);
    expect([textOf(kept), kept.sizeBytes]).toEqual(['old', 3]);
    // Changes after the sync are not part of the synced content.
    contentOf(kept)[0] = 0x78;
    appendTo(kept, bytes('er'));
    forgetUnsynced(kept);
    expect(textOf(kept)).toBe('old');
    forgetUnsynced(fifo);
  });
});

test('a synced file takes no second buffer, and keeps its content until it is synced again', () => {
  const node = file('first');
  syncFile(node);
  expect(node.synced.buffer).toBe(node.buffer.buffer);
  appendTo(node, bytes(' more'));
  truncate(node);
  appendTo(node, bytes('other'));
  expect([textOf(node), Buffer.from(node.synced).toString()]).toEqual(['other', 'first']);
  forgetUnsynced(node);
  appendTo(node, bytes(' end'));
  expect([textOf(node), Buffer.from(node.synced).toString()]).toEqual(['first end', 'first']);
});

test('a directory records only the names that a power loss would change', () => {
  const [old, next] = [file('old'), file('next')];
  const parent = directory({ old, kept: old });
  setName(parent, 'old', next);
  setName(parent, 'old', undefined);
  setName(parent, 'new', next);
  setName(parent, 'kept', next);
  expect([...(parent.unsynced ?? [])]).toEqual([
    ['old', old],
    ['new', undefined],
    ['kept', old],
  ]);
  syncNames(parent, 'kept');
  forgetUnsynced(parent);
  expect([...parent.entries]).toEqual([
    ['kept', next],
    ['old', old],
  ]);
  expect(parent.unsynced).toBeUndefined();
  setName(parent, 'temporary', next);
  setName(parent, 'temporary', undefined);
  expect(parent.unsynced).toBeUndefined();
  setName(parent, 'new', next);
  syncNames(parent, 'new');
  setName(parent, 'other', next);
  syncNames(parent);
  expect(parent.unsynced).toBeUndefined();
});

describe('trees of the in-memory file system', () => {
  const shared = file('12345');
  const root = directory({ b: directory({ f: shared, l: link('to/where'), p: fifo }), a: shared, e: directory() });

  test('usedBytes counts each in-memory file once, and symbolic links by the length of their target', () => {
    expect(usedBytes(root)).toBe(5 + 8);
    expect([usedBytes(fifo), usedBytes(directory())]).toEqual([0, 0]);
  });

  test('in-memory files are listed in order of their paths', () => {
    expect(pathsBelow(root)).toEqual(['/a', '/b', '/b/f', '/b/l', '/b/p', '/e']);
    expect(pathsBelow(root, (parent, name) => parent !== root && name !== 'l')).toEqual(['/b/f', '/b/p']);
    expect(namesAt(root, '/')).toEqual(['a', 'b', 'e']);
    expect(namesAt(root, '//b/')).toEqual(['f', 'l', 'p']);
    expect([namesAt(root, '/a'), namesAt(root, '/b/f/x'), namesAt(root, '/x'), namesAt(root, '/x/y')]).toEqual([
      ...[[], [], [], []],
    ]);
  });

  test.each<[what: string, node: MemoryNode, size: number, allocated: number]>([
    ['an empty file', file(), 0, 0],
    ['a file of one byte', file('x'), 1, 4096],
    ['a file of one block', file('x'.repeat(4096)), 4096, 4096],
    ['a file of more than one block', file('x'.repeat(4097)), 4097, 8192],
    ['a link', link('abc'), 3, 0],
    ['a directory', root, 0, 0],
    ['a fifo', fifo, 0, 0],
  ])('the size and allocated size of %s in memory', (_what, node, sizeBytes, allocatedBytes) => {
    expect(statOfNode(node)).toEqual({ ...attributes, kind: node.kind, sizeBytes, allocatedBytes });
  });
});

describe('rules for a rename', () => {
  const [full, other] = [directory({ x: file() }), directory({}, {}, 2)];
  const parent = directory();
  const empty = directory();
  const from = (node: MemoryNode, name = 'a'): Found => ({ ...to(node, name), node }) as Found;
  const to = (node?: MemoryNode, name = 'b', more: Partial<Resolved> = {}): Resolved => ({
    ...{ parent, name, node, realPath: `/${name}`, ancestors: [parent] },
    ...more,
  });
  const one = file();

  test.each<[what: string, source: Found, target: Resolved, isMountPoint: boolean, code: string | undefined]>([
    ['of a file to a new name', from(one), to(), false, undefined],
    ['of a file to the name of another file', from(one), to(file()), false, undefined],
    ['of a link to a file’s name', from(link('x')), to(file()), false, undefined],
    ['of a file to its own name', from(one), to(one), false, undefined],
    ['of a directory to its own name', from(full), to(full), false, undefined],
    ['of a file to a directory’s name', from(one), to(empty), false, 'EISDIR'],
    ['of a directory to a new name', from(full), to(), false, undefined],
    ['of a directory to the name of an empty directory', from(full), to(empty), false, undefined],
    ['of a directory to the name of a directory with entries', from(empty), to(full), false, 'ENOTEMPTY'],
    ['of a directory to a file’s name', from(full), to(one), false, 'ENOTDIR'],
    ['of a directory to a name in it', from(full), to(undefined, 'b', { ancestors: [parent, full] }), false, 'EINVAL'],
    ['of a file to another device', from(one), to(undefined, 'b', { parent: other }), false, 'EXDEV'],
    ['of the root', from(full, ''), to(), false, 'EBUSY'],
    ['to the root', from(full), to(parent, ''), false, 'EBUSY'],
    ['of a mount point', from(full), to(), true, 'EBUSY'],
  ])('the error code of a rename %s is $4', (_what, source, target, isMountPoint, code) => {
    expect(whyNotRename(source, target, isMountPoint)).toBe(code);
  });
});
