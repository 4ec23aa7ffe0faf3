import { describe, expect, it } from 'vitest';
import { LineCounter, parseDocument, stringify, YAMLError } from '../src/index.ts';

describe('@node-agent/yaml', () => {
  it('parses YAML 1.1 as Kubernetes does, and names the line of a fault', () => {
    expect(parseDocument('a: yes\nb: 0777\n', { version: '1.1' }).toJS()).toEqual({ a: true, b: 0o777 });
    const lines = new LineCounter();
    const [error] = parseDocument('a: 1\nb: [\n', { lineCounter: lines }).errors;
    expect(error).toBeInstanceOf(YAMLError);
    expect(lines.linePos(error?.pos[0] ?? 0).line).toBe(3);
    expect(stringify({ a: [1] })).toBe('a:\n  - 1\n');
  });
});
