import { isIP } from 'node:net';
import { scalarValue, wanted } from '../decode.ts';
import { keyProblem, valueProblem } from '../labels.ts';
import { isObject } from '../merge.ts';
import type { FieldFlag, FieldType, Json } from '../schema/field.ts';
import {
  type Parsed,
  parseBoolean,
  parseCommaList,
  parseDecimal,
  parseInteger,
  parsePairs,
  splitPair,
} from './text-values.ts';

/**
 * Reads the text of a flag that mirrors a field. `previous` is the value from an earlier appearance of the flag. Lists
 * and maps are extended; any other value is replaced.
 */
export function parseFieldText(
  text: string,
  type: FieldType,
  syntax: FieldFlag['syntax'],
  previous: Json | undefined,
): Parsed<Json> {
  switch (syntax) {
    case 'ip':
      return isIP(text) !== 0 ? { value: text } : { problem: 'must be an IP address' };
    case 'decimal':
      return checked(parseDecimal(text).value, type);
    case 'headers':
      return headers(text, previous);
    case 'taints':
      return taints(text);
    case 'reservedMemory':
      return reservedMemory(text, previous);
    case 'vmodule':
      return vmodule(text, previous);
    default:
      return byType(text, type, syntax, previous);
  }
}

function byType(text: string, type: FieldType, syntax: FieldFlag['syntax'], previous: Json | undefined): Parsed<Json> {
  switch (type.kind) {
    case 'boolean':
      return parseBoolean(text);
    case 'integer':
      return checked(parseInteger(text).value, type);
    case 'list': {
      const parts = parseCommaList(text);
      if (parts.problem !== undefined) return parts;
      return { value: [...(Array.isArray(previous) ? previous : []), ...parts.value] };
    }
    case 'map':
      return entries(text, type.of, syntax, previous);
    default:
      return checked(text, type);
  }
}

function checked(value: string | number | undefined, type: FieldType): Parsed<Json> {
  const decoded = scalarValue(value, type);
  return decoded === undefined ? { problem: `must be ${wanted(type)}` } : { value: decoded };
}

function entries(text: string, of: FieldType, syntax: FieldFlag['syntax'], previous: Json | undefined): Parsed<Json> {
  const pairs = syntax === 'oneEntry' ? oneEntry(text) : parsePairs(text, syntax === 'thresholds' ? '<' : '=');
  if (pairs.problem !== undefined) return pairs;
  const members = new Map<string, Json>(Object.entries(isObject(previous) ? previous : {}));
  for (const [key, part] of pairs.value) {
    const value = byType(part, of, undefined, undefined);
    if (value.problem !== undefined) return { problem: `${key}: ${value.problem}, not ${JSON.stringify(part)}` };
    members.set(key, value.value);
  }
  return { value: Object.fromEntries(members) };
}

function oneEntry(text: string): Parsed<readonly (readonly [string, string])[]> {
  const pair = splitPair(text, '=');
  return pair === undefined ? { problem: 'must have the form key=value' } : { value: [pair] };
}

/** Parses `Name: value` pairs separated by commas. A name may occur more than once. */
function headers(text: string, previous: Json | undefined): Parsed<Json> {
  const pairs = parsePairs(text, ':');
  if (pairs.problem !== undefined) return pairs;
  const members = new Map<string, Json>(Object.entries(isObject(previous) ? previous : {}));
  for (const [name, value] of pairs.value) {
    const before = members.get(name);
    members.set(name, [...(Array.isArray(before) ? before : []), value]);
  }
  return { value: Object.fromEntries(members) };
}

const EFFECTS: ReadonlySet<string> = new Set(['NoSchedule', 'PreferNoSchedule', 'NoExecute']);

/**
 * Parses taints separated by commas: `key=value:effect` or `key:effect`. Each key and effect may occur once. A later
 * flag replaces the whole list. A trailing dash requests the removal of a taint and is ignored, because a node that
 * registers has no taints yet.
 */
function taints(text: string): Parsed<Json> {
  const found: Record<string, string>[] = [];
  const seen = new Set<string>();
  for (const part of text === '' ? [] : text.split(',')) {
    const isRemoval = part.endsWith('-');
    const [spec = '', effect, ...more] = (isRemoval ? part.slice(0, -1) : part).split(':');
    // A part without a colon has no effect name, so the whole part is the key.
    const [key = '', value = '', ...rest] = effect === undefined ? [spec] : spec.split('=');
    const isWhole = effect === undefined ? isRemoval : EFFECTS.has(effect);
    if (more.length > 0 || rest.length > 0 || !isWhole) {
      return {
        problem: `must have the form key=value:effect with effect NoSchedule, PreferNoSchedule or NoExecute, not ${JSON.stringify(part)}`,
      };
    }
    const problem = keyProblem(key) ?? valueProblem(value);
    if (problem !== undefined) return { problem };
    if (isRemoval || effect === undefined) continue;
    if (seen.has(`${key}:${effect}`)) return { problem: `the taint ${key}:${effect} is there twice` };
    seen.add(`${key}:${effect}`);
    found.push({ key, value, effect });
  }
  return { value: found };
}

/** Parses `0:memory=1Gi,hugepages-1Gi=2Gi`: NUMA nodes are separated by semicolons, and spaces are not allowed. */
function reservedMemory(text: string, previous: Json | undefined): Parsed<Json> {
  const found: Json[] = Array.isArray(previous) ? [...previous] : [];
  for (const part of text.split(';')) {
    const [node = '', list = '', ...more] = part.split(':');
    const numaNode = parseDecimal(node);
    const limits = list.split(',').map((limit) => limit.split('='));
    if (
      more.length > 0 ||
      numaNode.problem !== undefined ||
      /\s/.test(part) ||
      limits.some(({ length }) => length !== 2)
    ) {
      return { problem: `must have the form numaNode:type=quantity,type=quantity, not ${JSON.stringify(part)}` };
    }
    for (const [name = '', quantity = ''] of limits) {
      const value = checked(quantity, { kind: 'quantity' });
      if (value.problem !== undefined) return { problem: `${name}: ${value.problem}, not ${JSON.stringify(quantity)}` };
    }
    found.push({ numaNode: numaNode.value, limits: Object.fromEntries(limits) });
  }
  return { value: found };
}

/** Parses `pattern=N` pairs separated by commas. */
function vmodule(text: string, previous: Json | undefined): Parsed<Json> {
  const found: Json[] = Array.isArray(previous) ? [...previous] : [];
  for (const part of text.split(',')) {
    if (part === '') continue;
    const [filePattern = '', level = '', ...more] = part.split('=');
    if (filePattern === '' || more.length > 0 || !/^\d{1,10}$/.test(level) || Number(level) > 2_147_483_647) {
      return { problem: `must have the form pattern=N, not ${JSON.stringify(part)}` };
    }
    found.push({ filePattern, verbosity: Number(level) });
  }
  return { value: found };
}
