import { posix } from 'node:path';
import { builtins } from '../shell/builtins.ts';
import { interactiveShell } from '../shell/interactive.ts';
import { bytesOf, type Output, Shell } from '../shell/shell.ts';
import type { ProcessContext, Program } from './process.ts';

const SHELLS = new Set(['sh', 'ash', 'bash']);

/**
 * Returns the program for a command line that the small shell supports: `sleep 5`, `true`, `sh -c '...'` and others, by
 * bare name or path, with or without `busybox` in front. Returns `undefined` if the command is unknown.
 */
export function commandProgram(argv: readonly string[]): Program | undefined {
  const [path = '', ...args] = argv;
  const name = posix.basename(path);
  if (name === 'busybox' && args.length > 0) return commandProgram(args);
  if (SHELLS.has(name)) return shellProgram(args);
  const command = builtins.get(name);
  // Commands that exist only inside a shell are not programs.
  if (command === undefined || ['exit', 'cd', 'break', 'continue', 'trap', 'wait', 'read', ':'].includes(name))
    return undefined;
  return async (process) => {
    const shell = new Shell(process);
    return command(args, { shell, name, output: writer(process) });
  };
}

function shellProgram(args: readonly string[]): Program {
  return async (process) => {
    const flags = args[0]?.startsWith('-') === true ? args[0].slice(1) : '';
    const rest = flags === '' ? args : args.slice(1);
    const output = writer(process);
    if (/[^ce]/.test(flags)) {
      await output('stderr', `sh: option -${flags} is not supported\n`);
      return 2;
    }
    const script = rest[0];
    if (script === undefined) return interactiveShell(new Shell(process), output);
    const isText = flags.includes('c');
    const shell = new Shell(process, isText ? rest.slice(1) : rest);
    shell.exitOnError = flags.includes('e');
    if (isText) return shell.runScript(script, output);
    const file = shell.resolve(script);
    if ((await process.files.kind(file)) !== 'file') {
      await output('stderr', `sh: can't open '${script}': No such file or directory\n`);
      return 127;
    }
    return shell.runScript(new TextDecoder().decode(await process.files.read(file)), output);
  };
}

function writer(process: ProcessContext): Output {
  return (stream, text) => process.write(stream, bytesOf(text));
}
