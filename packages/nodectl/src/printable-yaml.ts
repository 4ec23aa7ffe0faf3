import { printableJson } from '@node-agent/telemetry';
import { Document, Scalar, visit } from '@node-agent/yaml';

/**
 * Format characters outside the basic plane. YAML has no surrogate pairs, so JSON's escapes cannot express such
 * characters in YAML.
 */
const LONG_FORMAT_CHARACTERS = /(?=[\u{10000}-\u{10FFFF}])\p{Cf}/gu;

/**
 * Formats a JSON value as YAML without characters that draw on a terminal. Strings that contain such characters, as keys
 * or as values, are in double quotes with the characters escaped, so that a parser returns the same value.
 */
export function printableYaml(value: unknown): string {
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string' && escaped(scalar.value) !== scalar.value) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return escaped(String(document));
}

function escaped(text: string): string {
  const short = text.replaceAll(LONG_FORMAT_CHARACTERS, (char) => {
    return `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  });
  return printableJson(short);
}
