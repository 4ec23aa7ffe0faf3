import { goWords } from './go-words.ts';
import type { HttpGetRequest } from './http-request.ts';
import { type Exchange, HttpResponseReader } from './http-response.ts';
import type { Life } from './life.ts';
import { requestHead } from './request-head.ts';
import { openSocket } from './socket.ts';

/**
 * Sends one GET and reads its answer, over a connection of its own, which is reset when all is read. Lives no longer than `life`:
 * when that ends it settles with a fault, or with a body that is not whole.
 */
export function exchange(request: HttpGetRequest, life: Life): Promise<Exchange> {
  const { host, port, scheme } = request;
  if (scheme !== 'http' && scheme !== 'https') {
    return Promise.resolve({ kind: 'fault', message: `unsupported protocol scheme ${JSON.stringify(scheme)}` });
  }
  const head = requestHead(request);
  if (typeof head !== 'string') return Promise.resolve({ kind: 'fault', message: head.fault });
  return new Promise((resolve) => {
    const reader = new HttpResponseReader();
    let isSettled = false;
    const settle = (outcome: Exchange): void => {
      if (isSettled) return;
      isSettled = true;
      life.onEnd = undefined;
      open.reset();
      resolve(outcome);
    };
    const onBytes = (bytes: Buffer): void => {
      if (isSettled) return;
      const outcome = reader.push(bytes);
      if (outcome !== undefined) settle(outcome);
    };
    const open = openSocket({ host, port, tls: scheme === 'https', onBytes, head });
    const onError = (error: Error): void => {
      if (isSettled) return;
      const words = goWords(error, { host, port, ends: open.ends() });
      settle(reader.end(words === 'EOF' ? undefined : words));
    };
    open.socket.on('error', onError);
    if (open.stream !== open.socket) open.stream.on('error', onError);
    open.stream.on('end', () => settle(reader.end()));
    life.onEnd = () => settle(reader.expire());
    if (life.hasEnded) life.onEnd();
  });
}
