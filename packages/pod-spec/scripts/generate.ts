// Writes src/generated from schema/api.txt: the API's types, and the table of a v1 Pod's fields that checkPod uses.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { apiTypes, podTable, readSchema } from './emit.ts';

const schema = readSchema(readFileSync(new URL('../schema/api.txt', import.meta.url), 'utf8'));
const output = new URL('../src/generated/', import.meta.url);
mkdirSync(output, { recursive: true });
writeFileSync(new URL('api-types.ts', output), apiTypes(schema));
writeFileSync(new URL('pod-types.ts', output), podTable(schema));
