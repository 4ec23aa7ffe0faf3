import type { Container } from '../api.ts';
import { duplicate, fieldError, invalid, required } from '../field-error.ts';
import { oneOf, type Problems, requiredOneOf } from './rules.ts';

const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;
const CONTAINER_POLICIES = ['Always', 'Never', 'OnFailure'];

/** Validates a container's restart policy and restart rules (KEP-753, KEP-5307). */
export function* validateRestarts(container: Container, path: string): Problems {
  const { restartPolicy, restartPolicyRules = [] } = container;
  if (restartPolicy === undefined) {
    if (restartPolicyRules.length === 0) return;
    yield required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  }
  yield* oneOf(`${path}.restartPolicy`, restartPolicy, CONTAINER_POLICIES);
  yield* atMost(`${path}.restartPolicyRules`, restartPolicyRules.length, MAX_RULES);
  for (const [index, { action, exitCodes }] of restartPolicyRules.entries()) {
    const at = `${path}.restartPolicyRules[${index}]`;
    yield* requiredOneOf(`${at}.action`, action, ['Restart', 'RestartAllContainers']);
    if (!exitCodes) yield required(`${at}.exitCodes`, 'must be specified');
    else {
      yield* requiredOneOf(`${at}.exitCodes.operator`, exitCodes.operator, ['In', 'NotIn']);
      yield* atMost(`${at}.exitCodes.values`, exitCodes.values?.length ?? 0, MAX_EXIT_CODES);
    }
  }
}

/** Validates a container's resize policy (KEP-1287). */
export function* validateResizePolicy(
  container: Container,
  podRestartPolicy: string | undefined,
  path: string,
): Problems {
  const seen = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    const at = `${path}.resizePolicy[${index}]`;
    if (seen.has(resourceName)) yield duplicate(at, resourceName);
    seen.add(resourceName);
    yield* requiredOneOf(`${at}.resourceName`, resourceName, ['cpu', 'memory']);
    yield* requiredOneOf(`${at}.restartPolicy`, restartPolicy, ['NotRequired', 'RestartContainer']);
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      yield invalid(`${at}.restartPolicy`, restartPolicy, detail);
    }
  }
}

function* atMost(path: string, count: number, limit: number): Problems {
  if (count > limit) yield fieldError('Too many', path, `must have at most ${limit} items`, count);
}
