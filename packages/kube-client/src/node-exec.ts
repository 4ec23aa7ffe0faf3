import { runProgram } from '@node-agent/host';
import type { ExecRunner } from './exec-credentials.ts';

/** The length of stdout beyond which a program is killed, in characters. Credentials are much smaller. */
const MAX_STDOUT_LENGTH = 1 << 20;

/** Runs programs as child processes without input. Their stderr is kept for error messages. */
export const nodeExec: ExecRunner = (command, args, environment, signal) =>
  runProgram({ command, args, environment, maxStdoutLength: MAX_STDOUT_LENGTH }, signal);
