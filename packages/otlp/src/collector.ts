import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A span as a {@link Collector} decoded it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly events: readonly string[];
  readonly linkedTraceIds: readonly string[];
  readonly error: string | undefined;
  readonly resource: Readonly<Record<string, string | number | boolean>>;
  readonly scope: string;
}

type Fields = readonly (readonly [field: number, value: bigint | Buffer])[];

/**
 * A collector of traces over node:http2, with a protobuf reader of its own, so that it shares no code with the
 * exporter.
 */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly requests: { readonly path: string; readonly spans: number }[] = [];
  /** gRPC status of the next responses. Default: 0. */
  status = 0;
  /** Whether requests get no response. */
  hangs = false;
  readonly #server: Http2Server = createServer();

  async listen(at: { readonly port?: number; readonly path?: string } = { port: 0 }): Promise<string> {
    this.#server.on('stream', (stream, headers) => this.#receive(stream, String(headers[':path'])));
    const target = at.path === undefined ? { host: '127.0.0.1', port: at.port ?? 0 } : { path: at.path };
    await new Promise<void>((resolve) => this.#server.listen(target, resolve));
    return at.path === undefined ? `127.0.0.1:${(this.#server.address() as AddressInfo).port}` : `unix://${at.path}`;
  }

  close(): void {
    this.#server.close();
    this.#server.unref();
  }

  #receive(stream: ServerHttp2Stream, path: string): void {
    const chunks: Buffer[] = [];
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      if (this.hangs) return;
      const spans = this.status === 0 ? requestSpans(Buffer.concat(chunks).subarray(5)) : [];
      this.requests.push({ path, spans: spans.length });
      this.spans.push(...spans);
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(this.status) }));
      if (this.status === 0) stream.write(Buffer.from([0, 0, 0, 0, 0]));
      stream.end();
    });
  }
}

function requestSpans(message: Buffer): CollectedSpan[] {
  return messages(read(message), 1).flatMap((resourceSpans) => {
    const resource = attributes(read(bytesOf(resourceSpans, 1)), 1);
    return messages(resourceSpans, 2).flatMap((scopeSpans) => {
      const scope = text(read(bytesOf(scopeSpans, 1)), 1);
      return messages(scopeSpans, 2).map((span) => ({ ...spanOf(span), resource, scope }));
    });
  });
}

function spanOf(span: Fields): Omit<CollectedSpan, 'resource' | 'scope'> {
  const status = read(bytesOf(span, 15));
  return {
    traceId: bytesOf(span, 1).toString('hex'),
    spanId: bytesOf(span, 2).toString('hex'),
    parentSpanId: bytesOf(span, 4).toString('hex'),
    traceState: text(span, 3),
    name: text(span, 5),
    kind: Number(number(span, 6)),
    startNs: number(span, 7),
    endNs: number(span, 8),
    attributes: attributes(span, 9),
    events: messages(span, 11).map((event) => text(event, 2)),
    linkedTraceIds: messages(span, 13).map((link) => bytesOf(link, 1).toString('hex')),
    error: number(status, 3) === 2n ? text(status, 2) : undefined,
  };
}

function attributes(fields: Fields, field: number): Record<string, string | number | boolean> {
  return Object.fromEntries(
    messages(fields, field).map((pair) => {
      const value = read(bytesOf(pair, 2));
      const [kind, content] = value[0] ?? [1, Buffer.alloc(0)];
      if (typeof content !== 'bigint') return [text(pair, 1), content.toString()];
      return [text(pair, 1), kind === 2 ? content === 1n : Number(BigInt.asIntN(64, content))];
    }),
  );
}

function messages(fields: Fields, wanted: number): Fields[] {
  return fields.flatMap(([field, value]) => (field === wanted && typeof value !== 'bigint' ? [read(value)] : []));
}

function bytesOf(fields: Fields, wanted: number): Buffer {
  const value = fields.find(([field]) => field === wanted)?.[1];
  return value === undefined || typeof value === 'bigint' ? Buffer.alloc(0) : value;
}

function text(fields: Fields, wanted: number): string {
  return bytesOf(fields, wanted).toString();
}

function number(fields: Fields, wanted: number): bigint {
  const value = fields.find(([field]) => field === wanted)?.[1];
  return typeof value === 'bigint' ? value : 0n;
}

function read(message: Buffer): Fields {
  const fields: [number, bigint | Buffer][] = [];
  let pos = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[pos++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (pos < message.length) {
    const tag = Number(varint());
    const field = tag >>> 3;
    switch (tag & 7) {
      case 0:
        fields.push([field, varint()]);
        break;
      case 1:
        fields.push([field, message.readBigUInt64LE(pos)]);
        pos += 8;
        break;
      case 2: {
        const length = Number(varint());
        fields.push([field, message.subarray(pos, pos + length)]);
        pos += length;
        break;
      }
      case 5:
        fields.push([field, BigInt(message.readUInt32LE(pos))]);
        pos += 4;
        break;
      default:
        throw new Error(`wire type ${tag & 7}`);
    }
  }
  return fields;
}
