import { define, isObject, type JsonObject, same } from '../core/json.ts';

/** A patch that cannot be applied to its target. */
export class PatchProblem extends Error {
  override readonly name: string = 'PatchProblem';
}

interface Operation {
  readonly op: string;
  readonly path: readonly string[];
  readonly from: readonly string[];
  readonly value: unknown;
}

/**
 * Applies a JSON patch (RFC 6902) to `document`, which may be modified.
 * @throws PatchProblem if the patch does not fit the document
 * @throws TypeError if the patch is malformed
 */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new TypeError('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  return patch.map(parseOperation).reduce(applyOperation, document);
}

function parseOperation(value: unknown): Operation {
  if (!isObject(value) || typeof value.op !== 'string')
    throw new TypeError('JSON patch operation: op must be a string');
  const { op, path, from } = value;
  if (!['add', 'remove', 'replace', 'move', 'copy', 'test'].includes(op)) {
    throw new PatchProblem(`Unexpected kind: ${op}`);
  }
  if (typeof path !== 'string') throw new TypeError('JSON patch operation: path must be a string');
  const needsFrom = op === 'move' || op === 'copy';
  if (needsFrom && typeof from !== 'string') throw new TypeError(`JSON patch ${op} operation: from must be a string`);
  return { op, path: parsePointer(path), from: needsFrom ? parsePointer(String(from)) : [], value: value.value };
}

function parsePointer(pointer: string): readonly string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw new PatchProblem(`invalid JSON pointer: ${pointer}`);
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function applyOperation(document: unknown, { op, path, from, value }: Operation): unknown {
  switch (op) {
    case 'add':
      return add(document, path, structuredClone(value ?? null));
    case 'remove':
      remove(document, path, 'remove');
      return document;
    case 'replace':
      read(document, path, 'replace');
      if (path.length === 0) return structuredClone(value);
      return replace(document, path, structuredClone(value ?? null));
    case 'move': {
      const moved = read(document, from, 'move');
      remove(document, from, 'move');
      return add(document, path, moved);
    }
    case 'copy':
      return add(document, path, structuredClone(read(document, from, 'copy')));
    default: {
      const found = read(document, path, 'test', true);
      if (!same(found ?? null, value ?? null))
        throw new PatchProblem(`testing value /${path.join('/')} failed: test failed`);
      return document;
    }
  }
}

function read(document: unknown, path: readonly string[], op: string, lenient = false): unknown {
  let here = document;
  for (const step of path) {
    if (isObject(here) && Object.hasOwn(here, step)) here = here[step];
    else if (Array.isArray(here) && isIndex(step) && Number(step) < here.length) here = here[Number(step)];
    else if (lenient && isObject(here)) return undefined;
    else throw missing(op, path);
  }
  return here;
}

function add(document: unknown, path: readonly string[], value: unknown): unknown {
  const [parent, key] = target(document, path, 'add');
  if (key === undefined) return value;
  if (Array.isArray(parent)) {
    if (key !== '-' && (!isIndex(key) || Number(key) > parent.length)) throw missing('add', path);
    parent.splice(key === '-' ? parent.length : Number(key), 0, value);
  } else define(parent, key, value);
  return document;
}

function replace(document: unknown, path: readonly string[], value: unknown): unknown {
  const [parent, key = ''] = target(document, path, 'replace');
  if (Array.isArray(parent)) parent[Number(key)] = value;
  else define(parent, key, value);
  return document;
}

function remove(document: unknown, path: readonly string[], op: string): void {
  read(document, path, op);
  const [parent, key] = target(document, path, op);
  if (key === undefined) throw new PatchProblem('remove operation: path must not be the whole document');
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

function target(document: unknown, path: readonly string[], op: string): [JsonObject | unknown[], string | undefined] {
  const parent = path.length === 0 ? {} : read(document, path.slice(0, -1), op);
  if (!isObject(parent) && !Array.isArray(parent)) throw missing(op, path);
  return [parent, path.at(-1)];
}

function isIndex(step: string): boolean {
  return /^(0|[1-9]\d*)$/.test(step);
}

function missing(op: string, path: readonly string[]): PatchProblem {
  return new PatchProblem(`${op} operation does not apply: doc is missing path: /${path.join('/')}: missing value`);
}
