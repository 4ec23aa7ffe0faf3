import { posix } from 'node:path';
import type { OutputStream, ProcessContext } from '../process/process.ts';
import { evaluateArithmetic } from './arithmetic.ts';
import { builtins } from './builtins.ts';
import { LoopJump, ShellExit } from './control.ts';
import { parseShell } from './parser.ts';
import { type Command, type Redirect, ShellSyntaxError, type Word } from './syntax.ts';

/** Writes the output of a shell command. */
export type Output = (stream: OutputStream, text: string | Uint8Array) => Promise<void>;

/**
 * Simulated duration of a command, and the number of commands after which the accumulated time passes. Without a
 * simulated duration, a loop that never sleeps would stop the clock.
 */
const COMMAND_COST_MS = 0.1;
const COMMANDS_PER_SLEEP = 100;

/** Runs the commands of {@link parseShell} in a fake process. */
export class Shell {
  readonly process: ProcessContext;
  readonly variables: Map<string, string>;
  readonly exported: Set<string>;
  readonly traps: Map<number, string> = new Map();
  readonly jobs: Set<Promise<number>> = new Set();
  workingDir: string;
  status = 0;
  exitOnError = false;
  readonly #positional: readonly string[];
  #commands = 0;
  #inCondition = 0;

  constructor(process: ProcessContext, positional: readonly string[] = [], parent?: Shell) {
    this.process = process;
    this.variables = new Map(parent?.variables ?? process.env);
    this.exported = new Set(parent?.exported ?? process.env.keys());
    this.workingDir = parent?.workingDir ?? process.workingDir;
    this.exitOnError = parent?.exitOnError ?? false;
    this.#positional = positional;
  }

  /** Runs a script to its end, including its EXIT trap. Resolves with the exit status. */
  async runScript(text: string, output: Output): Promise<number> {
    let status: number;
    try {
      status = await this.#exitStatus(() => this.run(parseShell(text), output));
    } catch (error) {
      if (!(error instanceof ShellSyntaxError)) throw error;
      await output('stderr', `sh: syntax error: ${error.message}\n`);
      return 2;
    }
    const onExit = this.traps.get(0);
    if (onExit === undefined) return status;
    this.traps.delete(0);
    this.status = status;
    const exited = await this.#exitStatus(async () => {
      await this.run(parseShell(onExit), output);
      return status;
    });
    return exited;
  }

  /** Returns the environment of a child process. */
  environment(): Map<string, string> {
    return new Map([...this.variables].filter(([name]) => this.exported.has(name)));
  }

  resolve(path: string): string {
    return posix.resolve(this.workingDir, path);
  }

  /** Runs the handlers of pending signals. */
  async runTraps(output: Output): Promise<void> {
    for (let signal = this.process.takeSignal(); signal !== undefined; signal = this.process.takeSignal()) {
      const handler = this.traps.get(signal);
      if (handler === undefined) continue;
      const status = this.status;
      await this.run(parseShell(handler), output);
      this.status = status;
    }
  }

  async run(command: Command, output: Output): Promise<number> {
    switch (command.kind) {
      case 'list':
        for (const item of command.items) {
          if (item.background) this.#startJob(item.command, output);
          else await this.run(item.command, output);
        }
        return this.status;
      case 'and':
      case 'or': {
        const left = await this.#condition(command.left, output);
        if ((left === 0) === (command.kind === 'and')) return this.run(command.right, output);
        return left;
      }
      case 'not':
        this.status = Number((await this.#condition(command.command, output)) === 0);
        return this.status;
      case 'loop': {
        this.status = 0;
        let status = 0;
        while (((await this.#condition(command.condition, output)) === 0) !== command.until) {
          if (!(await this.#loopBody(command.body, output))) break;
          status = this.status;
        }
        this.status = status;
        return status;
      }
      case 'for':
        this.status = 0;
        for (const value of await this.expandAll(command.words)) {
          this.variables.set(command.name, value);
          if (!(await this.#loopBody(command.body, output))) break;
        }
        return this.status;
      case 'if':
        for (const branch of command.branches) {
          if ((await this.#condition(branch.condition, output)) === 0) return this.run(branch.body, output);
        }
        this.status = 0;
        return command.otherwise === undefined ? 0 : this.run(command.otherwise, output);
      case 'group': {
        const inner = await this.#redirected(command.redirects, output);
        if (!command.subshell) return this.run(command.body, inner);
        this.status = await this.#subshell(command.body, inner);
        return this.status;
      }
      case 'simple':
        return this.#simple(command, output);
    }
  }

  async #simple(command: Extract<Command, { kind: 'simple' }>, output: Output): Promise<number> {
    if (++this.#commands % COMMANDS_PER_SLEEP === 0) {
      await this.process.sleep(COMMANDS_PER_SLEEP * COMMAND_COST_MS);
    }
    const argv = await this.expandAll(command.words);
    const assigned = new Map<string, string>();
    for (const { name, value } of command.assignments) assigned.set(name, await this.expand(value));
    const [name, ...args] = argv;
    if (name === undefined) {
      for (const [variable, value] of assigned) this.variables.set(variable, value);
      // The exit status of an assignment is the exit status of its command substitution, if there is one.
      const ran = command.assignments.some(({ value }) => value.parts.some((part) => part.kind === 'command'));
      if (!ran) this.status = 0;
      await this.#redirected(command.redirects, output);
      return this.#after(output);
    }
    const saved = new Map(this.variables);
    const savedExports = new Set(this.exported);
    for (const [variable, value] of assigned) {
      this.variables.set(variable, value);
      this.exported.add(variable);
    }
    try {
      const inner = await this.#redirected(command.redirects, output);
      const builtin = builtins.get(posix.basename(name));
      if (builtin === undefined) {
        await inner('stderr', `sh: ${name}: not found\n`);
        this.status = 127;
      } else this.status = await builtin(args, { shell: this, output: inner, name: posix.basename(name) });
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) throw error;
      await output('stderr', `sh: ${error.message}\n`);
      this.status = 1;
    } finally {
      for (const variable of assigned.keys()) {
        const before = saved.get(variable);
        if (before === undefined) this.variables.delete(variable);
        else this.variables.set(variable, before);
        if (!savedExports.has(variable)) this.exported.delete(variable);
      }
    }
    return this.#after(output);
  }

  async #after(output: Output): Promise<number> {
    await this.runTraps(output);
    if (this.exitOnError && this.status !== 0 && this.#inCondition === 0) throw new ShellExit(this.status);
    return this.status;
  }

  async #condition(command: Command, output: Output): Promise<number> {
    this.#inCondition++;
    try {
      return await this.run(command, output);
    } finally {
      this.#inCondition--;
    }
  }

  async #loopBody(body: Command, output: Output): Promise<boolean> {
    try {
      await this.run(body, output);
      return true;
    } catch (error) {
      if (!(error instanceof LoopJump)) throw error;
      return error.kind === 'continue';
    }
  }

  #startJob(command: Command, output: Output): void {
    const job = this.#subshell(command, output).finally(() => this.jobs.delete(job));
    // A job rejects only when its process dies. At that time, possibly no command waits for the job, so the rejection
    // is handled here.
    job.catch(() => {});
    this.jobs.add(job);
    this.status = 0;
  }

  #subshell(body: Command, output: Output): Promise<number> {
    const child = new Shell(this.process, this.#positional, this);
    return child.#exitStatus(() => child.run(body, output));
  }

  async #exitStatus(work: () => Promise<number>): Promise<number> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ShellExit) return error.status;
      throw error;
    }
  }

  async #redirected(redirects: readonly Redirect[], output: Output): Promise<Output> {
    let targets: Record<OutputStream, (text: string | Uint8Array) => Promise<void>> = {
      stdout: (text) => output('stdout', text),
      stderr: (text) => output('stderr', text),
    };
    for (const { from, to } of redirects) {
      if (to.kind === 'stream') {
        targets = { ...targets, [from]: targets[to.stream] };
        continue;
      }
      const path = this.resolve(await this.expand(to.path));
      if (path === '/dev/stdout' || path === '/dev/stderr') {
        targets = { ...targets, [from]: targets[path === '/dev/stdout' ? 'stdout' : 'stderr'] };
        continue;
      }
      // The file is created, or truncated unless it is appended to, even if the command writes nothing.
      await this.process.files.write(path, new Uint8Array(), to.append);
      const write = (text: string | Uint8Array): Promise<void> => this.process.files.write(path, bytesOf(text), true);
      targets = { ...targets, [from]: write };
    }
    return (stream, text) => targets[stream](text);
  }

  async expandAll(words: readonly Word[]): Promise<string[]> {
    const all: string[] = [];
    for (const word of words) {
      const text = await this.expand(word);
      const splits = !word.quoted && word.parts.some((part) => part.kind === 'parameter' || part.kind === 'command');
      if (splits) all.push(...text.split(/\s+/).filter((piece) => piece !== ''));
      else if (text !== '' || word.quoted) all.push(text);
    }
    return all;
  }

  async expand(word: Word): Promise<string> {
    let text = '';
    for (const part of word.parts) {
      if (part.kind === 'text') text += part.text;
      else if (part.kind === 'arithmetic') text += evaluateArithmetic(part.text, (name) => this.#parameter(name));
      else if (part.kind === 'command') text += await this.#capture(part.body);
      else {
        const value = this.#parameter(part.name);
        text += value === '' && part.fallback !== undefined ? await this.expand(part.fallback) : value;
      }
    }
    return text;
  }

  async #capture(body: Command): Promise<string> {
    const captured: Uint8Array[] = [];
    this.status = await this.#subshell(body, async (stream, text) => {
      if (stream === 'stdout') captured.push(bytesOf(text));
      else await this.process.write('stderr', bytesOf(text));
    });
    return new TextDecoder().decode(Buffer.concat(captured)).replace(/\n+$/, '');
  }

  #parameter(name: string): string {
    if (name === '?') return String(this.status);
    if (name === '$') return String(this.process.pid);
    if (name === '#') return String(Math.max(this.#positional.length - 1, 0));
    if (name === '@' || name === '*') return this.#positional.slice(1).join(' ');
    if (name === '!') return '0';
    if (/^\d$/.test(name)) return this.#positional[Number(name)] ?? (name === '0' ? 'sh' : '');
    if (name === 'PWD') return this.workingDir;
    return this.variables.get(name) ?? '';
  }
}

/** Converts output to bytes. */
export function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? new TextEncoder().encode(text) : text;
}
