import type { HttpGetResult } from '@node-agent/pod-net';
import type { ProbeOutcome } from './types.ts';

/** Result of a command. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** Maximum size of a command's output that is kept. */
const MAX_OUTPUT_BYTES = 10 * 1024;

/**
 * Evaluates an HTTP response: 200 to 399 is success, with a warning for a redirect that was not followed. The body of a
 * failed response is not included, because it may be confidential (`DoHTTPProbe` in `pkg/probe/http/http.go`).
 */
export function httpOutcome(result: HttpGetResult): ProbeOutcome {
  if (result.kind === 'fault') return { result: 'failure', output: result.message };
  const { status, body, bodyFault } = result;
  if (bodyFault !== undefined) return { result: 'broken', output: bodyFault };
  if (status < 200 || status >= 400)
    return { result: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
  if (status >= 300) return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  return { result: 'success', output: body };
}

/**
 * Evaluates an exit code. The probe's output has both output streams of the command, up to 10 KiB
 * (`pkg/probe/exec/exec.go`).
 */
export function execOutcome({ exitCode, stdout, stderr }: ExecResult): ProbeOutcome {
  const output = Buffer.concat([stdout, stderr]).subarray(0, MAX_OUTPUT_BYTES).toString();
  return { result: exitCode === 0 ? 'success' : 'failure', output };
}

/**
 * Returns whether a runtime's error means that the command itself cannot be run, because it does not exist, is not a
 * program, or must not be executed. runc and crun name the command before the cause. Errors of the runtime, the node or
 * a stopping container name no command; such an error is no failure of the container.
 */
export function isCommandFault(message: string): boolean {
  return (
    /exec: \\?"[^"]*": (?:stat [^:]*: |open [^:]*: )?(?:executable file not found|no such file or directory|permission denied|not a directory|is a directory)/.test(
      message,
    ) ||
    /exec [^\s:]+: exec format error/.test(message) ||
    /crun: (?:executable file `[^`]*` not found|open (?:executable|`[^`]*`): (?:No such file or directory|Permission denied))/i.test(
      message,
    )
  );
}
