import { docComment, lowerFirst } from './schema.mjs';

function emitService({ name, fullName, comment, rpcs }) {
  let text = `\n${docComment(comment)}export interface ${name} {\n`;
  for (const rpc of rpcs) {
    const result = rpc.stream ? `AsyncIterable<T.${rpc.response}>` : `Promise<T.${rpc.response}>`;
    text += `${docComment(rpc.comment, '  ')}  ${lowerFirst(rpc.name)}(request: Init<T.${rpc.request}>, signal?: AbortSignal): ${result};\n`;
  }
  text += `}\n\n/** The RPCs of ${fullName}: where each is, and what goes over the wire. */\n`;
  const table = `${lowerFirst(name)}Rpcs`;
  text += `export const ${table}: {\n`;
  for (const rpc of rpcs) {
    const type = `${rpc.stream ? 'StreamRpc' : 'UnaryRpc'}<T.${rpc.request}, T.${rpc.response}>`;
    text += `  readonly ${lowerFirst(rpc.name)}: ${type};\n`;
  }
  text += '} = {\n';
  for (const rpc of rpcs) {
    text += `  ${lowerFirst(rpc.name)}: { name: '${rpc.name}', path: '${rpc.path}', stream: ${rpc.stream}, `;
    text += `request: messages.${rpc.request}, response: messages.${rpc.response} },\n`;
  }
  return `${text}};\n`;
}

/** @param {import('./schema.mjs').Schema} schema */
export function emitServices({ services }) {
  return `import type { Init, StreamRpc, UnaryRpc } from '../wire.ts';
import { messages } from './codec.ts';
import type * as T from './types.ts';
${services.map(emitService).join('')}`;
}
