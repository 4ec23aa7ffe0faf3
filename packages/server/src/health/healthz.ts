import { errorText } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';

/** One thing that must be well for the whole to be well. */
export interface HealthCheck {
  /** A short word, part of the path `/healthz/<name>`. */
  readonly name: string;
  /** What is wrong, as a sentence for people, which everyone may read; `undefined` where all is well. What it throws is for the log alone. */
  check(): string | undefined;
  /**
   * A problem that is known, but does not make the whole unwell yet, as a runtime that did not answer a moment ago. It counts only if this
   * check is asked for by its name: a supervisor that restarts the process goes by all checks together.
   */
  early?(): string | undefined;
}

/** What a request of `/healthz` asks for. */
export interface HealthzQuery {
  /** Only this check. */
  readonly check?: string;
  /** Whether each check is listed though all are well; they are listed anyway where one is not. */
  readonly verbose: boolean;
  /** Checks that shall not count. */
  readonly exclude: readonly string[];
}

/** The check that is well whenever anything answers at all. */
export const pingCheck: HealthCheck = { name: 'ping', check: () => undefined };

/** Upstream's check of its log's flusher; here each line is written as it comes, so that nothing can be held back. */
export const logCheck: HealthCheck = { name: 'log', check: () => undefined };

/**
 * Answers a health request the way `k8s.io/apiserver/pkg/server/healthz` does: 200 `ok`, or 500 with the list of all
 * checks. The list does not give reasons; `/healthz/<name>` does, but for what a check throws.
 * @returns `undefined` where there is no such check
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

/** What is wrong with each check that is not well, for the log. */
export function healthProblems(checks: readonly HealthCheck[]): Readonly<Record<string, string>> {
  const problems = checks.map((check): [string, string | undefined] => [check.name, problemOf(check, errorText)]);
  return Object.fromEntries(problems.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** A check that throws is not well. @param wordsOf what is said of what it throws */
function problemOf(check: HealthCheck, wordsOf: (error: unknown) => string): string | undefined {
  try {
    return check.check();
  } catch (error) {
    return wordsOf(error);
  }
}
