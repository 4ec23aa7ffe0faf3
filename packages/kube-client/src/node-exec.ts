import { runProgram } from '@node-agent/host';
import type { ExecRunner } from './exec-credentials.ts';

/** Above this much on stdout a program is killed: credentials are small. */
const MAX_STDOUT_LENGTH = 1 << 20;

/** Runs programs as child processes, with no input. What they print on stderr is kept for the error, should there be one. */
export const nodeExec: ExecRunner = (command, args, environment, signal) =>
  runProgram({ command, args, environment, maxStdoutLength: MAX_STDOUT_LENGTH }, signal);
