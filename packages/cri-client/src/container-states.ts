import type { MessageType, StreamRpc, UnaryRpc } from '@node-agent/grpc';
import { Reader, readMessage } from '@node-agent/grpc/wire';
import { messages } from './generated/codec.ts';
import { runtimeServiceRpcs } from './generated/services.ts';
import type { Container, ListContainersRequest, StreamContainersRequest } from './generated/types.ts';

/** ID and state of a container, for callers that list containers often. */
export type ContainerBrief = Pick<Container, 'id' | 'state'>;

interface Briefs {
  readonly containers: ContainerBrief[];
}

/** Protobuf tag of field 1, which contains the containers in both list responses. */
const CONTAINERS = 10;
const ID = 10;
const STATE = 48;

function decodeBriefs(bytes: Uint8Array): Briefs {
  const reader = new Reader(bytes);
  const containers: ContainerBrief[] = [];
  while (reader.pos < reader.end) {
    const tag = reader.uint32();
    if (tag === CONTAINERS) containers.push(readMessage(reader, decodeBrief));
    else reader.skip(tag);
  }
  return { containers };
}

function decodeBrief(reader: Reader, end: number): ContainerBrief {
  let id = '';
  let state: Container['state'] = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === ID) id = reader.string();
    else if (tag === STATE) state = reader.int32();
    else reader.skip(tag);
  }
  return { id, state };
}

/**
 * The container list RPCs with a codec that decodes only the fields of {@link ContainerBrief}. Labels and annotations,
 * which make up most of a container's encoding, are skipped.
 */
export const briefLists: {
  readonly plain: UnaryRpc<ListContainersRequest, Briefs>;
  readonly stream: StreamRpc<StreamContainersRequest, Briefs>;
} = {
  plain: { ...runtimeServiceRpcs.listContainers, response: brief(messages.ListContainersResponse) },
  stream: { ...runtimeServiceRpcs.streamContainers, response: brief(messages.StreamContainersResponse) },
};

function brief(whole: Pick<MessageType<Briefs>, 'name' | 'encode' | 'create'>): MessageType<Briefs> {
  return { ...whole, decode: decodeBriefs };
}
