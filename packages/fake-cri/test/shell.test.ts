import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandProgram } from '../src/process/command.ts';
import { ContainerFiles } from '../src/process/container-files.ts';
import { Pipe } from '../src/process/pipe.ts';
import { FakeProcess } from '../src/process/process.ts';
import { parseShell } from '../src/shell/parser.ts';
import { ShellSyntaxError } from '../src/shell/syntax.ts';

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
  readonly tookMs: number;
}

async function run(
  argv: readonly string[],
  env: Record<string, string> = {},
  limitMs: number = 60_000,
  typed?: string,
): Promise<Ran> {
  const input = new Pipe();
  void input.write(Buffer.from(typed ?? ''));
  input.end();
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const written = { stdout: '', stderr: '' };
  const program = commandProgram(argv);
  if (program === undefined) throw new Error(`not a known command: ${argv[0]}`);
  const process = new FakeProcess(
    {
      clock,
      env: new Map(Object.entries(env)),
      workingDir: '/',
      uid: 0,
      gid: 0,
      hostname: 'host',
      files: new ContainerFiles(fs, [], () => ({ '/etc/motd': 'hi\n' }), false),
      stdin: typed !== undefined,
      input,
      write: async (stream, data) => {
        written[stream] += new TextDecoder().decode(data);
      },
      signalInit: () => {},
    },
    program,
    1,
  );
  let exitCode: number | undefined;
  process.exited.then((code) => {
    exitCode = code;
  });
  while (exitCode === undefined && clock.monotonic() < limitMs && (await clock.advanceToNext()));
  await clock.settle();
  return { ...written, exitCode, tookMs: clock.monotonic() };
}

const SCRIPTS: readonly string[] = [
  'echo hello',
  'echo -n hello',
  'echo \'a  b\' "c  d" e  f',
  'echo a; echo b; exit 3',
  'true && echo yes || echo no',
  'false && echo yes || echo no',
  '! false; echo $?',
  'exit 300',
  'false; exit',
  'X=1; echo "$X" $X$X',
  'X=1; echo $'.concat('{X}2'),
  'X="a b"; echo $X; echo "$X"; for w in $X; do echo "[$w]"; done',
  'echo $'.concat('{UNSET:-fallback}; echo "[$UNSET]"'),
  'i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done',
  'i=5; until [ $i -le 3 ]; do i=$((i-1)); done; echo $i',
  'for i in 1 2 3 4; do if [ $i = 2 ]; then continue; fi; if [ $i = 4 ]; then break; fi; echo $i; done',
  'if false; then echo a; elif true; then echo b; else echo c; fi',
  'if [ -z "" ] && [ -n x ]; then echo ok; fi',
  'echo $((2+3*4)) $(( (2+3)*4 )) $((7/2)) $((7%4)) $((-3+1)) $((3<5)) $((3==4))',
  'x=$(echo inner; echo second); echo "$x"',
  'x=$(exit 4); echo $?',
  'echo $(echo a   b)',
  '(exit 7); echo $?',
  '(X=2; echo $X); echo "[$X]"',
  '{ echo a; echo b; } ; echo c',
  'trap "echo bye" EXIT; echo hi; exit 4',
  'set -e; false; echo unreached',
  'set -e; false || true; if false; then :; fi; echo reached',
  'no-such-command-here 2>/dev/null; echo $?',
  'echo out; echo err >&2',
  'echo lost > /dev/null; echo kept',
  '{ echo a; echo b >&2; } 2>&1',
  'A=1 B=2; export A; echo $A$B',
  'X=1; X=2 true; echo $X',
  'printf "%s-%d\\n" a 5',
  'echo one # comment; echo two',
  'echo "a\\"b" \'c"d\' e\\ f',
  'echo "#not" a#b',
  '[ 1 -eq 1 ] && [ 1 -ne 2 ] && [ a != b ] && [ ! -e /no/such ] && echo all',
  'sleep 0.01 & wait; echo done',
  'echo "tab\\tno" ; echo -e "tab\\tyes"',
  'exec echo replaced; echo unreached',
  ':; echo $?',
  'test a = a; echo $?; test a = b; echo $?',
  'x=; echo "[$x]"; y=""; echo "[$y]" "" end',
  'if true; then\n  echo multi\n  echo line\nfi',
  'true &&\necho next',
];

const busybox = '/bin/busybox';

describe('the small shell gives the same results as busybox', () => {
  for (const script of SCRIPTS) {
    test(JSON.stringify(script), async (context) => {
      const fake = await run(['sh', '-c', script], { PATH: '/bin' });
      if (!existsSync(busybox)) context.skip('there is no busybox here to compare with');
      const real = spawnSync(busybox, ['sh', '-c', script], { encoding: 'utf8', env: { PATH: '/bin:/usr/bin' } });
      expect({ stdout: fake.stdout, exitCode: fake.exitCode }).toEqual({ stdout: real.stdout, exitCode: real.status });
      if (script.includes('2>/dev/null') === false && !script.includes('no-such'))
        expect(fake.stderr).toBe(real.stderr);
    });
  }
});

describe('the small shell reads standard input like busybox', () => {
  const cases: readonly (readonly [argv: readonly string[], typed: string])[] = [
    [['cat'], 'one\ntwo'],
    [['cat', '-'], 'one\n'],
    [['sh', '-c', 'read a b; echo "$b,$a"; read c; echo "$?$c"; read d; echo $?'], 'one two  three\nfour\n'],
    [['sh', '-c', 'while read line; do echo "[$line]"; done'], 'a\n\nb c\nno newline'],
    [['sh', '-c', 'read first; cat'], 'first\nrest\nof it'],
    [['sh'], 'echo one\nif true; then\necho two\nfi\nexit 4\necho three\n'],
    [['sh'], 'false'],
    [['sh'], 'X=1\necho "$X" $X$X\n# nothing\n\ntrue\n'],
  ];
  for (const [argv, typed] of cases) {
    test(`${argv.join(' ')} with the standard input ${JSON.stringify(typed)}`, async (context) => {
      const fake = await run(argv, { PATH: '/bin' }, 60_000, typed);
      if (!existsSync(busybox)) context.skip('there is no busybox here to compare with');
      const env = { PATH: '/bin:/usr/bin' };
      const real = spawnSync(busybox, [...argv], { encoding: 'utf8', env, input: typed });
      expect(fake).toMatchObject({ stdout: real.stdout, stderr: real.stderr, exitCode: real.status });
    });
  }
});

test('sleep advances the clock by exactly its duration', async () => {
  expect(await run(['sleep', '1.5', '2s', '1m'])).toMatchObject({ exitCode: 0, tookMs: 63_500 });
  expect(await run(['sh', '-c', 'echo x; sleep 1; exit 3'])).toMatchObject({
    exitCode: 3,
    tookMs: 1000,
    stdout: 'x\n',
  });
  expect(await run(['sleep', 'infinity'])).toMatchObject({ exitCode: undefined, tookMs: 0 });
  expect(await run(['sleep', 'x'])).toMatchObject({ exitCode: 1 });
});

test('a loop that never sleeps still advances the clock', async () => {
  const { exitCode, stdout } = await run(['sh', '-c', 'while true; do echo x; done'], {}, 100);
  expect(exitCode).toBeUndefined();
  expect(stdout.length).toBeGreaterThan(500);
});

test('a file written by one command can be read by the next', async () => {
  const script =
    'mkdir /data; echo a > /data/f; echo b >> /data/f; cat /data/f; ls /data; rm /data/f; cat /data/f; echo $?';
  expect(await run(['sh', '-c', script])).toMatchObject({ stdout: 'a\nb\nf\n1\n' });
  expect(await run(['cat', '/etc/motd'])).toMatchObject({ stdout: 'hi\n', exitCode: 0 });
});

test.each([
  ['echo `date`', 'backquotes'],
  ['echo a | cat', 'pipelines'],
  ['case x in x) ;; esac', '"case"'],
  ['cat < /etc/passwd', 'input'],
  ['echo "open', 'unterminated double quote'],
  ["echo 'open", 'unterminated single quote'],
  ['if true; then echo', 'expected "fi"'],
  ['echo $(open', 'unterminated $('],
  ['done', 'unexpected "done"'],
  ['echo a &&', 'unexpected end'],
])('the parser rejects %s with a message that names the problem', async (script, words) => {
  expect(() => parseShell(script)).toThrow(words);
  const { exitCode, stderr } = await run(['sh', '-c', script]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(words);
});

test('the parser accepts any text or throws ShellSyntaxError', () => {
  const pieces = [
    'echo',
    'while',
    'do',
    'done',
    ';',
    '&&',
    '"',
    "'",
    '$',
    '{',
    '}',
    '(',
    ')',
    ' ',
    '\n',
    '>',
    '2',
    '&',
    'x=',
    '#',
    '\\',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
      try {
        expect(parseShell(parts.join(''))).toHaveProperty('kind', 'list');
      } catch (error) {
        expect(error).toBeInstanceOf(ShellSyntaxError);
      }
    }),
    { numRuns: 2000 },
  );
});

test('echo prints single-quoted words unchanged', async () => {
  const word = fc.string({ maxLength: 10 }).filter((text) => !text.includes("'") && !text.includes('\0'));
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 4 }), async (words) => {
      const script = `for w in ${words.map((text) => `'${text}'`).join(' ')}; do echo "[$w]"; done`;
      const { stdout } = await run(['sh', '-c', script]);
      expect(stdout).toBe(words.map((text) => `[${text}]\n`).join(''));
    }),
    { numRuns: 50 },
  );
});
