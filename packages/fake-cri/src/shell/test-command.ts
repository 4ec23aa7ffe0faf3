import type { ShellCommand } from './builtins.ts';

const COMPARE: Readonly<Record<string, (left: string, right: string) => boolean>> = {
  '=': (left, right) => left === right,
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '-eq': (left, right) => Number(left) === Number(right),
  '-ne': (left, right) => Number(left) !== Number(right),
  '-lt': (left, right) => Number(left) < Number(right),
  '-le': (left, right) => Number(left) <= Number(right),
  '-gt': (left, right) => Number(left) > Number(right),
  '-ge': (left, right) => Number(left) >= Number(right),
};

/** `test` and `[`: a single comparison, or a single check of a file or string, optionally negated with `!`. */
export const testCommand: ShellCommand = async (args, { shell, output, name }) => {
  const operands = name === '[' ? args.slice(0, -1) : [...args];
  if (name === '[' && args.at(-1) !== ']') {
    await output('stderr', 'sh: missing ]\n');
    return 2;
  }
  const negated = operands[0] === '!';
  if (negated) operands.shift();
  const holds = await evaluate(operands, (path) => shell.process.files.kind(shell.resolve(path)));
  if (holds === undefined) {
    await output('stderr', `sh: ${operands.join(' ')}: this test is not supported\n`);
    return 2;
  }
  return holds === negated ? 1 : 0;
};

async function evaluate(
  operands: readonly string[],
  kind: (path: string) => Promise<'file' | 'directory' | undefined>,
): Promise<boolean | undefined> {
  const [first = '', second = '', third = ''] = operands;
  switch (operands.length) {
    case 0:
      return false;
    case 1:
      return first !== '';
    case 2:
      if (first === '-n') return second !== '';
      if (first === '-z') return second === '';
      if (first === '-e') return (await kind(second)) !== undefined;
      if (first === '-f') return (await kind(second)) === 'file';
      if (first === '-d') return (await kind(second)) === 'directory';
      return undefined;
    case 3:
      return COMPARE[second]?.(first, third);
    default:
      return undefined;
  }
}
