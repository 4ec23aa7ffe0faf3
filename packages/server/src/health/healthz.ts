import { errorText } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';

/** A health check of the process. The process is healthy if all its checks pass. */
export interface HealthCheck {
  /** A short name, part of the path `/healthz/<name>`. */
  readonly name: string;
  /**
   * Returns a sentence that describes the problem, or `undefined` if healthy. Every client may read the returned
   * sentence. The text of a thrown error is only logged.
   */
  check(): string | undefined;
  /**
   * Returns a problem that does not yet make the process unhealthy, such as a runtime that missed one call. Only
   * requests for this single check report the problem, because supervisors restart the process by the combined result.
   */
  early?(): string | undefined;
}

/** The parameters of a `/healthz` request. */
export interface HealthzQuery {
  /** Name of the only check that is requested. If absent, all checks are requested. */
  readonly check?: string;
  /** Whether to list all checks even if all of them pass. If a check fails, all checks are listed anyway. */
  readonly verbose: boolean;
  /** Names of checks to ignore. */
  readonly exclude: readonly string[];
}

/** The check that passes whenever the server responds. */
export const pingCheck: HealthCheck = { name: 'ping', check: () => undefined };

/**
 * The check of the log, which always passes, because log lines are written immediately. Upstream checks its log
 * flusher.
 */
export const logCheck: HealthCheck = { name: 'log', check: () => undefined };

/**
 * Answers a health request as `k8s.io/apiserver/pkg/server/healthz` does: 200 `ok`, or 500 with a list of all checks.
 * The list contains no reasons. `/healthz/<name>` contains the reason, except for thrown errors.
 * @returns `undefined` if the check does not exist
 */
export function answerHealthz(checks: readonly HealthCheck[], query: HealthzQuery): Reply | undefined {
  if (query.check !== undefined) {
    const single = checks.find(({ name }) => name === query.check);
    if (single === undefined) return undefined;
    const withheld = (): string => 'reason withheld';
    const { early } = single;
    const problem =
      problemOf(single, withheld) ??
      (early && problemOf({ name: single.name, check: () => early.call(single) }, withheld));
    return problem === undefined ? text(200, 'ok') : text(500, `internal server error: ${problem}\n`);
  }
  const lines: string[] = [];
  let failed = false;
  for (const check of checks) {
    if (query.exclude.includes(check.name)) lines.push(`[+]${check.name} excluded: ok`);
    else if (problemOf(check, errorText) === undefined) lines.push(`[+]${check.name} ok`);
    else {
      lines.push(`[-]${check.name} failed: reason withheld`);
      failed = true;
    }
  }
  const unknown = new Set(query.exclude.filter((name) => !checks.some((check) => check.name === name)));
  if (unknown.size > 0) {
    const names = [...unknown].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(',')}`);
  }
  if (failed) return text(500, `${lines.join('\n')}\nhealthz check failed\n`);
  return text(200, query.verbose ? `${lines.join('\n')}\nhealthz check passed\n` : 'ok');
}

/** Returns the problem of each failed check, for the log. */
export function healthProblems(checks: readonly HealthCheck[]): Readonly<Record<string, string>> {
  const problems = checks.map((check): [string, string | undefined] => [check.name, problemOf(check, errorText)]);
  return Object.fromEntries(problems.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Runs a check. A check that throws has failed. @param wordsOf returns the problem for a thrown error */
function problemOf(check: HealthCheck, wordsOf: (error: unknown) => string): string | undefined {
  try {
    return check.check();
  } catch (error) {
    return wordsOf(error);
  }
}
