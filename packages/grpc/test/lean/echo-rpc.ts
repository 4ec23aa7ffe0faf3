import type { UnaryRpc } from '../../src/index.ts';
import {
  type Init,
  type MessageType,
  putString,
  type Reader,
  strictMessageType,
  type Writer,
} from '../../src/wire-format.ts';

interface Text {
  text: string;
}

const Text: MessageType<Text> = strictMessageType<Text>(
  'test.Text',
  (message: Init<Text>, writer: Writer) => putString(writer, 10, message.text, 'Text.text'),
  (reader: Reader, end: number) => {
    const message = { text: '' };
    while (reader.pos < end) {
      const tag = reader.uint32();
      if (tag === 10) message.text = reader.string();
      else reader.skip(tag);
    }
    return message;
  },
  (message: Init<Text>) => ({ text: message.text ?? '' }),
);

/** An RPC that returns a text. */
export const echo: UnaryRpc<Text, Text> = {
  name: 'Echo',
  path: '/test.Test/Echo',
  stream: false,
  request: Text,
  response: Text,
};
