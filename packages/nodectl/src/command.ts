import { printable } from '@node-agent/telemetry';
import type { Context } from './commands/context.ts';
import { asCtlError, UsageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { HELP } from './help.ts';
import { KubeletClient } from './kubelet-client.ts';
import { type Command, parseOptions } from './options.ts';
import type { Terminal } from './terminal.ts';

/** Runs the program and returns its exit code (see `exitCodes`). */
export async function runNodectl(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const asked = parseOptions(argv);
    if ('show' in asked) {
      terminal.stdout.write(asked.show === 'help' ? HELP : `${terminal.version}\n`);
      return exitCodes.ok;
    }
    const { target, timeoutMs, command } = asked;
    const client = new KubeletClient(target, { timeoutMs, signal: terminal.signal });
    return await run({ client, options: asked, terminal }, command);
  } catch (error) {
    if (terminal.signal.aborted) return exitCodes.interrupted;
    const { message, exitCode } = asCtlError(error);
    terminal.stderr.write(`nodectl: ${printable(message)}\n`);
    if (error instanceof UsageError) terminal.stderr.write("See 'nodectl --help' for usage.\n");
    return exitCode;
  }
}

/** Commands are loaded when they run: validating manifests, for example, needs far more code than listing pods. */
async function run(context: Context, command: Command): Promise<number> {
  switch (command.name) {
    case 'pods':
      return await (await import('./commands/pods.ts')).runPods(context, command);
    case 'logs':
      return await (await import('./commands/logs.ts')).runLogs(context, command);
    case 'exec':
      return await (await import('./commands/exec.ts')).runExec(context, command);
    case 'port-forward':
      return await (await import('./commands/port-forward.ts')).runPortForward(context, command);
    case 'apply':
      return await (await import('./commands/manifests.ts')).runApply(context, command);
    case 'delete':
      return await (await import('./commands/manifests.ts')).runDelete(context, command);
    default: {
      const inspect = await import('./commands/inspect.ts');
      switch (command.name) {
        case 'explain':
          return await inspect.runExplain(context, command);
        case 'events':
          return await inspect.runEvents(context, command);
        case 'top':
          return await inspect.runTop(context);
        case 'images':
          return await inspect.runImages(context);
        case 'node':
          return await inspect.runNode(context, command);
      }
    }
  }
}
