import { type Answer, jsonAnswer, textAnswer } from './answer.ts';
import { discover, versionInfo } from './discovery.ts';
import { noSuchPath } from './failure.ts';

/** What is at a path of no resource. @throws ApiFailure 404 below an API group and version */
export function pathAnswer(method: string, path: string): Answer {
  if (['/healthz', '/readyz', '/livez'].some((check) => path === check || path.startsWith(`${check}/`))) {
    return textAnswer(200, 'ok');
  }
  if (method === 'GET' && path === '/version') return jsonAnswer(200, versionInfo);
  const found = method === 'GET' ? discover(path) : undefined;
  if (found !== undefined) return jsonAnswer(200, found);
  // Below a group and version the server speaks in Statuses; elsewhere it is a plain HTTP server.
  const [base] = /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)/.exec(path) ?? [];
  if (base !== undefined && discover(base) !== undefined) throw noSuchPath();
  return textAnswer(404, '404 page not found\n');
}
