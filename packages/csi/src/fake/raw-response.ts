import type { MessageType, RpcTable } from '@node-agent/grpc';

/** Bytes that a fake driver sends instead of a response. */
class RawResponse {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** Returns the RPCs with responses that may also be a {@link RawResponse}. */
export function withRawResponses<Rpcs extends RpcTable>(rpcs: Rpcs): Rpcs {
  const entries = Object.entries(rpcs).map(([name, rpc]) => {
    const { encode, ...rest } = rpc.response as MessageType<object>;
    const encodeAny = (message: object): Buffer =>
      message instanceof RawResponse ? Buffer.from(message.bytes) : encode(message);
    return [name, { ...rpc, response: { ...rest, encode: encodeAny } }];
  });
  return Object.fromEntries(entries);
}

/** Returns a response that sends bytes; over sockets in memory, reading it fails as decoding the bytes would. */
export function rawResponse(bytes: Uint8Array): object {
  return new Proxy(new RawResponse(bytes), {
    get(target, key) {
      if (key === 'bytes') return target.bytes;
      // A promise that resolves with the response reads this property.
      if (key === 'then') return undefined;
      throw new RangeError('a response that cannot be decoded');
    },
  });
}
