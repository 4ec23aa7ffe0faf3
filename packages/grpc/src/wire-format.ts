// Exports the helpers that generated code imports: see scripts/generate.mjs.
export * from './copy.ts';
export { Reader } from './reader.ts';
export * from './wire.ts';
export { Writer } from './writer.ts';
