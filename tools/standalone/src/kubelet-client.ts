import { open } from 'node:fs/promises';
import type { Pod } from '@node-agent/pod-spec';
import {
  LineSplitter,
  type ManifestNews,
  type PodEvent,
  parseEventLine,
  parseManifestLine,
  parseNodeLine,
} from './view/event-log.ts';

const TIMEOUT_MS = 2_000;
const PIECE_BYTES = 64 * 1024;

/** New entries of the kubelet's log since the last read. */
export interface News {
  readonly events: readonly PodEvent[];
  /** Problems of manifests that appeared or disappeared. */
  readonly manifests: readonly ManifestNews[];
  /** Latest reason why the kubelet syncs no pods. */
  readonly node: string | undefined;
}

/** Reads the kubelet's state from its read-only port and its log. */
export class KubeletClient {
  readonly #readOnlyPort: number;
  readonly #logFile: string;
  readonly #splitter = new LineSplitter();
  readonly #decoder = new TextDecoder();
  #offset = 0;

  constructor({ readOnlyPort, logFile }: { readonly readOnlyPort: number; readonly logFile: string }) {
    this.#readOnlyPort = readOnlyPort;
    this.#logFile = logFile;
  }

  /** Returns the pods with their latest status, or `undefined` if the kubelet does not respond. */
  async pods(): Promise<readonly Pod[] | undefined> {
    const answer = await this.#get('/pods');
    return answer?.ok ? ((await answer.json()) as { items: Pod[] }).items : undefined;
  }

  /** Returns the failing health checks of the node, or `undefined` if all pass. */
  async problem(): Promise<string | undefined> {
    const answer = await this.#get('/healthz?verbose');
    if (answer === undefined) return 'the kubelet does not answer';
    if (answer.ok) return undefined;
    const failed = (await answer.text()).matchAll(/^\[-\](\S+)/gm);
    return `unhealthy: ${Array.from(failed, (match) => match[1]).join(', ')}`;
  }

  /** Returns the log entries about pods and manifests since the last call. */
  async news(): Promise<News> {
    const lines: string[] = [];
    await using file = await open(this.#logFile);
    const buffer = Buffer.alloc(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, this.#offset);
      if (bytesRead === 0) break;
      this.#offset += bytesRead;
      lines.push(...this.#splitter.push(this.#decoder.decode(buffer.subarray(0, bytesRead), { stream: true })));
    }
    return {
      events: lines.flatMap((line) => parseEventLine(line) ?? []),
      manifests: lines.flatMap((line) => parseManifestLine(line) ?? []),
      node: lines.flatMap((line) => parseNodeLine(line) ?? []).at(-1),
    };
  }

  async #get(path: string): Promise<Response | undefined> {
    try {
      return await fetch(`http://127.0.0.1:${this.#readOnlyPort}${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch {
      return undefined; // The kubelet is starting or restarting; `KubeletProcess` reports that.
    }
  }
}
