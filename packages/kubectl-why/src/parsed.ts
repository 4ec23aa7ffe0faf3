import type { Answer } from './api-server.ts';
import { WhyError } from './errors.ts';

/** Parses the JSON of a response. @throws WhyError if the JSON is invalid */
export function parsed({ body }: Answer): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new WhyError(`the response is not JSON: ${body.slice(0, 200)}`, { cause: error });
  }
}
