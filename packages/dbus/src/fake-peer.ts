import type { ByteStream } from './connection.ts';
import { type DbusMessage, decodeMessage, encodeMessage, lengthsOf } from './message.ts';
import type { DbusValue } from './values.ts';

/** The reply to a call. `nothing`: the peer hangs. */
export type Answer =
  | { readonly signature: string; readonly body: readonly DbusValue[] }
  | { readonly error: string; readonly text?: string }
  | 'nothing';

/** Actions of the peer that a reply function may use. */
export type AnsweringPeer = Pick<FakePeer, 'sender' | 'signal' | 'send' | 'end'>;

/** The other end of a connection, in memory. Greets as a bus does and replies to calls. */
export class FakePeer implements ByteStream {
  readonly calls: DbusMessage[] = [];
  readonly sender: string;
  greeting = 'OK 1234deadbeef\r\n';
  lines = '';
  destroyed = false;
  readonly #answer: (call: DbusMessage, peer: AnsweringPeer) => Answer;
  readonly #listeners: { event: string; listener: (value: never) => void }[] = [];
  #received: Buffer = Buffer.alloc(0);
  #begun = false;
  #serial = 0;

  constructor(answer: (call: DbusMessage, peer: AnsweringPeer) => Answer, sender = ':1.7') {
    this.#answer = answer;
    this.sender = sender;
  }

  on(event: string, listener: (value: never) => void): void {
    this.#listeners.push({ event, listener });
  }

  write(bytes: Uint8Array): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    queueMicrotask(() => this.#work());
  }

  destroy(): void {
    this.destroyed = true;
  }

  /** Ends the connection from the peer's side. */
  end(err?: Error): void {
    if (err !== undefined) this.#emit('error', err);
    this.#emit('close', undefined);
  }

  /** Sends raw bytes. */
  send(bytes: Uint8Array): void {
    this.#emit('data', bytes);
  }

  signal(
    path: string,
    face: string,
    member: string,
    signature: string,
    body: readonly DbusValue[],
    sender: string = this.sender,
  ): void {
    const serial = ++this.#serial;
    this.send(encodeMessage({ type: 'signal', serial, sender, path, interface: face, member, signature, body }));
  }

  #work(): void {
    while (!this.#begun) {
      const end = this.#received.indexOf('\r\n');
      if (end === -1) return;
      const line = this.#received.toString('latin1', 0, end);
      this.#received = this.#received.subarray(end + 2);
      this.lines += `${line}\n`;
      if (line === 'BEGIN') this.#begun = true;
      else if (this.greeting !== '') this.send(Buffer.from(this.greeting));
    }
    for (;;) {
      const length = lengthsOf(this.#received)?.message;
      if (length === undefined || length > this.#received.length) return;
      const call = decodeMessage(this.#received.subarray(0, length));
      this.#received = this.#received.subarray(length);
      this.calls.push(call);
      const answer = this.#answer(call, this);
      if (answer === 'nothing') continue;
      const reply = { serial: ++this.#serial, replySerial: call.serial, sender: this.sender };
      if ('error' in answer) {
        const text = answer.text ?? answer.error;
        this.send(encodeMessage({ ...reply, type: 'error', errorName: answer.error, signature: 's', body: [text] }));
      } else this.send(encodeMessage({ ...reply, type: 'return', ...answer }));
    }
  }

  #emit(event: string, value: unknown): void {
    for (const entry of this.#listeners) if (entry.event === event) (entry.listener as (value: unknown) => void)(value);
  }
}
