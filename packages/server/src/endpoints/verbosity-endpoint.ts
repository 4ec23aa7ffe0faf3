import { text } from '../http/reply.ts';
import type { Endpoints } from './call.ts';

/** Sets the log verbosity. */
export interface Verbosity {
  /** @param level 0 or more, as for the flag `-v` */
  set(level: number): void;
}

const MAX_BODY_BYTES = 64;
const MAX_UINT32 = 2n ** 32n - 1n;
const MAX_INT32 = 2n ** 31n - 1n;

/**
 * Returns the handler of `PUT /debug/flags/v` of a {@link SecuredServer}: the body is the new verbosity (`GlogSetter`,
 * `k8s.io/component-base/logs`).
 */
export function verbosityEndpoints(verbosity: Verbosity): Endpoints {
  return {
    async verbosity({ body, method }) {
      if (method !== 'PUT') return text(406, 'unsupported http method');
      const given = (await body(MAX_BODY_BYTES))?.toString();
      if (given === undefined) return text(400, `error reading request body: more than ${MAX_BODY_BYTES} bytes`);
      const problem = problemOf(given);
      if (problem !== undefined) return text(400, problem);
      verbosity.set(Number(given));
      return text(200, `successfully set klog.logging.verbosity to ${given}`);
    },
  };
}

/**
 * Returns Go's error message for an invalid verbosity, or `undefined` for a valid one. Go parses the value as an
 * unsigned 32-bit integer, then as a signed one.
 */
function problemOf(given: string): string | undefined {
  const words = (kind: string, fault: string): string =>
    `strconv.Parse${kind}: parsing ${JSON.stringify(given)}: ${fault}`;
  if (!/^\d+$/.test(given)) return words('Uint', 'invalid syntax');
  if (BigInt(given) > MAX_UINT32) return words('Uint', 'value out of range');
  if (BigInt(given) <= MAX_INT32) return undefined;
  return `failed set klog.logging.verbosity ${given}: ${words('Int', 'value out of range')}`;
}
