import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer, type FakeApiServerOptions, type HttpTransport, type JsonObject } from '../src/index.ts';

/** Returns a fake API server under a fake clock. */
export function world(options: FakeApiServerOptions = {}, seed: number = 1): { clock: FakeClock; api: FakeApiServer } {
  const clock = new FakeClock();
  return { clock, api: new FakeApiServer({ clock, random: seededRandom(seed) }, options) };
}

export interface Called {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  readonly body: JsonObject;
}

/** Sends a request and reads the whole response. */
export async function call(
  transport: HttpTransport,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Called> {
  const response = await transport.request({
    method,
    path,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text.startsWith('{') ? JSON.parse(text) : {},
  };
}

export const PODS = '/api/v1/namespaces/default/pods';
export const MAPS = '/api/v1/namespaces/default/configmaps';

export function pod(name: string, spec: JsonObject = {}): JsonObject {
  return { metadata: { name }, spec: { containers: [{ name: 'main', image: 'busybox' }], ...spec } };
}

/** The lines of a watch in order of arrival, and the end of the watch. */
export interface Listener {
  readonly lines: string[];
  /** Returns how the watch ended; `undefined` while the watch is open. */
  ended(): 'end' | { readonly error: unknown } | undefined;
  stop(): void;
}

export async function listen(transport: HttpTransport, path: string): Promise<Listener> {
  const stopped = new AbortController();
  const response = await transport.request({ method: 'GET', path, headers: {} }, stopped.signal);
  const lines: string[] = [];
  let ended: 'end' | { readonly error: unknown } | undefined;
  const read = async (): Promise<void> => {
    try {
      for await (const chunk of response.body) lines.push(new TextDecoder().decode(chunk));
      ended = 'end';
    } catch (error) {
      ended = { error };
    }
  };
  void read();
  return { lines, ended: () => ended, stop: () => stopped.abort() };
}

export function types(listener: Listener): string[] {
  return listener.lines.map((line) => JSON.parse(line).type);
}
