// From packages/grpc/README.md, which explains the program.
import { mkdtemp } from 'node:fs/promises';
import { GrpcClient, GrpcServer, type MessageType, service, type UnaryRpc } from '@node-agent/grpc';

interface Text {
  text: string;
}
// Real services have theirs generated of a .proto: see below.
const Text: MessageType<Text> = {
  name: 'demo.Text',
  encode: ({ text }) => Buffer.from(text ?? ''),
  decode: (bytes) => ({ text: Buffer.from(bytes).toString() }),
  create: ({ text }) => ({ text: text ?? '' }),
};
const echo: UnaryRpc<Text, Text> = { name: 'Echo', path: '/demo.Demo/Echo', stream: false, request: Text, response: Text };

const socketPath = `${await mkdtemp('/tmp/echo-')}/demo.sock`;
const handlers = { echo: async ({ text }: Text) => ({ text: text.toUpperCase() }) };
const server = new GrpcServer({ socketPath, services: [service({ echo }, handlers)] });
await server.start();
const client = new GrpcClient({}, { socketPath });
console.log((await client.unary(echo, { text: 'hello' }, { timeoutMs: 5_000 })).text);
client.close();
server.close();
