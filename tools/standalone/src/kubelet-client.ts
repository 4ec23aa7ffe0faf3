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

/** What is new in the kubelet's log. */
export interface News {
  readonly events: readonly PodEvent[];
  /** What is wrong with manifests, or is not wrong any longer. */
  readonly manifests: readonly ManifestNews[];
  /** Why no pods are synced, said last. */
  readonly node: string | undefined;
}

/** Reads what the kubelet shows of itself: its read-only port, and the events in its log. */
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

  /** The pods, with their newest status; `undefined` while the kubelet does not answer. */
  async pods(): Promise<readonly Pod[] | undefined> {
    const answer = await this.#get('/pods');
    return answer?.ok ? ((await answer.json()) as { items: Pod[] }).items : undefined;
  }

  /** Which checks of the node fail; `undefined` where none does. */
  async problem(): Promise<string | undefined> {
    const answer = await this.#get('/healthz?verbose');
    if (answer === undefined) return 'the kubelet does not answer';
    if (answer.ok) return undefined;
    const failed = (await answer.text()).matchAll(/^\[-\](\S+)/gm);
    return `not well: ${Array.from(failed, (match) => match[1]).join(', ')}`;
  }

  /** What the log says of pods and manifests since the last call. */
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
      return undefined; // It is starting, or being started again; who watches it says so.
    }
  }
}
