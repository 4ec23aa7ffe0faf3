import { ReceiveWindow, SendWindow } from './flow.ts';
import type { Http2Connection } from './http2-connection.ts';
import type { UnaryResponse } from './unary-response.ts';

/** The constructor arguments of {@link UnaryStream}. */
export interface UnaryStreamParts<Res> {
  /** Encoded header block of the request. */
  readonly head: Buffer;
  /** The message of the request, with gRPC's prefix. */
  readonly body: Buffer;
  readonly response: UnaryResponse<Res>;
  /** Called once, when the response is complete or has failed. */
  readonly onOutcome: () => void;
}

/** One call on a connection: its response, and the part of the request that has not been sent yet. */
export class UnaryStream<Res = unknown> {
  readonly head: Buffer;
  readonly response: UnaryResponse<Res>;
  readonly #onOutcome: () => void;
  /** Stream number in HTTP/2, which is odd. 0 while the call waits for a stream. */
  id = 0;
  /** Connection on which the call was started. `undefined` before that. */
  connection: Http2Connection | undefined;
  /** Part of the request that has not been sent yet. */
  unsent: Buffer;
  sendWindow: SendWindow;
  receiveWindow: ReceiveWindow;
  #isSettled = false;

  constructor({ head, body, response, onOutcome }: UnaryStreamParts<Res>) {
    this.head = head;
    this.unsent = body;
    this.response = response;
    this.#onOutcome = onOutcome;
    this.sendWindow = new SendWindow(0);
    this.receiveWindow = new ReceiveWindow(0);
  }

  /** Reports the outcome of the call. Further calls of this method have no effect. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onOutcome();
  }
}
