import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseResolvConf } from '../src/resolv-conf.ts';

describe('parseResolvConf', () => {
  it('parseResolvConf combines name servers, and uses the last search line and the last value of each option', () => {
    const text = `# nameserver 9.9.9.9
nameserver 10.0.0.1 ignored
\tnameserver fd00::1
search old.example
search a.example. b.example .
options ndots:1 rotate
options ndots:3 edns0
domain x
; nameserver 8.8.8.8`;
    expect(parseResolvConf(text)).toEqual({
      servers: ['10.0.0.1', 'fd00::1'],
      searches: ['a.example', 'b.example'],
      options: ['ndots:3', 'rotate', 'edns0'],
    });
    expect(parseResolvConf('')).toEqual({ servers: [], searches: [], options: [] });
    expect(parseResolvConf('search a\nsearch').searches).toEqual([]);
  });

  it('parseResolvConf rejects a nameserver line without an address, with its line number', () => {
    expect(() => parseResolvConf('search a\nnameserver  \n')).toThrow('line 2: nameserver list is empty');
  });

  it('parseResolvConf parses any text or rejects it with a NetworkError', () => {
    const lines = fc.array(
      fc
        .tuple(fc.constantFrom('nameserver', 'search', 'options', '#', ''), fc.string())
        .map((words) => words.join(' ')),
    );
    fc.assert(
      fc.property(lines, (parts) => {
        try {
          const { servers, searches, options } = parseResolvConf(parts.join('\n'));
          for (const word of [...servers, ...searches, ...options]) expect(word).not.toMatch(/\s/);
        } catch (error) {
          expect(error).toMatchObject({ name: 'NetworkError', code: 'InvalidResolvConf' });
        }
      }),
    );
  });
});
