import { runProgram } from '@node-agent/host';
import type { ExecRunner } from './exec-credentials.ts';

/** A program that writes more to stdout is killed: credentials are small. */
const MAX_STDOUT_LENGTH = 1 << 20;

/** Runs programs as child processes without input. Their stderr is kept for error messages. */
export const nodeExec: ExecRunner = (command, args, environment, signal) =>
  runProgram({ command, args, environment, maxStdoutLength: MAX_STDOUT_LENGTH }, signal);
