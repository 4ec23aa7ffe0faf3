import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { variablesOfFile } from '../../src/config/env-file.ts';

const file = `# a comment

  A='one' # said why
B='two
 lines # no comment
'
EMPTY=
`;

function variableOfFile(text: string, key: string): string | undefined {
  return variablesOfFile(text)(key);
}

describe('variablesOfFile', () => {
  it.each([
    ["A='x'", 'A', 'x'],
    [file, 'A', 'one'],
    [file, 'B', 'two\n lines # no comment\n'],
    ["A='$(X) \\n \"'\r\nB='b'\r\n", 'A', '$(X) \\n "'],
    ["A='$(X)'\r\nB='b'\r\n", 'B', 'b'],
    ["A= 'x'\nA='y'", 'A', ''],
    ["A= 'x'\nB='y'", 'B', 'y'],
    ["A='1'\nA='2'", 'A', '1'],
    ["A='x'\nthis is never read", 'A', 'x'],
    ["A='x'\n", 'B', undefined],
    ["A='x\n\n'", 'A', 'x\n\n'],
    ['', 'A', undefined],
  ])('in the environment file %j, the variable %s is %j', (text, key, value) => {
    expect(variableOfFile(text, key)).toBe(value);
  });

  it.each([
    ['A', "at line 1: missing '='"],
    ["\n='x'", 'at line 2: empty variable name'],
    ["A ='x'", "at line 1: whitespace before '=' is not allowed"],
    ['A=x', 'at line 1: value must be enclosed in single quotes'],
    ['A="x"', 'at line 1: value must be enclosed in single quotes'],
    ['EMPTY=', 'at line 1: value must be enclosed in single quotes'],
    ["A='x'y", 'at line 1: unexpected content after closing quote'],
    ["A='x\ny' z", 'at line 2: unexpected content after closing quote'],
    ["\nA='x\ny\n", 'starting at line 2: unclosed single quote'],
    ["A='", 'starting at line 1: unclosed single quote'],
  ])('refuses the environment file %j: %s', (text, message) => {
    expect(() => variableOfFile(text, 'K')).toThrow(
      `couldn't parse env file: invalid environment variable format ${message}`,
    );
  });

  it('returns the text between quotes in an environment file unchanged, whatever it is', () => {
    const values = fc.string({ unit: fc.constantFrom('a', ' ', '#', '=', '\n', '\t', '"', 'é', '\\') });
    fc.assert(
      fc.property(values, values, (first, second) => {
        expect(variableOfFile(`A='${first}'\n# c\nB='${second}' # end\n`, 'B')).toBe(second);
      }),
    );
  });
});
