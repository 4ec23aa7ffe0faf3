// From packages/yaml/README.md, which explains the program.
import { LineCounter, parseDocument, stringify } from '@node-agent/yaml';

const lines = new LineCounter();
const document = parseDocument('kind: Pod\nspec: {}\n', { version: '1.1', lineCounter: lines });
console.log(document.toJS());
console.log(stringify({ kind: 'Pod' }));
