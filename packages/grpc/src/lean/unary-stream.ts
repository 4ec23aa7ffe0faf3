import { ReceiveWindow, SendWindow } from './flow.ts';
import type { Http2Connection } from './http2-connection.ts';
import type { UnaryResponse } from './unary-response.ts';

/** Parts of a call. */
export interface UnaryStreamParts<Res> {
  /** Header block of the request. */
  readonly head: Buffer;
  /** The request's message, with gRPC's prefix. */
  readonly body: Buffer;
  readonly response: UnaryResponse<Res>;
  /** Called once, when the response has its outcome. */
  readonly onOutcome: () => void;
}

/** One call on a connection: its response, and the part of the request that has not been sent yet. */
export class UnaryStream<Res = unknown> {
  readonly head: Buffer;
  readonly response: UnaryResponse<Res>;
  readonly #onOutcome: () => void;
  /** Odd number that HTTP/2 gives the stream; 0 while the call waits for its turn. */
  id = 0;
  /** Connection on which the call was started. */
  connection: Http2Connection | undefined;
  /** Rest of the request. */
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

  /** Reports the outcome once. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onOutcome();
  }
}
