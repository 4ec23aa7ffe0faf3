import type { Answer } from './api-server.ts';
import { WhyError } from './errors.ts';

/** The JSON of an answer. @throws WhyError if it is none */
export function parsed({ body }: Answer): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new WhyError(`what came back is no JSON: ${body.slice(0, 200)}`, { cause: error });
  }
}
