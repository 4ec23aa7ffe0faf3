import { signalNumber } from '../process/signals.ts';
import { LoopJump, ShellExit } from './control.ts';
import { fileCommands } from './file-commands.ts';
import { inputCommands } from './input-commands.ts';
import type { Output, Shell } from './shell.ts';
import { testCommand } from './test-command.ts';

/** Context of a shell command, in addition to its arguments. */
interface CommandContext {
  readonly shell: Shell;
  readonly output: Output;
  /** The name by which the command was called. */
  readonly name: string;
}

/** A shell command. Resolves with its exit status. */
export type ShellCommand = (args: readonly string[], context: CommandContext) => Promise<number>;

const UNITS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Returns the total duration of `sleep` in milliseconds, adding up all arguments as busybox does. Returns `undefined`
 * if an argument is invalid.
 */
function sleepMs(args: readonly string[]): number | undefined {
  let total = 0;
  for (const arg of args) {
    if (arg === 'infinity' || arg === 'inf') total = Number.POSITIVE_INFINITY;
    else {
      const match = /^(\d+(?:\.\d*)?|\.\d+)([smhd]?)$/.exec(arg);
      if (match === null) return undefined;
      total += Number(match[1]) * (UNITS[match[2] ?? ''] ?? 1) * 1000;
    }
  }
  return args.length === 0 ? undefined : total;
}

const print: ShellCommand = async (args, { output }) => {
  const [format = '', ...values] = args;
  const next = values[Symbol.iterator]();
  const text = withEscapes(format).replace(/%([sd%])/g, (_, kind: string) => {
    if (kind === '%') return '%';
    const value = next.next().value ?? '';
    return kind === 'd' ? String(Math.trunc(Number(value) || 0)) : value;
  });
  await output('stdout', text);
  return 0;
};

const echo: ShellCommand = async (args, { output }) => {
  let rest = args;
  let newline = true;
  let escapes = false;
  for (let flags = /^-([neE]+)$/.exec(rest[0] ?? ''); flags !== null; flags = /^-([neE]+)$/.exec(rest[0] ?? '')) {
    if (flags[1]?.includes('n')) newline = false;
    if (flags[1]?.includes('e')) escapes = true;
    rest = rest.slice(1);
  }
  const text = rest.join(' ');
  await output('stdout', (escapes ? withEscapes(text) : text) + (newline ? '\n' : ''));
  return 0;
};

function withEscapes(text: string): string {
  const known: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\', a: '\x07', '0': '\0' };
  return text.replace(/\\([ntr\\a0])/g, (_, letter: string) => known[letter] ?? '');
}

const sleep: ShellCommand = async (args, { shell, output }) => {
  const ms = sleepMs(args);
  if (ms === undefined) {
    await output('stderr', `sleep: invalid number '${args.join(' ')}'\n`);
    return 1;
  }
  // Only the end of the process interrupts a sleep. Other signals reach the shell and not its child process.
  if (ms === Number.POSITIVE_INFINITY) return shell.process.forever();
  await shell.process.sleep(ms);
  return 0;
};

const trap: ShellCommand = async (args, { shell, output }) => {
  const [first, ...names] = args[0] === '--' ? args.slice(1) : args;
  if (first === undefined) return 0;
  for (const name of names) {
    const signal = name === 'EXIT' ? 0 : signalNumber(name);
    if (signal === undefined) {
      await output('stderr', `sh: trap: ${name}: invalid signal specification\n`);
      return 1;
    }
    if (first === '-') shell.traps.delete(signal);
    else shell.traps.set(signal, first);
    if (signal !== 0)
      shell.process.setDisposition(signal, first === '-' ? 'default' : first === '' ? 'ignore' : 'handle');
  }
  return 0;
};

const wait: ShellCommand = async (_args, { shell, output }) => {
  const done = Promise.all(shell.jobs).then(() => true);
  done.catch(() => {});
  const interrupted = shell.process.pause().then(() => false);
  interrupted.catch(() => {});
  if (await Promise.race([done, interrupted])) return 0;
  await shell.runTraps(output);
  return 143;
};

const kill: ShellCommand = async (args, { shell, output }) => {
  const named = args[0]?.startsWith('-') ? signalNumber(args[0].replace(/^-s?/, '')) : 15;
  const pids = args.filter((arg) => /^\d+$/.test(arg));
  if (named === undefined || pids.length === 0) {
    await output('stderr', 'sh: kill: bad signal or no process\n');
    return 1;
  }
  for (const pid of pids) {
    if (pid !== '1') {
      await output('stderr', `sh: can't kill pid ${pid}: No such process\n`);
      return 1;
    }
    shell.process.signalInit(named);
  }
  return 0;
};

const set: ShellCommand = async (args, { shell, output }) => {
  for (const arg of args) {
    if (arg === '-e') shell.exitOnError = true;
    else if (arg === '+e') shell.exitOnError = false;
    else {
      await output('stderr', `sh: set: ${arg} is not supported\n`);
      return 2;
    }
  }
  return 0;
};

const exportVariables: ShellCommand = async (args, { shell }) => {
  for (const arg of args) {
    const [, name = arg, value] = /^([^=]+)=(.*)$/s.exec(arg) ?? [];
    shell.exported.add(name);
    if (value !== undefined) shell.variables.set(name, value);
  }
  return 0;
};

const printEnvironment: ShellCommand = async (args, { shell, output, name }) => {
  const environment = shell.environment();
  if (name === 'printenv' && args[0] !== undefined) {
    const value = environment.get(args[0]);
    if (value === undefined) return 1;
    await output('stdout', `${value}\n`);
    return 0;
  }
  for (const [variable, value] of environment) await output('stdout', `${variable}=${value}\n`);
  return 0;
};

const id: ShellCommand = async (args, { shell, output }) => {
  const { uid, gid } = shell.process;
  await output('stdout', args[0] === '-u' ? `${uid}\n` : args[0] === '-g' ? `${gid}\n` : `uid=${uid} gid=${gid}\n`);
  return 0;
};

const execute: ShellCommand = async (args, context) => {
  const [name, ...rest] = args;
  if (name === undefined) return 0;
  const command = builtins.get(name);
  if (command === undefined) {
    await context.output('stderr', `sh: exec: ${name}: not found\n`);
    throw new ShellExit(127);
  }
  // The program that replaces the shell does not inherit its signal handlers.
  for (const [signal, handler] of context.shell.traps) {
    if (signal !== 0 && handler !== '') context.shell.process.setDisposition(signal, 'default');
  }
  throw new ShellExit(await command(rest, { ...context, name }));
};

/** The commands of the small shell, by name. */
export const builtins: ReadonlyMap<string, ShellCommand> = new Map<string, ShellCommand>([
  ['echo', echo],
  ['printf', print],
  ['sleep', sleep],
  ['trap', trap],
  ['wait', wait],
  ['kill', kill],
  ['set', set],
  ['export', exportVariables],
  ['env', printEnvironment],
  ['printenv', printEnvironment],
  ['id', id],
  ['exec', execute],
  ['true', async () => 0],
  [':', async () => 0],
  ['false', async () => 1],
  ['hostname', async (_args, { shell, output }) => output('stdout', `${shell.process.hostname}\n`).then(() => 0)],
  ['pwd', async (_args, { shell, output }) => output('stdout', `${shell.workingDir}\n`).then(() => 0)],
  [
    'date',
    async (args, { shell, output }) => {
      const now = shell.process.clock.now();
      await output('stdout', args[0] === '+%s' ? `${Math.floor(now / 1000)}\n` : `${new Date(now).toISOString()}\n`);
      return 0;
    },
  ],
  [
    'exit',
    async (args, { shell }) => {
      throw new ShellExit(args[0] === undefined ? shell.status : Number(args[0]) & 255);
    },
  ],
  [
    'break',
    async () => {
      throw new LoopJump('break');
    },
  ],
  [
    'continue',
    async () => {
      throw new LoopJump('continue');
    },
  ],
  ['test', testCommand],
  ['[', testCommand],
  ...fileCommands,
  ...inputCommands,
]);
