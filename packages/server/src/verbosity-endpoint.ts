import type { Endpoints } from './call.ts';
import { text } from './reply.ts';

/** How much is logged. */
export interface Verbosity {
  /** @param level 0 and up, as `-v` says it */
  set(level: number): void;
}

const MAX_BODY_BYTES = 64;
const MAX_UINT32 = 2 ** 32 - 1;

/** `PUT /debug/flags/v` of a {@link SecuredServer}: the body is the new verbosity (`GlogSetter`, `k8s.io/component-base/logs`). */
export function verbosityEndpoints(verbosity: Verbosity): Endpoints {
  return {
    async verbosity({ body }) {
      const given = (await body(MAX_BODY_BYTES))?.toString();
      const level = given !== undefined && /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
      if (!(level <= MAX_UINT32)) {
        return text(400, `strconv.ParseUint: parsing ${JSON.stringify(given ?? '')}: invalid syntax`);
      }
      verbosity.set(level);
      return text(200, `successfully set klog.logging.verbosity to ${level}`);
    },
  };
}
