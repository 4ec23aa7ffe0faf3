import { readStream } from './read-stream.ts';
import { type ServerEvent, SseReader } from './sse-reader.ts';

/** Silence after which the connection counts as lost, in ms: the kubelet sends something every 15 s. */
const SILENCE_MS = 40_000;
const [FIRST_RETRY_MS, MAX_RETRY_MS] = [1000, 10_000];

/** Callbacks of {@link Connection}. */
interface ConnectionHandlers {
  readonly onEvent: (event: ServerEvent) => void;
  /** Called when the state changes. @param problem why there is no connection */
  readonly onState: (state: 'connecting' | 'connected' | 'lost', problem?: string) => void;
}

/** The stream of events, which is opened again when it ends. A page that missed events gets only the missed events. */
export class Connection {
  readonly #handlers: ConnectionHandlers;
  #after: string | undefined;
  #pod: string | undefined;
  #running: AbortController | undefined;

  constructor(handlers: ConnectionHandlers) {
    this.#handlers = handlers;
  }

  /**
   * Opens the stream. A stream that is open already is closed first. @param pod `NAMESPACE/NAME` of the pod whose
   * timeline is wanted
   */
  open(pod: string | undefined): void {
    this.close();
    this.#pod = pod;
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  close(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  get isOpen(): boolean {
    return this.#running !== undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; !signal.aborted; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
      const problem = await this.#read(signal, () => {
        retryMs = FIRST_RETRY_MS / 2;
      });
      if (signal.aborted) return;
      this.#handlers.onState('lost', problem);
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  /** Reads the stream until it ends. @returns why it ended */
  async #read(signal: AbortSignal, onBegun: () => void): Promise<string> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    const sse = new SseReader();
    const query = new URLSearchParams({
      ...(this.#after !== undefined && { after: this.#after }),
      ...(this.#pod !== undefined && { pod: this.#pod }),
    });
    try {
      const problem = await readStream(`events?${query}`, AbortSignal.any([signal, silence.signal]), {
        begun: () => {
          onBegun();
          this.#handlers.onState('connected');
        },
        read: (bytes) => {
          clearTimeout(timer);
          timer = setTimeout(() => silence.abort(), SILENCE_MS);
          for (const event of sse.push(bytes)) {
            this.#handlers.onEvent(event);
            this.#after = event.id ?? this.#after;
          }
        },
      });
      return problem ?? 'the kubelet ended the connection';
    } catch {
      return silence.signal.aborted ? `no sign of life for ${SILENCE_MS / 1000} s` : 'the kubelet cannot be reached';
    } finally {
      clearTimeout(timer);
    }
  }
}
