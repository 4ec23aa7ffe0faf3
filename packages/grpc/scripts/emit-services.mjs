import { docComment, lowerFirst } from './schema.mjs';

function emitService({ name, fullName, comment, rpcs }) {
  let text = `\n${docComment(comment)}export interface ${name} {\n`;
  for (const rpc of rpcs) {
    const result = rpc.stream ? `AsyncIterable<${rpc.response}>` : `Promise<${rpc.response}>`;
    text += `${docComment(rpc.comment, '  ')}  ${lowerFirst(rpc.name)}(request: Init<${rpc.request}>, signal?: AbortSignal): ${result};\n`;
  }
  text += `}\n\n/** The RPCs of ${fullName}: where each is, and what goes over the wire. */\n`;
  const table = `${lowerFirst(name)}Rpcs`;
  text += `export const ${table}: {\n`;
  for (const rpc of rpcs) {
    const type = `${rpc.stream ? 'StreamRpc' : 'UnaryRpc'}<${rpc.request}, ${rpc.response}>`;
    text += `  readonly ${lowerFirst(rpc.name)}: ${type};\n`;
  }
  text += '} = {\n';
  for (const rpc of rpcs) {
    text += `  ${lowerFirst(rpc.name)}: { name: '${rpc.name}', path: '${rpc.path}', stream: ${rpc.stream}, `;
    text += `request: messages.${rpc.request}, response: messages.${rpc.response} },\n`;
  }
  return `${text}};\n`;
}

function emitCalls(services) {
  const methods = services.flatMap(({ name, rpcs }) =>
    rpcs.map((rpc) => {
      const method = lowerFirst(rpc.name);
      const [call, result] = rpc.stream ? ['stream', 'AsyncIterable'] : ['unary', 'Promise'];
      return `  ${method}(request: Init<${rpc.request}>, signal?: AbortSignal): ${result}<${rpc.response}> {
    return this.${call}(${lowerFirst(name)}Rpcs.${method}, request, signal);
  }
`;
    }),
  );
  return `
/** Every RPC as a method that says which RPC it is; a subclass says what a call does. */
export abstract class RpcMethods implements ${services.map(({ name }) => name).join(', ')} {
  protected abstract unary<Req, Res>(
    rpc: UnaryRpc<Req, Res>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
  ): Promise<Res>;
  protected abstract stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
  ): AsyncIterable<Res>;
${methods.join('')}}
`;
}

/**
 * Returns the source of the services.
 * @param {import('./schema.mjs').Schema} schema
 * @param {boolean} withMethods whether to emit a class that has every RPC as a method
 */
export function emitServices({ services }, withMethods) {
  const types = services.flatMap(({ rpcs }) => rpcs.flatMap(({ request, response }) => [request, response]));
  const names = [...new Set(types)].sort().map((name) => `  ${name},\n`);
  const rpcs = services.flatMap((one) => one.rpcs);
  const kinds = [
    ...(withMethods || rpcs.some(({ stream }) => stream) ? ['StreamRpc'] : []),
    ...(withMethods || rpcs.some(({ stream }) => !stream) ? ['UnaryRpc'] : []),
  ];
  return `import type { Init, ${kinds.join(', ')} } from '@node-agent/grpc';
import { messages } from './codec.ts';
import type {
${names.join('')}} from './types.ts';
${services.map(emitService).join('')}${withMethods ? emitCalls(services) : ''}`;
}
