import { LineCounter, parseDocument, type YAMLError } from '@node-agent/yaml';

/** Parse errors whose messages quote the text: a token, a tag, an escape, a directive. */
const QUOTING: ReadonlySet<string> = new Set([
  'BAD_ALIAS',
  'BAD_COLLECTION_TYPE',
  'BAD_DIRECTIVE',
  'BAD_DQ_ESCAPE',
  'IMPOSSIBLE',
  'TAG_RESOLVE_FAILED',
  'UNEXPECTED_TOKEN',
]);

/**
 * Parses a YAML 1.1 text.
 * @throws Error with the position and kind of the problem, without quoting the text, which may contain secrets (W4)
 */
export function parseYamlText(text: string): unknown {
  const lineCounter = new LineCounter();
  // Pretty errors would quote the line, which may contain a secret.
  const document = parseDocument(text, {
    version: '1.1',
    uniqueKeys: true,
    lineCounter,
    prettyErrors: false,
    logLevel: 'error',
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new Error(`line ${line}, column ${col}: ${messageOf(error)}`);
  }
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    throw new Error('too many aliases, or an alias without an anchor');
  }
}

function messageOf({ code, message }: YAMLError): string {
  return QUOTING.has(code) ? `not YAML (${code})` : message;
}
