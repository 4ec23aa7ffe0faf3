import { type Answer, jsonAnswer, textAnswer } from './answer.ts';
import { discover, versionInfo } from './discovery.ts';
import { noSuchPath } from './failure.ts';

/**
 * Returns the response of a path that is not a resource: health checks, version and discovery.
 * @throws ApiFailure 404 for an unknown path below an API group and version
 */
export function pathAnswer(method: string, path: string): Answer {
  if (['/healthz', '/readyz', '/livez'].some((check) => path === check || path.startsWith(`${check}/`))) {
    return textAnswer(200, 'ok');
  }
  if (method === 'GET' && path === '/version') return jsonAnswer(200, versionInfo);
  const found = method === 'GET' ? discover(path) : undefined;
  if (found !== undefined) return jsonAnswer(200, found);
  // Errors for paths below an API group and version are Status objects. For other paths the server returns plain text.
  const [base] = /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)/.exec(path) ?? [];
  if (base !== undefined && discover(base) !== undefined) throw noSuchPath();
  return textAnswer(404, '404 page not found\n');
}
