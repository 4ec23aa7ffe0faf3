import { describe, expect, it } from 'vitest';
import { sentencesOf, textsOfMarkdown, textsOfSource } from '../src/texts.ts';

const found = (file: string, source: string): readonly string[] =>
  textsOfSource(file, source).map(({ kind, text, line }) => `${line} ${kind}: ${text}`);

describe('textsOfSource', () => {
  it('textsOfSource joins consecutive line comments and removes the stars of block comments', () => {
    expect(
      found('src/a.ts', '// one\n// two\n\n/**\n * Returns it.\n * @returns a number\n */\nlet a = 1; // last\n'),
    ).toEqual(['1 comment: one\ntwo', '4 comment: Returns it.\n@returns a number', '8 comment: last']);
  });

  it('textsOfSource leaves out comments that instruct a tool', () => {
    expect(found('src/a.ts', '// biome-ignore lint/x: y\n// @ts-expect-error no\nlet a = 1;\n')).toEqual([]);
  });

  it('textsOfSource finds the names of tests and groups, also behind it.each and describe.skipIf', () => {
    const source = "describe.skipIf(x)('a group', () => { it.each([1])('takes %s', () => {}); it(`b ${c}`, f); });";
    expect(found('test/a.test.ts', source)).toEqual([
      '1 test name: a group',
      '1 test name: takes %s',
      '1 test name: b ${c}',
    ]);
  });

  it('textsOfSource does not take the first argument of another method for the name of a test', () => {
    expect(found('test/a.test.ts', "suite.until('the pod to run', f); test.each([1])('runs', f);")).toEqual([
      '1 test name: runs',
    ]);
  });

  it('textsOfSource finds strings of four words and more as messages, but not in tests or imports', () => {
    const source =
      "import 'a module of four'; throw new Error('could not read the file'); const a = 'three words only';";
    expect(found('src/a.ts', source)).toEqual(['1 message: could not read the file']);
    expect(found('test/a.test.ts', source)).toEqual([]);
  });

  it('textsOfSource does not take a template of placeholders for a message', () => {
    const source =
      "a(`${b.map((c) => c)}/${d ? 'x' : y}: ${e} (${f})`); g(`cannot stop ${h.name}: ${i.text}`); j(`--${k} ${l} [${m}] ${n}`);";
    expect(found('src/a.ts', source)).toEqual(['1 message: cannot stop ${h.name}: ${i.text}']);
  });

  it('textsOfSource does not take shell scripts and generated code for messages', () => {
    const source = "run('while true; do sleep 1 & wait; done'); write(`export * as ${a} from '${b}'; // all of it`);";
    expect(found('src/a.ts', source)).toEqual([]);
    expect(found('src/a.ts', "fail('import it from a file; then stop the node');")).toEqual([
      '1 message: import it from a file; then stop the node',
    ]);
  });

  it('textsOfSource names the file that does not parse', () => {
    expect(() => textsOfSource('src/broken.ts', 'let = = 1')).toThrow(/^parse src\/broken\.ts: /);
  });
});

describe('textsOfMarkdown', () => {
  it('textsOfMarkdown returns paragraphs, list items and table cells without headings and code', () => {
    const page =
      '# Title\n\nOne\nparagraph.\n\n- an item\n- another\n\n```sh\ncode here\n```\n| a | b |\n| --- | --- |\n| x | four words are here |\n';
    expect(textsOfMarkdown(page).map(({ text, line }) => `${line} ${text}`)).toEqual([
      '3 One\nparagraph.',
      '6 - an item',
      '7 - another',
      '14 four words are here',
    ]);
  });
});

describe('sentencesOf', () => {
  it('sentencesOf splits at full stops, tags and list items, not at line breaks', () => {
    expect(sentencesOf('Reads a\nfile. Then stops.\n@returns the text\n- one')).toEqual([
      'Reads a file.',
      'Then stops.',
      '@returns the text',
      '- one',
    ]);
  });

  it.each([
    ['a colon before code', 'Starts the probe (upstream: `pkg/kubelet/prober/worker.go`).'],
    ['a colon before a capital', 'Default: None of the pods; All others wait.'],
    ['a full stop in a code span', 'Reads `a. B` and `c? D` in turn.'],
    ['a full stop in parentheses', 'Kills the pod (see above. Upstream waits) with a grace period.'],
    ['an abbreviation', 'Takes a name, e.g. Node.'],
    ['a full stop in a placeholder', 'cannot read ${a. B} of the pod'],
  ])('sentencesOf does not split at %s', (_, sentence) => {
    expect(sentencesOf(sentence)).toEqual([sentence]);
  });

  it('sentencesOf splits before a code span and behind a closing quote', () => {
    expect(sentencesOf('Says "no." `podUid` is unset. (It never waits.) Ends')).toEqual([
      'Says "no."',
      '`podUid` is unset.',
      '(It never waits.)',
      'Ends',
    ]);
  });
});
