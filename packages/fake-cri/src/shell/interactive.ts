import { signals } from '../process/signals.ts';
import { ShellExit } from './control.ts';
import { readLine } from './input-commands.ts';
import { parseShell } from './parser.ts';
import type { Output, Shell } from './shell.ts';
import { type Command, ShellSyntaxError } from './syntax.ts';

/** Runs commands from standard input until the input ends. With a terminal, prints a prompt before each command. */
export async function interactiveShell(shell: Shell, output: Output): Promise<number> {
  const { terminal } = shell.process;
  // With a terminal, the shell ignores SIGINT and SIGTERM, as real shells do at their prompt.
  if (terminal !== undefined) {
    for (const signal of [signals.SIGINT, signals.SIGTERM]) shell.process.setDisposition(signal ?? 15, 'ignore');
  }
  const prompt = async (text: string): Promise<void> => {
    if (terminal !== undefined) await output('stderr', text);
  };
  let text = '';
  for (;;) {
    await prompt(text === '' ? `${shell.workingDir} # ` : '> ');
    const line = await readLine(shell);
    if (line === undefined && text === '') return shell.status;
    text += `${line?.text ?? ''}\n`;
    const command = parsed(text, line === undefined);
    if (command === 'unfinished') continue;
    text = '';
    if (command instanceof ShellSyntaxError) {
      await output('stderr', `sh: syntax error: ${command.message}\n`);
      shell.status = 2;
      if (terminal === undefined) return 2;
      continue;
    }
    try {
      await shell.run(command, output);
    } catch (error) {
      if (error instanceof ShellExit) return error.status;
      throw error;
    }
  }
}

/** Parses a command. Returns `unfinished` if more lines could complete the text. */
function parsed(text: string, isLast: boolean): Command | ShellSyntaxError | 'unfinished' {
  try {
    return parseShell(text);
  } catch (error) {
    if (!(error instanceof ShellSyntaxError)) throw error;
    return !isLast && /^(unexpected end|expected "|unterminated)/.test(error.message) ? 'unfinished' : error;
  }
}
