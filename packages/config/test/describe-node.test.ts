import { describe, expect, it } from 'vitest';
import { type ConfigNode, describe as describeNode } from '../src/document/node.ts';

const at = { line: 1, column: 1 };
const scalar = (value: null | boolean | number | bigint | string): ConfigNode => ({ kind: 'scalar', value, at });

describe('a value in an error', () => {
  it.each<[string, string, ConfigNode]>([
    ['a list', 'a list', { kind: 'list', items: [], at }],
    ['an object', 'an object', { kind: 'map', entries: [], at }],
    ['null', 'null', scalar(null)],
    ['true', 'a boolean', scalar(true)],
    ['false', 'a boolean', scalar(false)],
    ['the number 0', 'a number', scalar(0)],
    ['the number 18446744073709551616', 'a number', scalar(2n ** 64n)],
    ['the string ""', 'a string', scalar('')],
    ['the string "a\\"b"', 'a string', scalar('a"b')],
    [`the string "${'a'.repeat(60)}"`, 'a string', scalar('a'.repeat(60))],
    [`the string "b${'a'.repeat(56)}..."`, 'a string', scalar(`b${'a'.repeat(60)}`)],
  ])('an error message shows a value as %s, and as %s if the field is secret', (text, secret, node) => {
    expect(describeNode(node)).toBe(text);
    expect(describeNode(node, true)).toBe(secret);
  });
});
